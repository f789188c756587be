// @ts-check
/** Numbers, durations, ages and sizes as people read them. Pure: no DOM, no clock of its own. */

const DASH = "–";
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/**
 * A number from the API: `null` stands for "not finite", words for NaN and infinities.
 * @param {unknown} raw
 * @returns {number | null}
 */
export function toNumber(raw) {
  if (typeof raw === "number") return raw;
  if (raw === "NaN") return NaN;
  if (raw === "Infinity") return Infinity;
  if (raw === "-Infinity") return -Infinity;
  return null;
}

/**
 * @param {unknown} raw a number, `null`, or one of the words NaN, Infinity, -Infinity
 * @param {number} [digits] significant digits
 */
export function formatNumber(raw, digits = 4) {
  const value = toNumber(raw);
  if (value === null) return DASH;
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return grouped.format(value).replace("-", "−");
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return shortExponent(value, digits);
  if (size >= 1000) return grouped.format(value).replace("-", "−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** @param {number} value @param {number} digits */
function shortExponent(value, digits) {
  const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 2)).split("e");
  return `${Number(mantissa)}e${Number(exponent)}`.replaceAll("-", "−");
}

/** @param {number | null | undefined} count */
export function formatCount(count) {
  return count === null || count === undefined ? DASH : grouped.format(count);
}

/** How many of all examples a list shows, in words. @param {number} shown @param {number} all */
export function formatShown(shown, all) {
  const of = `${formatCount(all)} ${all === 1 ? "example" : "examples"}`;
  return shown === all ? of : `${formatCount(shown)} of ${of}`;
}

/** @param {unknown} fraction 0 to 1 @param {number} [decimals] */
export function formatPercent(fraction, decimals = 1) {
  const value = toNumber(fraction);
  return value === null || !Number.isFinite(value) ? DASH : `${(value * 100).toFixed(decimals)} %`;
}

/**
 * A length of time: `40 ms`, `4.2 s`, `48 s`, `3 m 12 s`, `2 h 05 m`, `3 d 4 h`.
 * @param {number | null | undefined} seconds
 */
export function formatDuration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return DASH;
  const total = Math.max(0, seconds);
  if (total < 1 && total > 0) return `${Math.max(1, Math.round(total * 1000))} ms`;
  if (total < 10) return `${total.toFixed(1)} s`;
  const whole = Math.round(total);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${two(whole % 60)} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

/** @param {number} value */
function two(value) {
  return String(value).padStart(2, "0");
}

/**
 * How long ago, in one short word pair; never negative, however the clocks differ.
 * @param {number | null | undefined} seconds
 */
export function formatAge(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return DASH;
  const age = Math.max(0, seconds);
  if (age < 2) return "now";
  if (age < 60) return `${Math.floor(age)} s ago`;
  if (age < 3600) return `${Math.floor(age / 60)} min ago`;
  if (age < 86400) return `${Math.floor(age / 3600)} h ago`;
  return `${Math.floor(age / 86400)} d ago`;
}

/** @param {unknown} bytes */
export function formatBytes(bytes) {
  const value = toNumber(bytes);
  if (value === null || !Number.isFinite(value)) return DASH;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const text = unit === 0 ? String(Math.round(size)) : size.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
  return `${value < 0 ? "−" : ""}${text} ${units[unit]}`;
}

/** @param {number | null | undefined} unixSeconds local wall-clock time, with the date unless it is today */
export function formatClock(unixSeconds, now = Date.now() / 1000) {
  if (unixSeconds === null || unixSeconds === undefined) return DASH;
  const moment = new Date(unixSeconds * 1000);
  const time = moment.toLocaleTimeString("en-GB");
  if (moment.toDateString() === new Date(now * 1000).toDateString()) return time;
  return `${moment.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" })} ${time}`;
}

const SIGNALS = /** @type {Record<number, string>} */ ({
  1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
  9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
  24: "SIGXCPU", 25: "SIGXFSZ",
});

/**
 * How a process ended, in words; empty while nobody knows.
 * @param {number | null | undefined} code
 * @param {number | null | undefined} signal
 * @returns {string}
 */
export function formatExit(code, signal) {
  if (signal !== null && signal !== undefined && signal !== 0) {
    const number = Math.abs(signal);
    return `killed by ${SIGNALS[number] ?? "signal"} (${number})`;
  }
  if (code === null || code === undefined) return "";
  return code < 0 ? formatExit(null, -code) : `exit code ${code}`;
}
