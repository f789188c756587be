// @ts-check
import { get, query } from "../../lib/api.js";
import { fill, find, h } from "../../lib/dom.js";

/** The runs that have snapshots of a dataset, the newest first; one is chosen. @param {string} dataset @param {string | null} run @param {(run: string) => void} choose */
export async function drawRuns(dataset, run, choose) {
  const choice = find("#run-choice", HTMLSelectElement);
  const [{ datasets }, { runs }] = await Promise.all([get("/api/evolution/datasets"), get(`/api/runs${query({ limit: 1000 })}`)]);
  const ids = datasets.find((/** @type {any} */ one) => one.name === dataset)?.runs ?? [];
  const names = new Map(runs.map((/** @type {any} */ one) => [one.id, one.name]));
  fill(choice, ids.map((/** @type {string} */ id, /** @type {number} */ index) => h("option", { value: id, text: `${names.get(id) ?? id}${index === 0 ? " (newest)" : ""}` })));
  choice.hidden = ids.length === 0;
  choice.value = run ?? ids[0] ?? "";
  choice.onchange = () => choose(choice.value);
  for (const tab of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("#evolution-tabs a"))) tab.search = query({ run });
}
