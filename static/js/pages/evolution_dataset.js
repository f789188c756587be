// @ts-check
import { get, query } from "../lib/api.js";
import { debounce, fill, find, h, icon, oncePerFrame, pageJson, setText } from "../lib/dom.js";
import { SPEEDS, neighbourStep, readAddress } from "../lib/evolution_address.js";
import { formatCount, formatShown } from "../lib/format.js";
import { loadPlotly } from "../lib/plotly.js";
import { apiPath } from "../lib/run_choice.js";
import { everySecond, openShell, segments, toast, toastError } from "../lib/shell.js";
import { AddressBar } from "./evolution/address_bar.js";
import { CategoryChips } from "./evolution/categories.js";
import { askedAlike, chosenStep } from "./evolution/chosen_step.js";
import { Curve } from "./evolution/curve.js";
import { ListView } from "./evolution/list_view.js";
import { drawCapture, drawMeasures } from "./evolution/overview.js";
import { Player } from "./evolution/player.js";
import { ShownRun } from "./evolution/shown_run.js";
import { isLasting, ordersOf } from "./evolution/task_words.js";
import { Timeline, spoken } from "./evolution/timeline.js";

/** @typedef {import("../lib/evolution_address.js").EvolutionView} EvolutionView */

/** @type {string} */
const dataset = pageJson("dataset-json");
const path = apiPath(dataset);
const live = openShell();
let view = readAddress(location.search);
/** @type {any[]} */
let snapshots = [];
let taken = snapshots; // also those that asked other probes than the newest one
/** @type {any[]} due, but not taken */
let skipped = [];
/** @type {number | null} the step on screen */
let shown = null;
/** @type {Curve | null} */
let curve = null;

const player = find("#player", HTMLElement);
const address = new AddressBar((back) => {
  playing.pause();
  view = back;
  drawControls();
  if (view.run !== null && view.run !== snapshots[0]?.run) void loadList();
  else void show();
});
const shownRun = new ShownRun(find("#run-choice", HTMLSelectElement), dataset);
const timeline = new Timeline(find("#timeline", HTMLElement), (step) => goTo(step));
const list = new ListView(find("#rows", HTMLElement), {
  dataset, path, onError: showError, onFacts: drawFacts,
  coveredTop: () => Number.parseFloat(getComputedStyle(player).top) + player.offsetHeight, // where it sticks
});
const playing = new Player(playNext);
const chips = new CategoryChips(find("#categories", HTMLElement), find("#category-help", HTMLElement), (category) => change({ category }));
const pressFilter = segments(find("#filter", HTMLElement), "filter", (filter) => change({ filter: /** @type {any} */ (filter) }));
const follow = find("#follow-latest", HTMLButtonElement);
const speed = find("#speed", HTMLSelectElement);
const note = find("#new-snapshot", HTMLElement);

/** @param {Partial<EvolutionView>} part @param {"" | "step" | "search"} [kind] */
function change(part, kind = "") {
  view = { ...view, ...part };
  address.say(view, kind);
  drawControls();
  return show();
}

/** @param {number | undefined} step */
function goTo(step) {
  if (step === undefined || (step === shown && view.step === String(step))) return;
  playing.pause();
  void change({ step: String(step) }, "step");
}

/** Show what the view says: what is known at once, the answers as soon as they are there. @param {{afresh?: boolean}} [how] */
async function show({ afresh = false } = {}) {
  const step = chosenStep(snapshots, view.step);
  if (step === null) return;
  shown = step;
  drawStep();
  const position = list.listing.facts === null ? address.position : null;
  await list.show(view, { run: snapshots[0].run, step }, { afresh, position });
}

/** The snapshots of the run; what is on screen stays unless the newest is being followed. @param {{afresh?: boolean}} [how] */
async function loadList({ afresh = false } = {}) {
  try {
    const before = snapshots.map((one) => `${one.run} ${one.step} ${one.timestamp}`).join();
    ({ snapshots: taken, skipped } = await get(`${path}/snapshots${query({ run: view.run })}`));
    snapshots = askedAlike(taken);
    const isNews = before !== snapshots.map((one) => `${one.run} ${one.step} ${one.timestamp}`).join();
    find("#content", HTMLElement).hidden = false;
    find("#nothing", HTMLElement).hidden = true;
    timeline.show(snapshots);
    curve?.show(snapshots);
    void shownRun.know(snapshots[0].run).then(drawNumbers);
    warnOfAnotherStep();
    announce();
    // rows of which a new snapshot changes which they are, or in which order, stay until they are asked for
    const mayMove = view.step !== "latest" && (view.category !== "" || !isLasting(view.sort));
    await show({ afresh: afresh && isNews && !mayMove });
  } catch (error) {
    showError(error);
  }
}

