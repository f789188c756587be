// @ts-check
/** Small questions about runs that several pages ask. Pure. */
import { ACTIVE, ENDED } from "./states.js";

/**
 * @typedef {object} Run the JSON of GET /api/runs/ID, as far as the pages use it; times in Unix seconds
 * @property {string} id @property {string} name @property {string} [script] @property {string} recipe @property {string} dataset
 * @property {Record<string, string>} columns @property {string | null} dataset_hash @property {boolean} is_ended
 * @property {Record<string, unknown>} params @property {string[]} tags @property {Record<string, unknown>} policy
 * @property {string} profile @property {number} priority @property {string} state @property {string | null} reason
 * @property {number} step @property {number | null} total_steps @property {number | null} epoch
 * @property {number | null} num_epochs @property {string | null} phase @property {string | null} device
 * @property {number | null} heartbeat_at @property {number | null} progress_at @property {number} attempt
 * @property {number | null} exit_code @property {number | null} exit_signal @property {number} created_at
 * @property {number | null} started_at @property {number | null} ended_at
 * @property {number} active_alerts
 * @property {Record<string, number | null>} latest @property {import("./rungs.js").Rung[]} rungs in force
 * @property {Record<string, string>} environment the user's own variables, secrets hidden
 */

/** Whether a run belongs into a filter group. @param {Run} run @param {string} group */
export function inGroup(run, group) {
  if (group === "active") return ACTIVE.has(run.state) || run.state === "queued";
  if (group === "finished") return run.state === "finished" || run.state === "stopped";
  if (group === "trouble") return run.state === "failed" || run.state === "lost" || run.state === "stalled";
  return true;
}

/** @param {Run} run @param {string} text every word must occur somewhere */
export function matchesText(run, text) {
  const haystack = [run.name, run.recipe, run.dataset, run.state, run.id, run.device ?? "", ...(run.tags ?? [])].join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => haystack.includes(word));
}

/** A dataset in a word: a path's last part without its ending. @param {string} dataset */
export function datasetWord(dataset) {
  return dataset.includes("/") ? (dataset.split("/").at(-1) ?? dataset).replace(/(?<=.)\.[^.]*$/, "") : dataset;
}

/** The newest loss, whichever kind the run reports. @param {Run} run @returns {{name: string, value: number} | null} */
export function latestLoss(run) {
  for (const name of ["train/loss", "eval/loss"]) {
    const value = run.latest?.[name];
    if (typeof value === "number") return { name, value };
  }
  return null;
}

/** How long it has been or was running, in seconds. @param {Run} run @param {number} now Unix seconds */
export function runningSeconds(run, now) {
  if (run.started_at === null || run.started_at === undefined) return null;
  return (ENDED.has(run.state) ? run.ended_at ?? run.heartbeat_at ?? now : now) - run.started_at;
}
