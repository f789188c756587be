// @ts-check
/**
 * What of the news deserves a notification: crashes, stalls, losses, ends, alerts of level error.
 * The same thing is told once, whoever asks and however often. Pure.
 *
 * @typedef {{key: string, tag: string, title: string, body: string, url: string}} Notice
 */
import { formatCount } from "./format.js";

const FRESH_S = 600; // older alerts are history that was caught up with
const JUST_ENDED_S = 30; // a run that ended while a page was changing
const TITLES = { failed: "has crashed", lost: "is lost", stalled: "does not advance", finished: "has finished", retrying: "has crashed and is tried again" };

export class News {
  /** @type {Map<string, {state: string, name: string}>} */
  #runs = new Map();

  /** @param {import("./run_facts.js").Run} run @param {number} now Unix seconds @returns {Notice | null} */
  takeRun(run, now) {
    const known = this.#runs.get(run.id);
    this.#runs.set(run.id, { state: run.state, name: run.name });
    const words = /** @type {Record<string, string>} */ (TITLES)[run.state];
    const isNew = known ? known.state !== run.state : run.ended_at !== null && now - run.ended_at < JUST_ENDED_S;
    if (!words || !isNew) return null;
    const body = run.reason ? `${run.reason.charAt(0).toUpperCase()}${run.reason.slice(1)}.` : `At step ${formatCount(run.step)}.`;
    return this.#notice(run.id, `${run.state}/${run.attempt}/${run.ended_at ?? run.step}`, `${run.name} ${words}`, body);
  }

  /** @param {any} event an alert as it is pushed @param {number} now @returns {Notice | null} */
  takeAlert(event, now) {
    // crash and stall are states of the run, and told as such
    const isTold = event.category === "crash" || event.category === "stall";
    if (event.level !== "error" || event.what === "resolved" || isTold || now - event.t > FRESH_S) return null;
    const name = this.#runs.get(event.run)?.name ?? event.run;
    return this.#notice(event.run, `alert/${event.stream}/${event.seq}`, `${name}: ${event.title}`, String(event.text ?? ""));
  }

  /** @param {string} run @param {string} what @param {string} title @param {string} body @returns {Notice} */
  #notice(run, what, title, body) {
    return { key: `${run}/${what}`, tag: `signalbox/${run}`, title, body: body.slice(0, 300), url: `/runs/${encodeURIComponent(run)}` };
  }
}

/**
 * Whether `key` is told for the first time; remembers the newest hundred.
 * @param {{getItem: (name: string) => string | null, setItem: (name: string, value: string) => void}} storage @param {string} name @param {string} key
 */
export function isFirst(storage, name, key) {
  /** @type {string[]} */
  let told = [];
  try {
    const kept = JSON.parse(storage.getItem(name) ?? "[]");
    told = Array.isArray(kept) ? kept : [];
  } catch {
    // somebody else's words: begin anew
  }
  if (told.includes(key)) return false;
  storage.setItem(name, JSON.stringify([...told, key].slice(-100)));
  return true;
}