function drawControls() {
  pressFilter(view.filter);
  chips.press(view.category);
  follow.setAttribute("aria-pressed", String(view.step === "latest"));
  find("#sort", HTMLSelectElement).value = view.sort;
  find("#group", HTMLSelectElement).value = view.group;
  const field = find("#search", HTMLInputElement);
  if (document.activeElement !== field) field.value = view.q;
}

function drawStep() {
  if (shown === null) return;
  const snapshot = snapshots.find((one) => one.step === shown);
  setText(find("#snapshot-step"), formatCount(shown));
  setText(find("#snapshot-words"), spoken(snapshot).split(", ")[1] ?? "");
  timeline.mark(shown);
  curve?.mark(shown);
  find("#previous", HTMLButtonElement).disabled = snapshots[0].step === shown;
  find("#next", HTMLButtonElement).disabled = snapshots.at(-1).step === shown;
  if (shown === snapshots.at(-1).step) note.hidden = true;
  drawNumbers();
}

const drawNumbers = oncePerFrame(() => {
  if (shown === null) return;
  drawMeasures(find("#measures", HTMLElement), snapshots, shown, shownRun.latest);
  drawCapture(find("#capture", HTMLElement), { snapshots, taken, step: shown, skipped, attempts: shownRun.attempts, now: live.now() });
});

/** What is true of all rows. @param {import("./evolution/listing.js").ExamplePage} facts */
function drawFacts({ total, counts, groups, task }) {
  chips.count(counts);
  drawOrders(task);
  drawGroups(groups);
  const all = snapshots.at(-1)?.summary.total_examples ?? total;
  setText(find("#shown"), formatShown(total, all));
  find("#no-match", HTMLElement).hidden = total > 0;
}

/** The orders there are depend on what the examples are of. @param {string} task */
function drawOrders(task) {
  const choice = find("#sort", HTMLSelectElement);
  if (choice.dataset.task === task) return;
  choice.dataset.task = task;
  const groups = ordersOf(task);
  const option = (/** @type {string[]} */ [value, word]) => h("option", { value, text: word });
  const isOther = !groups.some(({ orders }) => orders.some(([value]) => value === view.sort)); // of an address somebody made
  fill(choice, groups.map(({ word, orders }) => h("optgroup", { label: word }, orders.map(option))), isOther ? option([view.sort, view.sort]) : null);
  choice.value = view.sort;
}

/** @param {{name: string, count: number}[]} groups */
function drawGroups(groups) {
  const choice = find("#group", HTMLSelectElement);
  const known = groups.map(({ name, count }) => `${name} ${count}`).join("\n");
  find("#group-label", HTMLElement).hidden = groups.length < 2 && view.group === "";
  if (choice.dataset.known === known) return;
  choice.dataset.known = known;
  const isOther = view.group !== "" && !groups.some(({ name }) => name === view.group);
  fill(
    choice,
    h("option", { value: "", text: "All groups" }),
    groups.map(({ name, count }) => h("option", { value: name, text: `${name} (${formatCount(count)})` })),
    isOther ? h("option", { value: view.group, text: view.group }) : null,
  );
  choice.value = view.group;
}

/** @type {number | null} newest step the reader has been told of */
let announced = null;

function announce() {
  const newest = snapshots.at(-1).step;
  if (announced !== null && newest > announced && view.step !== "latest") {
    const button = h("button", { type: "button", class: "button button-small", text: "Show it", onclick: () => showNewest(newest) });
    fill(note, `New: step ${formatCount(newest)} `, button);
    note.hidden = false;
  }
  announced = Math.max(announced ?? 0, newest);
}

/** @param {number} step */
function showNewest(step) {
  playing.pause();
  view = { ...view, step: String(step) };
  address.say(view, "step");
  drawControls();
  void show({ afresh: true });
}

function warnOfAnotherStep() {
  if (shown !== null || !/^\d+$/.test(view.step) || snapshots.some((one) => String(one.step) === view.step)) return;
  const nearest = chosenStep(snapshots, view.step);
  toast(`There is no snapshot at step ${formatCount(Number(view.step))}; the nearest is shown.`, { tone: "bad" });
  view = { ...view, step: String(nearest) };
}

