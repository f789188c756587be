// @ts-check
import { formatBytes, formatDuration, formatExit, formatNumber, formatPercent } from "../../lib/format.js";

/** @typedef {Record<string, any>} Event an event as the API gives it */

/** @type {Record<string, (event: Event) => string>} */
const WORDS = {
  phase: (e) => [e.name, e.detail].filter(Boolean).join(": "),
  progress: (e) => (e.total_steps ? `step ${e.step} of ${e.total_steps}` : `step ${e.step}`),
  snapshot: (e) => `${formatPercent(e.summary?.accuracy)} correct, loss ${formatNumber(e.summary?.avg_loss)}${e.cost_s ? `, took ${formatDuration(e.cost_s)}` : ""}`,
  snapshot_skipped: (e) => `skipped: ${e.reason ?? ""}`,
  checkpoint: (e) => `${e.file ?? ""} (${formatBytes(e.bytes)}${e.best ? ", best so far" : ""}), ${e.reason ?? ""}`,
  alert: (e) => [e.title, e.what === "resolved" ? "over" : "", e.text].filter(Boolean).join(": "),
  dataset: (e) => [e.name, ...Object.entries(e.counts ?? {}).map(([name, count]) => `${formatNumber(count)} ${name}`)].join(", "),
  device: (e) => e.name ?? "",
  finished: (e) => e.reason ?? "",
  attempt: (e) => (e.what === "ended" ? `attempt ${e.attempt} ended: ${formatExit(e.exit_code, e.exit_signal) || "unknown"}` : `attempt ${e.attempt} started as process ${e.pid ?? "?"}`),
  stall: (e) => (e.what === "ended" ? `${e.verdict}: over, it advances again` : `${e.verdict}: ${e.text}`),
  stacks: (e) => `it stands in ${e.frame} (${e.code})`,
  finding: (e) => `${e.id}: ${e.cause}`,
  state: (e) => [e.state, e.reason, formatExit(e.exit_code, e.exit_signal)].filter(Boolean).join(": "),
};

/**
 * Events with the same words in a row as one, newest first: a phase that tells its progress would fill the page.  Pure.
 * @param {Event[]} events oldest first @returns {{event: Event, words: string, count: number, until: number}[]}
 */
export function together(events) {
  /** @type {{event: Event, words: string, count: number, until: number}[]} */
  const rows = [];
  for (const event of events) {
    const words = eventWords(event);
    const last = rows.at(-1);
    if (last && last.event.type === event.type && last.event.step === event.step && last.words === words) {
      last.count += 1;
      last.until = event.t;
    } else rows.push({ event, words, count: 1, until: event.t });
  }
  return rows.reverse();
}

/** What an event says, in one line. Pure. @param {Event} event */
export function eventWords(event) {
  const write = WORDS[event.type];
  if (write) return write(event);
  const { run, seq, t, type, stream, attempt, step, ...rest } = event;
  void [run, seq, t, type, stream, attempt, step];
  return Object.keys(rest).length ? JSON.stringify(rest) : "";
}
