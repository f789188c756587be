// @ts-check
import { get, query } from "../lib/api.js";
import { debounce, fill, find, h, icon, pageJson, setText } from "../lib/dom.js";
import { neighbourStep, readAddress, writeAddress } from "../lib/evolution_address.js";
import { formatCount, formatDuration, formatNumber, formatPercent } from "../lib/format.js";
import { loadPlotly } from "../lib/plotly.js";
import { openShell, segments, toastError } from "../lib/shell.js";
import { Curve } from "./evolution/curve.js";
import { exampleCard } from "./evolution/examples.js";
import { factOf, sortsOf, taskOf } from "./evolution/task_words.js";
import { Timeline } from "./evolution/timeline.js";
import { tokenLegend } from "./evolution/tokens.js";

const PAGE_SIZE = 20;
const MAIN_FACTS = ["accuracy", "avg_loss", "total_examples", "correct", "incorrect"];

/** @type {string} */
const dataset = pageJson("dataset-json");
const path = `/api/evolution/${dataset.split("/").map(encodeURIComponent).join("/")}`;
const live = openShell();
let view = readAddress(location.search);
/** @type {any[]} */
let snapshots = [];
/** @type {number | null} the step on screen */
let shown = null;
let asked = 0;
/** @type {Curve | null} */
let curve = null;
const timeline = new Timeline(find("#timeline", HTMLElement), (step) => goTo(step));
const follow = find("#follow-latest", HTMLButtonElement);
const pressFilter = segments(find("#filter", HTMLElement), "filter", (filter) => {
  change({ filter: /** @type {any} */ (filter), page: 0 });
});

/** @param {Partial<import("../lib/evolution_address.js").EvolutionView>} part */
function change(part) {
  view = { ...view, ...part };
  history.replaceState(null, "", location.pathname + writeAddress(view));
  drawControls();
  void loadSnapshot();
}

/** @param {number | undefined} step */
function goTo(step) {
  if (step === undefined || step === shown) return;
  change({ step: String(step) });
}

function drawControls() {
  pressFilter(view.filter);
  follow.setAttribute("aria-pressed", String(view.step === "latest"));
  find("#sort", HTMLSelectElement).value = view.sort;
  const field = find("#search", HTMLInputElement);
  if (document.activeElement !== field) field.value = view.q;
}

/** The list of snapshots; what is on screen stays unless the newest is being followed. */
async function loadList() {
  try {
    ({ snapshots } = await get(`${path}/snapshots${query({ run: view.run })}`));
    find("#content", HTMLElement).hidden = false;
    find("#nothing", HTMLElement).hidden = true;
    timeline.show(snapshots);
    const newest = snapshots.at(-1)?.step;
    if (shown === null || (view.step === "latest" && newest !== shown)) await loadSnapshot();
    else drawStep({ reveal: false });
    announce(newest);
  } catch (error) {
    showNothing(/** @type {any} */ (error));
  }
}

/** @param {number | undefined} newest */
function announce(newest) {
  const note = find("#new-snapshot", HTMLElement);
  const is = newest !== undefined && shown !== null && newest > shown && view.step !== "latest" && newest > (announced ?? newest - 1);
  if (is && announced !== null) {
    fill(note, `A new snapshot was taken at step ${formatCount(newest)}. `, h("button", { type: "button", class: "button button-small", text: "Show it", onclick: () => goTo(newest) }));
    note.hidden = false;
  }
  announced = Math.max(announced ?? 0, newest ?? 0);
}
/** @type {number | null} newest step the reader has been told of */
let announced = null;

/** @param {any} error */
function showNothing(error) {
  if (error.status !== 404) {
    toastError(error);
    return;
  }
  find("#content", HTMLElement).hidden = true;
  find("#nothing", HTMLElement).hidden = false;
  setText(find("#nothing-title"), error.message);
  setText(find("#nothing-hint"), error.hint ?? "");
}

async function loadSnapshot() {
  const mine = ++asked;
  const fields = { run: view.run, filter: view.filter === "all" ? null : view.filter, q: view.q, sort: view.sort, limit: PAGE_SIZE, offset: view.page * PAGE_SIZE };
  try {
    const snapshot = await get(`${path}/snapshot/${view.step}${query(fields)}`);
    if (mine !== asked) return;
    const moved = shown !== snapshot.training_step;
    shown = snapshot.training_step;
    if (!snapshots.some((one) => one.step === shown)) void loadList();
    drawStep({ reveal: moved });
    drawSummary(snapshot);
    drawExamples(snapshot);
  } catch (error) {
    if (mine === asked) showNothing(error);
  }
}

/** @param {{reveal: boolean}} how */
function drawStep({ reveal }) {
  if (shown === null) return;
  const steps = snapshots.map((one) => one.step);
  setText(find("#snapshot-step"), String(shown));
  timeline.mark(shown, { reveal });
  curve?.show(snapshots, shown);
  find("#previous", HTMLButtonElement).disabled = steps[0] === shown;
  find("#next", HTMLButtonElement).disabled = steps.at(-1) === shown;
  if (shown === steps.at(-1)) find("#new-snapshot", HTMLElement).hidden = true;
}

