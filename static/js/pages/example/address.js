// @ts-check
/** What the page of an example shows, as its address says it.  Pure. */

/** @typedef {{run: string | null, step: number | null}} ExampleView `step` null: the newest */

/** @param {string} search @returns {ExampleView} */
export function readView(search) {
  const fields = new URLSearchParams(search);
  const step = fields.get("step") ?? "";
  return { run: fields.get("run") || null, step: /^\d{1,15}$/.test(step) ? Number(step) : null };
}

/** @param {ExampleView} view */
export function writeView({ run, step }) {
  const fields = new URLSearchParams();
  if (run) fields.set("run", run);
  if (step !== null) fields.set("step", String(step));
  const text = fields.toString();
  return text ? `?${text}` : "";
}

/** A dataset's pages; its name may hold anything, slashes stay. @param {string} dataset */
export function pagesOf(dataset) {
  return `/evolution/${dataset.split("/").map(encodeURIComponent).join("/")}`;
}

/** Index of the snapshot meant: that step, the nearest earlier one, or the newest. @param {number[]} steps rising @param {number | null} step */
export function indexOfStep(steps, step) {
  if (step === null) return steps.length - 1;
  const later = steps.findIndex((one) => one > step);
  return later === -1 ? steps.length - 1 : Math.max(0, later - 1);
}
