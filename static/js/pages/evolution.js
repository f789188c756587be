// @ts-check
import { get, query } from "../lib/api.js";
import { fill, find, h, icon, setText } from "../lib/dom.js";
import { formatAge, formatCount, formatNumber, formatPercent } from "../lib/format.js";
import { apiPath, datasetPage } from "../lib/run_choice.js";
import { everySecond, openShell, toastError } from "../lib/shell.js";
import { Sparkline } from "../lib/sparkline.js";
import { askedAlike } from "./evolution/chosen_step.js";
import { changeOf } from "./evolution/overview_words.js";

const live = openShell();
/** @type {Map<string, () => void>} datasets watched, and how to stop */
const watched = new Map();
/** @type {{element: Element, updatedAt: number}[]} */
let ages = [];

/** @param {any} dataset */
function card(dataset) {
  const spark = new Sparkline();
  const age = h("dd");
  ages.push({ element: age, updatedAt: dataset.updated_at });
  void drawCurve(dataset, spark);
  const [first, last] = [dataset.first_summary, dataset.summary];
  return h(
    "a",
    { class: "card dataset-card", href: datasetPage(dataset.name), dataset: { testid: "dataset-card" } },
    h("div", { class: "dataset-title" }, h("h2", { dir: "auto", text: dataset.name }), h("span", { class: "chip", text: dataset.task.replaceAll("_", " ") })),
    h(
      "div",
      { class: "dataset-now num" },
      h("div", {}, h("strong", { text: formatPercent(last.accuracy) }), h("span", { class: "muted small", text: "correct in the newest snapshot" })),
      spark.element,
      changeLine(changeOf("accuracy", last.accuracy, dataset.snapshot_count > 1 ? first.accuracy : null)),
    ),
    h(
      "dl",
      { class: "dataset-facts num small" },
      fact("Loss", dataset.snapshot_count > 1 ? `${formatNumber(first.avg_loss)} → ${formatNumber(last.avg_loss)}` : formatNumber(last.avg_loss)),
      fact("Snapshots", `${formatCount(dataset.snapshot_count)}, steps ${formatCount(dataset.first_step)} to ${formatCount(dataset.last_step)}`),
      fact("Examples", formatCount(last.total_examples)),
      fact("Runs", formatCount(dataset.runs.length)),
      h("div", {}, h("dt", { text: "Newest" }), age),
    ),
    h("span", { class: "dataset-open" }, "Watch it learn", icon("right")),
  );
}

/** @param {import("./evolution/overview_words.js").Change | null} change */
function changeLine(change) {
  if (!change) return null;
  return h("p", { class: "dataset-change small muted" }, h("span", { class: "change", dataset: { tone: change.tone }, text: change.text }), " against the first snapshot");
}

/** @param {string} word @param {string} value */
function fact(word, value) {
  return h("div", {}, h("dt", { text: word }), h("dd", { text: value }));
}

/** @param {any} dataset @param {Sparkline} spark */
async function drawCurve(dataset, spark) {
  try {
    const { snapshots } = await get(`${apiPath(dataset.name)}/snapshots${query({ run: dataset.run })}`);
    spark.reset(askedAlike(snapshots).map((/** @type {any} */ one) => one.summary.accuracy));
  } catch {
    // the run was deleted meanwhile: the card without its curve goes with the next loading
  }
}

async function load() {
  try {
    const { datasets } = await get("/api/evolution/datasets");
    ages = [];
    fill(find("#datasets"), datasets.map(card));
    find("#no-datasets", HTMLElement).hidden = datasets.length > 0;
    for (const { name } of datasets) {
      if (!watched.has(name)) watched.set(name, live.watch(`evolution:${name}`, () => {}));
    }
    tick();
  } catch (error) {
    toastError(error);
  }
}

function tick() {
  for (const { element, updatedAt } of ages) setText(element, formatAge(live.now() - updatedAt));
}

live.on("snapshot", () => void load());
// a run may be the first to take snapshots of its dataset: look again when one leaves that phase
/** @type {Map<string, string | null>} */
const phases = new Map();
live.watch("runs", () => void load());
live.on("run", (run) => {
  if (phases.get(run.id) === "snapshotting" && run.phase !== "snapshotting") void load();
  phases.set(run.id, run.phase);
});
everySecond(tick);
void load();
