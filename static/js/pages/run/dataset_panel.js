// @ts-check
import { get, post } from "../../lib/api.js";
import { find, h, icon } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";
import { toastError } from "../../lib/shell.js";
import { subjectOf } from "./subject.js";

/** @typedef {import("../../lib/run_facts.js").Run} Run */

const TONES = { same: "good", changed: "warn", gone: "warn", touched: "warn" };
/** What was fetched for, so that a run that only moves on asks for nothing. */
let shownFor = "";
/** @type {HTMLElement | null} */
let card = null;

/** Put what the run trains on below its parameters. @param {string} path of the run in the API @param {Run} run */
export function showDataset(path, run) {
  if (!subjectOf(run).hasDataset) return;
  const key = [run.dataset, run.dataset_hash, run.is_ended].join("\n");
  if (card) find("#panel-config").append(card);
  if (key === shownFor) return;
  shownFor = key;
  get(`${path}/dataset`).then((told) => draw(path, told)).catch((error) => {
    shownFor = "";
    toastError(error);
  });
}

/** @param {string} path @param {any} told */
function draw(path, told) {
  const fresh = datasetCard(told, () => {
    post(`${path}/dataset/check`).then((again) => draw(path, again)).catch(toastError);
  });
  card?.remove();
  card = fresh;
  find("#panel-config").append(card);
}

/** @param {any} told the answer of GET /api/runs/ID/dataset @param {() => void} check */
export function datasetCard(told, check) {
  const { registered, status } = told;
  const tone = TONES[/** @type {keyof typeof TONES} */ (status)];
  const columns = Object.entries(told.columns).map(([role, column]) => `${role} = ${column || "(none)"}`);
  /** @type {[string, Node | string][]} */
  const facts = [
    ["File", h("code", { text: told.dataset })],
    ...(registered ? [/** @type {[string, Node]} */ (["Registered as", h("a", { href: `/datasets/${encodeURIComponent(registered.name)}`, text: registered.dataset })])] : []),
    ...(columns.length ? [/** @type {[string, string]} */ (["Columns", columns.join(", ")])] : []),
    ["Content", told.content_hash ? h("code", { dataset: { testid: "dataset-hash" }, text: told.content_hash }) : "not read yet"],
    ...Object.entries(told.counts ?? {}).map(([word, count]) => /** @type {[string, string]} */ ([word.replaceAll("_", " "), formatCount(count)])),
  ];
  return h(
    "section",
    { class: "card dataset-card", dataset: { testid: "run-dataset" } },
    h("div", { class: "card-head" }, h("h2", { text: "Trained on" })),
    h("div", { class: "card-body" },
      tone
        ? h("div", { class: "banner", dataset: { tone, testid: "dataset-status" } },
            icon(tone === "good" ? "check" : "info"), h("div", { text: told.message }),
            status === "touched" || status === "changed" ? h("button", { type: "button", class: "button button-small banner-action", dataset: { testid: "check-dataset" }, onclick: check, text: "Look it over" }) : null)
        : null,
      h("dl", { class: "facts" }, facts.flatMap(([word, value]) => [h("dt", { text: word }), h("dd", {}, value)]))),
  );
}