/** @param {any} snapshot */
function drawSummary({ summary, cost_s: cost, epoch }) {
  const others = Object.entries(summary).filter(([name]) => !MAIN_FACTS.includes(name)).slice(0, 6);
  /** @type {[string, string][]} */
  const facts = [
    ["Correct", `${formatPercent(summary.accuracy)} (${formatCount(summary.correct)} of ${formatCount(summary.total_examples)})`],
    ["Loss", formatNumber(summary.avg_loss)],
    ...others.map(([name, value]) => factOf(name, value)),
  ];
  if (epoch !== null && epoch !== undefined) facts.push(["Epoch", formatNumber(epoch, 3)]);
  if (cost !== null && cost !== undefined) facts.push(["Took", formatDuration(cost)]);
  fill(find("#summary"), facts.map(([word, value]) => h("div", {}, h("dt", { text: word }), h("dd", { text: value }))));
}

/** @param {any} snapshot */
function drawExamples({ examples, total, summary }) {
  const list = find("#examples");
  const { scrollY } = window;
  if (examples.length > 0) drawSorts(taskOf(examples[0]));
  fill(find("#token-legend"), examples.some((/** @type {any} */ one) => one.tokens) ? tokenLegend() : null);
  const open = total === 0
    ? [h("li", { class: "card empty" }, h("h2", { text: "No example matches" }), h("p", { text: "Try another filter, or search for something else." }))]
    : examples.map(exampleCard);
  fill(list, open);
  if (window.scrollY !== scrollY) window.scrollTo({ top: scrollY, behavior: "instant" });
  setText(find("#shown"), total === summary.total_examples ? `${formatCount(total)} examples` : `${formatCount(total)} of ${formatCount(summary.total_examples)} examples`);
  drawPager(total);
}

/** @param {number} total */
function drawPager(total) {
  const pages = Math.ceil(total / PAGE_SIZE);
  const pager = find("#pager", HTMLElement);
  pager.hidden = pages < 2;
  const turn = (/** @type {string} */ name, /** @type {number} */ page, /** @type {boolean} */ enabled) =>
    h("button", { type: "button", class: "button button-icon", disabled: !enabled, "aria-label": name, onclick: () => turnTo(page) }, icon(name === "Previous page" ? "left" : "right"));
  fill(
    pager,
    turn("Previous page", view.page - 1, view.page > 0),
    h("span", { class: "num muted", text: `Page ${view.page + 1} of ${pages}` }),
    turn("Next page", view.page + 1, view.page + 1 < pages),
  );
}

/** @param {number} page */
function turnTo(page) {
  change({ page });
  find("#examples").scrollIntoView({ block: "start" });
}

async function loadRuns() {
  const choice = find("#run-choice", HTMLSelectElement);
  const [{ datasets }, { runs }] = await Promise.all([get("/api/evolution/datasets"), get(`/api/runs${query({ limit: 1000 })}`)]);
  const ids = datasets.find((/** @type {any} */ one) => one.name === dataset)?.runs ?? [];
  const names = new Map(runs.map((/** @type {any} */ run) => [run.id, run.name]));
  fill(choice, ids.map((/** @type {string} */ id, /** @type {number} */ index) => h("option", { value: id, text: `${names.get(id) ?? id}${index === 0 ? " (newest)" : ""}` })));
  choice.hidden = ids.length < 1;
  choice.value = view.run ?? ids[0] ?? "";
}

find("#run-choice", HTMLSelectElement).addEventListener("change", (event) => {
  view.run = /** @type {HTMLSelectElement} */ (event.target).value;
  [shown, announced] = [null, null];
  change({ step: "latest", page: 0 });
  void loadList();
});
/** The orders there are depend on what the examples are of. @param {import("./evolution/task_words.js").Task} task */
function drawSorts(task) {
  const choice = find("#sort", HTMLSelectElement);
  if (choice.dataset.task === task) return;
  choice.dataset.task = task;
  const sorts = sortsOf(task);
  const isOther = view.sort !== "" && !sorts.some(([value]) => value === view.sort); // of an address somebody made
  fill(choice, [...sorts, ...(isOther ? [[view.sort, view.sort]] : [])].map(([value, word]) => h("option", { value, text: word })));
  choice.value = view.sort;
}

find("#sort", HTMLSelectElement).addEventListener("change", (event) => {
  change({ sort: /** @type {HTMLSelectElement} */ (event.target).value, page: 0 });
});
const search = find("#search", HTMLInputElement);
search.addEventListener("input", debounce(() => change({ q: search.value.trim(), page: 0 }), 200));
const move = (/** @type {number} */ by) => shown !== null && goTo(neighbourStep(snapshots.map((one) => one.step), shown, by));
find("#previous").addEventListener("click", () => move(-1));
find("#next").addEventListener("click", () => move(1));
follow.addEventListener("click", () => change({ step: view.step === "latest" && shown !== null ? String(shown) : "latest" }));
addEventListener("keydown", (event) => {
  const field = /** @type {HTMLElement} */ (event.target).closest?.("input, select, textarea");
  if (field || event.altKey || event.ctrlKey || event.metaKey) return;
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -snapshots.length, End: snapshots.length }[event.key];
  if (steps === undefined) return;
  event.preventDefault();
  move(steps);
});
addEventListener("popstate", () => {
  view = readAddress(location.search);
  drawControls();
  void loadSnapshot();
});
live.on("snapshot", (message) => {
  if (message.dataset !== dataset) return;
  if (!view.run || message.run === view.run) void loadList();
  void loadRuns().catch(() => {});
});
live.watch(`evolution:${dataset}`, () => void loadList());
drawControls();
void loadList();
void loadRuns().catch(toastError);
loadPlotly(pageJson("plotly-json"))
  .then((plotly) => {
    curve = new Curve(find("#curve", HTMLElement), plotly, pageJson("charts-json")[0], (step) => goTo(step));
    drawStep({ reveal: false });
  })
  .catch(toastError);
