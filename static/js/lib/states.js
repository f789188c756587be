// @ts-check
/** The words, icons and groups of a run's states; the server's `run_states.py` is the authority. */
import { h, icon } from "./dom.js";

/** @type {Record<string, {word: string, icon: string, help: string}>} */
const STATES = {
  queued: { word: "Queued", icon: "queued", help: "Waiting for a free slot" },
  starting: { word: "Starting", icon: "starting", help: "The trainer is coming up" },
  running: { word: "Running", icon: "running", help: "Training" },
  stalled: { word: "Stalled", icon: "stalled", help: "Alive, but not advancing" },
  stopping: { word: "Stopping", icon: "stopping", help: "Saving a checkpoint and ending" },
  retrying: { word: "Retrying", icon: "retrying", help: "Between two attempts" },
  finished: { word: "Finished", icon: "finished", help: "Ran to its end" },
  stopped: { word: "Stopped", icon: "stopped", help: "Somebody asked it to stop" },
  failed: { word: "Failed", icon: "failed", help: "It died; the reason is on its page" },
  lost: { word: "Lost", icon: "lost", help: "Nobody can know how it ended" },
};

export const ENDED = new Set(["finished", "stopped", "failed", "lost"]);
export const ACTIVE = new Set(["starting", "running", "stalled", "stopping", "retrying"]);
export const RESUMABLE = new Set(["stopped", "failed", "lost"]);
export const STATE_NAMES = Object.keys(STATES);

/** @param {string} state */
export function stateWord(state) {
  return STATES[state]?.word ?? state;
}

/** Colour, icon and word: never colour alone. @param {string} state @param {{paused?: boolean}} [options] */
export function stateBadge(state, { paused = false } = {}) {
  const shown = paused && state === "running" ? { word: "Paused", icon: "paused", help: "Paused by you" } : STATES[state];
  return h(
    "span",
    { class: "badge", title: shown?.help ?? "", dataset: { state: paused && state === "running" ? "paused" : state } },
    icon(shown?.icon ?? "lost"),
    h("span", { text: shown?.word ?? state }),
  );
}
