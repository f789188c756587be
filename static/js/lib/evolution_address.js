// @ts-check
/**
 * What the evolution page shows, as its address says it: every view can be linked to.  Pure.
 *
 * @typedef {object} EvolutionView
 * @property {string | null} run @property {string} step a number, or latest, first, best
 * @property {"all" | "correct" | "incorrect"} filter at the chosen step
 * @property {string} category what became of an example, empty for all @property {string} group empty for all
 * @property {string} q @property {string} sort
 * @property {number} play snapshots per second while it plays, 0 while it rests
 */

export const CATEGORIES = ["learned", "struggling", "not_learned", "forgotten", "flip_flopping"];
export const SPEEDS = [0.5, 1, 2, 4];

/** @param {string} search @returns {EvolutionView} */
export function readAddress(search) {
  const fields = new URLSearchParams(search);
  const step = fields.get("step") ?? "latest";
  const filter = fields.get("filter");
  const category = fields.get("category") ?? "";
  const play = Number(fields.get("play") ?? "0");
  return {
    run: fields.get("run") || null,
    step: /^(\d{1,15}|latest|first|best)$/.test(step) ? step : "latest",
    filter: filter === "correct" || filter === "incorrect" ? filter : "all",
    category: CATEGORIES.includes(category) ? category : "",
    group: fields.get("group") ?? "",
    q: fields.get("q") ?? "",
    sort: fields.get("sort") ?? "",
    play: SPEEDS.includes(play) ? play : 0,
  };
}

/** Only what differs from the defaults. @param {EvolutionView} view */
export function writeAddress({ run, step, filter, category, group, q, sort, play }) {
  const fields = new URLSearchParams();
  if (run) fields.set("run", run);
  if (step !== "latest") fields.set("step", step);
  if (filter !== "all") fields.set("filter", filter);
  if (category) fields.set("category", category);
  if (group) fields.set("group", group);
  if (q) fields.set("q", q);
  if (sort) fields.set("sort", sort);
  if (play > 0) fields.set("play", String(play));
  const text = fields.toString();
  return text ? `?${text}` : "";
}

/**
 * The list somebody looks at, as the API is asked for it: which examples, in which order.
 * @typedef {object} ListAsked
 * @property {string} category @property {string} group @property {string} q @property {string} sort
 * @property {string | null} filter @property {number | null} step what the rest is of, where it depends on a step
 */

/** @param {EvolutionView} view @param {number} step the one on screen @returns {ListAsked} */
export function listAsked({ filter, category, group, q, sort }, step) {
  const isOfOneStep = filter !== "all" || q !== "" || isOfStep(sort);
  return { category, group, q, sort, filter: filter === "all" ? null : filter, step: isOfOneStep ? step : null };
}

/** Whether an order depends on the chosen step. @param {string} sort */
export function isOfStep(sort) {
  return /^-?(loss|similarity|rank)$/.test(sort);
}

/** The step after a move along the timeline; stays at the ends. @param {number[]} steps @param {number} step @param {number} by */
export function neighbourStep(steps, step, by) {
  const index = steps.indexOf(step);
  if (index === -1) return steps.at(-1) ?? step;
  return steps[Math.min(steps.length - 1, Math.max(0, index + by))];
}