/** @param {any} error */
function showError(error) {
  if (error?.status !== 404) {
    toastError(error);
    return;
  }
  find("#content", HTMLElement).hidden = true;
  find("#nothing", HTMLElement).hidden = false;
  setText(find("#nothing-title"), error.message);
  setText(find("#nothing-hint"), error.hint ?? "");
}

async function playNext() {
  if (shown === null || shown === snapshots.at(-1).step) return false;
  const steps = snapshots.map((one) => one.step);
  const next = neighbourStep(steps, shown, 1);
  await change({ step: String(next) }, "step");
  list.prefetch(neighbourStep(steps, next, 1));
  return next !== steps.at(-1);
}

function togglePlay() {
  if (playing.speed > 0) {
    playing.pause();
    return;
  }
  if (shown === snapshots.at(-1)?.step) void change({ step: String(snapshots[0].step) }, "step"); // from the beginning
  playing.play(Number(speed.value));
}

playing.onChange = (rate) => {
  const button = find("#play", HTMLButtonElement);
  const word = rate > 0 ? "Pause" : "Play";
  fill(button, icon(rate > 0 ? "pause" : "play"));
  button.setAttribute("aria-label", word);
  button.title = `${word} (space)`;
  view = { ...view, play: rate };
  address.say(view, "step");
};

fill(speed, SPEEDS.map((rate) => h("option", { value: String(rate), text: `${rate === 0.5 ? "½" : rate}×` })));
speed.value = String(view.play || 1);
speed.addEventListener("change", () => playing.speed > 0 && playing.play(Number(speed.value)));
find("#play").addEventListener("click", togglePlay);

const move = (/** @type {number} */ by) => shown !== null && goTo(neighbourStep(snapshots.map((one) => one.step), shown, by));
find("#previous").addEventListener("click", () => move(-1));
find("#next").addEventListener("click", () => move(1));
follow.addEventListener("click", () => {
  playing.pause();
  void change({ step: view.step === "latest" && shown !== null ? String(shown) : "latest" });
});
find("#sort").addEventListener("change", (event) => void change({ sort: /** @type {HTMLSelectElement} */ (event.target).value }));
find("#group").addEventListener("change", (event) => void change({ group: /** @type {HTMLSelectElement} */ (event.target).value }));
const search = find("#search", HTMLInputElement);
search.addEventListener("input", debounce(() => void change({ q: search.value.trim() }, "search"), 200));
find("#show-all").addEventListener("click", () => {
  search.value = "";
  void change({ filter: "all", category: "", group: "", q: "" });
});
shownRun.onChoose = (run) => {
  playing.pause();
  [shown, announced] = [null, null];
  view = { ...view, run, step: "latest" };
  address.say(view);
  drawControls();
  void loadList({ afresh: true });
};

addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.altKey || event.ctrlKey || event.metaKey || target.closest?.("input, select, textarea")) return;
  const isOnSlider = target.closest?.("#timeline");
  const by = { ArrowLeft: -1, ArrowRight: 1, Home: -snapshots.length, End: snapshots.length }[event.key];
  const onSlider = isOnSlider ? { ArrowDown: -1, ArrowUp: 1, PageDown: -5, PageUp: 5 }[event.key] : undefined;
  if (by !== undefined || onSlider !== undefined) move(by ?? onSlider ?? 0);
  else if (event.key === " " && !target.closest?.("button, a, summary")) togglePlay();
  else if (event.key === "j" || event.key === "k") list.enter();
  else return;
  event.preventDefault();
});
addEventListener("pagehide", () => address.keep(list.rows.position));
live.on("snapshot", (message) => {
  if (message.dataset !== dataset) return;
  if (message.run === (view.run ?? snapshots[0]?.run)) void loadList({ afresh: true });
  void shownRun.load();
});
live.watch(`evolution:${dataset}`, () => void loadList({ afresh: announced !== null }));
everySecond(drawNumbersOften());

/** The share of the run's time changes while it runs: written anew every ten seconds. */
function drawNumbersOften() {
  let seconds = 0;
  return () => {
    seconds += 1;
    if (seconds % 10 === 0) drawNumbers();
  };
}

drawControls();
void loadList().then(() => {
  void drawCurve();
  if (view.play > 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches) playing.play(view.play);
});
void shownRun.load();

/** After the first rows: reading the charts' library holds everything else up. */
async function drawCurve() {
  try {
    const plotly = await loadPlotly(pageJson("plotly-json"));
    curve = new Curve(find("#curve", HTMLElement), plotly, pageJson("charts-json")[0], (step) => goTo(step));
    curve.show(snapshots);
    if (shown !== null) curve.mark(shown);
  } catch (error) {
    toastError(error);
  }
}
