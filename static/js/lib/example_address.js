// @ts-check
/** What the page of an example shows, as its address says it.  Pure. */
import { query } from "./api.js";
import { readAddress, writeAddress } from "./evolution_address.js";
import { datasetPage, examplePath } from "./run_choice.js";

/**
 * @typedef {import("./evolution_address.js").ListAsked} ListAsked
 * @typedef {object} ExampleView
 * @property {string | null} run @property {number | null} step null: the newest
 * @property {ListAsked | null} list the one somebody came from, in whose order the examples follow each other
 */

/** @param {string} search @returns {ExampleView} */
export function readView(search) {
  const fields = new URLSearchParams(search);
  const { run, filter, category, group, q, sort } = readAddress(search);
  const list = { category, group, q, sort, filter: filter === "all" ? null : filter, step: wholeIn(fields.get("at")) };
  return { run, step: wholeIn(fields.get("step")), list: Object.values(list).some((one) => one !== null && one !== "") ? list : null };
}

/** @param {ExampleView} view */
export function writeView({ run, step, list }) {
  const { step: at = null, ...order } = list ?? {};
  return query({ run, step, ...order, at });
}

/** @param {string} dataset @param {string} exampleId @param {ExampleView} view */
export function exampleAddress(dataset, exampleId, view) {
  return examplePath(dataset, exampleId, {}) + writeView(view);
}

/** The timeline as somebody has left it, at the step on screen here. @param {string} dataset @param {ExampleView} view */
export function listAddress(dataset, { run, step, list }) {
  const { category = "", group = "", q = "", sort = "", filter = null } = list ?? {};
  const view = { run, step: step === null ? "latest" : String(step), category, group, q, sort, play: 0 };
  return datasetPage(dataset) + writeAddress({ ...view, filter: /** @type {any} */ (filter ?? "all") });
}

/** Index of the snapshot meant: that step, the nearest earlier one, or the newest. @param {number[]} steps rising @param {number | null} step */
export function indexOfStep(steps, step) {
  if (step === null) return steps.length - 1;
  const later = steps.findIndex((one) => one > step);
  return later === -1 ? steps.length - 1 : Math.max(0, later - 1);
}

/** @param {string | null} text @returns {number | null} */
function wholeIn(text) {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
