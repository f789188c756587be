// @ts-check
/** The runs of one dataset: choosing among them, and the addresses of its pages. */
import { get, query } from "./api.js";
import { fill, h } from "./dom.js";

/** A dataset's name is one part of an address, whatever it holds. @param {string} dataset */
export function apiPath(dataset) {
  return `/api/evolution/${encodeURIComponent(dataset)}`;
}

/** @param {string} dataset */
export function datasetPage(dataset) {
  return `/evolution/${encodeURIComponent(dataset)}`;
}

/** @param {string} dataset @param {string} exampleId @param {Record<string, any>} fields */
export function examplePath(dataset, exampleId, fields) {
  return `${datasetPage(dataset)}/examples/${encodeURIComponent(exampleId)}${query(fields)}`;
}

/**
 * The runs with snapshots of a dataset, newest first, each with its name.
 * @param {string} dataset @returns {Promise<{id: string, name: string}[]>}
 */
export async function runsOf(dataset) {
  const [{ datasets }, { runs }] = await Promise.all([get("/api/evolution/datasets"), get(`/api/runs${query({ limit: 1000 })}`)]);
  const names = new Map(runs.map((/** @type {any} */ run) => [run.id, run.name]));
  const ids = datasets.find((/** @type {any} */ one) => one.name === dataset)?.runs ?? [];
  return ids.map((/** @type {string} */ id) => ({ id, name: names.get(id) ?? id }));
}

/** @param {HTMLSelectElement} choice @param {{id: string, name: string}[]} runs @param {string | null} chosen null: the newest */
export function fillRuns(choice, runs, chosen) {
  fill(choice, runs.map(({ id, name }, index) => h("option", { value: id, text: `${name}${index === 0 ? " (newest)" : ""}` })));
  choice.hidden = runs.length < 1;
  choice.value = chosen ?? runs[0]?.id ?? "";
}

/** The tabs lead to the same run. @param {string | null} run */
export function carryRun(run) {
  for (const link of document.querySelectorAll("#evolution-tabs a")) {
    if (link instanceof HTMLAnchorElement) link.search = query({ run });
  }
}
