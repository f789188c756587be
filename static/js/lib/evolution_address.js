// @ts-check
/**
 * What the evolution page shows, as its address says it: every view can be linked to.  Pure.
 *
 * @typedef {object} EvolutionView
 * @property {string | null} run @property {string} step a number, or latest, first, best
 * @property {"all" | "correct" | "incorrect"} filter @property {string} q @property {string} sort
 * @property {number} page from 0
 */

/** @param {string} search @returns {EvolutionView} */
export function readAddress(search) {
  const fields = new URLSearchParams(search);
  const step = fields.get("step") ?? "latest";
  const filter = fields.get("filter");
  const page = Number(fields.get("page") ?? "1");
  return {
    run: fields.get("run") || null,
    step: /^(\d{1,15}|latest|first|best)$/.test(step) ? step : "latest",
    filter: filter === "correct" || filter === "incorrect" ? filter : "all",
    q: fields.get("q") ?? "",
    sort: fields.get("sort") ?? "",
    page: Number.isInteger(page) && page > 0 ? page - 1 : 0,
  };
}

/** Only what differs from the defaults. @param {EvolutionView} view */
export function writeAddress({ run, step, filter, q, sort, page }) {
  const fields = new URLSearchParams();
  if (run) fields.set("run", run);
  if (step !== "latest") fields.set("step", step);
  if (filter !== "all") fields.set("filter", filter);
  if (q) fields.set("q", q);
  if (sort) fields.set("sort", sort);
  if (page > 0) fields.set("page", String(page + 1));
  const text = fields.toString();
  return text ? `?${text}` : "";
}

/** The step after a move along the timeline; stays at the ends. @param {number[]} steps @param {number} step @param {number} by */
export function neighbourStep(steps, step, by) {
  const index = steps.indexOf(step);
  if (index === -1) return steps.at(-1) ?? step;
  return steps[Math.min(steps.length - 1, Math.max(0, index + by))];
}
