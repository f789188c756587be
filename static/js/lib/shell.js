// @ts-check
/** The frame around every page: link state, theme switch, short messages, one clock tick a second. */
import { fill, h, icon, setText } from "./dom.js";
import { formatAge, formatClock } from "./format.js";
import { openLive } from "./live.js";
import { startNotifier } from "./notifier.js";
import { toggleTheme } from "./theme.js";

const OFFLINE_AFTER_MS = 5000;
const TOAST_MS = 7000;

/** @type {Set<() => void>} */
const tickers = new Set();

/** The frame without a live link (error pages). */
export function openStillShell() {
  document.getElementById("theme-toggle")?.addEventListener("click", toggleTheme);
  revealPlace();
  addEventListener("resize", revealPlace);
}

/** On a phone the row of pages scrolls sideways: where one is must be in sight. */
function revealPlace() {
  const [row, place] = [document.querySelector(".nav"), document.querySelector(".nav [aria-current]")];
  if (!row || !place) return;
  const [frame, link] = [row.getBoundingClientRect(), place.getBoundingClientRect()];
  row.scrollLeft += link.left + link.width / 2 - (frame.left + frame.width / 2);
}

/** @returns {import("./live.js").Live} */
export function openShell() {
  openStillShell();
  const live = openLive();
  startNotifier(live);
  const serverTime = Number(document.querySelector('meta[name="server-time"]')?.getAttribute("content"));
  if (serverTime > 0) live.setServerTime(serverTime);
  const badge = document.getElementById("link-state");
  if (badge) {
    const show = () => showLink(badge, live.socket.link, live.socket.heardAt);
    live.socket.onLink(show);
    tickers.add(show);
  }
  setInterval(() => {
    if (document.visibilityState === "visible") for (const tick of tickers) tick();
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") for (const tick of tickers) tick();
  });
  return live;
}

/** Call `tick` every second while the page is visible: ages move without the server. @param {() => void} tick */
export function everySecond(tick) {
  tickers.add(tick);
}

/**
 * What the header says. "Offline" is said only after five seconds: a blink of the link is no news.
 * @param {import("./socket.js").Link} link @param {number} heardAt @param {number} [now] milliseconds
 * @returns {{kind: string, word: string, detail: string}}
 */
export function describeLink(link, heardAt, now = Date.now()) {
  if (link.state === "live") {
    return { kind: "live", word: "Live", detail: `heard ${formatAge((now - heardAt) / 1000)}` };
  }
  if (link.state === "refused") return { kind: "offline", word: "Logged out", detail: "" };
  if (link.state === "reconnecting" && now - link.since > OFFLINE_AFTER_MS) {
    return { kind: "offline", word: `Offline since ${formatClock(link.since / 1000, now / 1000)}`, detail: "trying again" };
  }
  return link.state === "reconnecting"
    ? { kind: "reconnecting", word: "Reconnecting", detail: "" }
    : { kind: "connecting", word: "Connecting", detail: "" };
}

/** @param {HTMLElement} badge @param {import("./socket.js").Link} link @param {number} heardAt */
function showLink(badge, link, heardAt) {
  const { kind, word, detail } = describeLink(link, heardAt);
  if (badge.dataset.link !== kind || badge.querySelector(".word")?.textContent !== word) {
    badge.dataset.link = kind;
    fill(badge, h("span", { class: "word", text: word }));
  }
  // the age ticks every second: shown, but kept from screen readers, who would hear nothing else
  let age = badge.querySelector(".age");
  if (!age) {
    age = h("span", { class: "age muted num", "aria-hidden": "true" });
    badge.append(age);
  }
  setText(age, detail ? `· ${detail}` : "");
  badge.title = link.reason;
}

/** A short message at the foot of the page. @param {string} text @param {{tone?: "bad" | "good", hint?: string}} [options] */
export function toast(text, { tone = "good", hint } = {}) {
  const place = document.getElementById("toasts");
  if (!place) return;
  const note = h(
    "div",
    { class: "toast", dataset: { tone } },
    icon(tone === "bad" ? "failed" : "finished"),
    h("div", {}, h("div", { text }), hint ? h("div", { class: "small", text: hint }) : null),
  );
  place.append(note);
  setTimeout(() => note.remove(), TOAST_MS);
}

/** Say what went wrong, as the API put it. @param {unknown} error */
export function toastError(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const message = error instanceof Error ? error.message : String(error);
  toast(message, { tone: "bad", hint: /** @type {any} */ (error)?.hint });
}

/** Buttons of which one is pressed. @param {HTMLElement} group @param {string} attribute @param {(value: string) => void} choose */
export function segments(group, attribute, choose) {
  const buttons = [...group.querySelectorAll("button")];
  group.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest("button");
    if (!button || button.dataset[attribute] === undefined) return;
    press(button.dataset[attribute]);
    choose(/** @type {string} */ (button.dataset[attribute]));
  });
  /** @param {string | undefined} value */
  function press(value) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset[attribute] === value));
  }
  return press;
}
