// @ts-check
import { get, query } from "../lib/api.js";
import { fill, find, h, pageJson, setText } from "../lib/dom.js";
import { indexOfStep, readView, writeView } from "../lib/example_address.js";
import { formatCount } from "../lib/format.js";
import { apiPath, carryRun, examplePath, fillRuns, runsOf } from "../lib/run_choice.js";
import { openShell, toastError } from "../lib/shell.js";
import { AnswersList } from "./example/answers_list.js";
import { Curves } from "./example/curves.js";
import { drawLinks, drawTexts, drawVerdict } from "./example/head.js";
import { panelOf } from "./example/panels.js";
import { readTrajectory, taskOf } from "./example/reading.js";
import { StepBar } from "./example/step_bar.js";

/** @type {string} */
const dataset = pageJson("dataset-json");
/** @type {string} */
const exampleId = pageJson("example-json");
const live = openShell();
const view = readView(location.search);
/** @type {any} what the API says of the example */
let example = null;
/** @type {import("./example/reading.js").Point[]} */
let points = [];
/** @type {import("./example/panels.js").Panel | null} */
let panel = null;
let chosen = -1;
let asked = 0;

const bar = new StepBar(choose);
const curves = new Curves(find("#curves", HTMLElement), choose);
const answers = new AnswersList({ choose, onCount: (words) => setText(find("#answers-count"), words) });
find("#answers-place").append(answers.element);
find("#answers-head").append(answers.choice);

/** Show a snapshot, and say so in the address. @param {number} index */
function choose(index) {
  view.step = points[index].step;
  history.replaceState(null, "", location.pathname + writeView(view));
  mark(index);
}

/** @param {number} index */
function mark(index) {
  chosen = index;
  bar.mark(index);
  curves.mark(index);
  panel?.mark(points, index);
  answers.mark(index);
  drawLinks(dataset, example, { ...view, step: points[index].step });
  if (index === points.length - 1) find("#new-snapshot", HTMLElement).hidden = true;
}

/** Everything about the example; the step on screen stays, whatever has come. */
async function load() {
  const mine = ++asked;
  try {
    const found = await get(`${apiPath(dataset)}/examples/${encodeURIComponent(exampleId)}${query({ run: view.run, ...view.list })}`);
    if (mine === asked) show(found);
  } catch (error) {
    if (mine !== asked) return;
    if (view.list === null) {
      showNothing(/** @type {any} */ (error));
      return;
    }
    view.list = null; // it may be of a step that is gone; the example is not
    void load();
  }
}

/** @param {any} found */
function show(found) {
  const onScreen = points[chosen]?.step ?? view.step;
  const newest = points.at(-1)?.step ?? null;
  const isFirst = example === null;
  example = found;
  points = readTrajectory(found.trajectory);
  const task = taskOf(points);
  find("#content", HTMLElement).hidden = false;
  find("#nothing", HTMLElement).hidden = true;
  if (isFirst) drawTexts(found);
  if (panel === null) {
    panel = panelOf(task, { choose, runPage: () => `/runs/${encodeURIComponent(found.run)}#classification` });
    fill(find("#panels"), panel.elements);
  }
  drawVerdict(found, points);
  bar.show(points, task);
  curves.show(points, task);
  panel.show(points);
  answers.show(points, task);
  mark(indexOfStep(points.map((one) => one.step), onScreen));
  announce(newest);
}

/** @param {number | null} before the newest step that was there before */
function announce(before) {
  const last = points[points.length - 1].step;
  if (before === null || last <= before || chosen === points.length - 1) return;
  const note = find("#new-snapshot", HTMLElement);
  fill(note, `New: step ${formatCount(last)} `, h("button", { type: "button", class: "button button-small", text: "Show it", onclick: () => choose(points.length - 1) }));
  note.hidden = false;
}

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

addEventListener("keydown", (event) => {
  const field = /** @type {HTMLElement} */ (event.target).closest?.("input, select, textarea");
  if (field || event.altKey || event.ctrlKey || event.metaKey) return;
  const link = { j: "#next-example", k: "#previous-example" }[event.key];
  if (link) find(link, HTMLAnchorElement).click();
});
live.on("snapshot", (message) => {
  if (message.dataset === dataset && message.run === (view.run ?? example?.run ?? message.run)) void load();
});
live.watch(`evolution:${dataset}`, () => void load());
void load();
carryRun(view.run);
const runChoice = find("#run-choice", HTMLSelectElement);
runChoice.addEventListener("change", () => location.assign(examplePath(dataset, exampleId, { run: runChoice.value })));
runsOf(dataset)
  .then((runs) => fillRuns(runChoice, runs, view.run))
  .catch(toastError);
