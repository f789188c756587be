// @ts-check
import { get, query } from "../lib/api.js";
import { fill, find, h, pageJson, setText } from "../lib/dom.js";
import { formatCount, formatPercent } from "../lib/format.js";
import { readMapAddress, writeMapAddress } from "../lib/map_address.js";
import { classesOf, colouringsOf, foundPoint } from "../lib/map_classes.js";
import { keptSigns, mirrored, placesOf } from "../lib/map_geometry.js";
import { apiPath, examplePath, fillRuns, runsOf } from "../lib/run_choice.js";
import { openShell, segments, toastError } from "../lib/shell.js";
import { Cloud } from "./evolution_map/cloud.js";
import { Frames } from "./evolution_map/frames.js";
import { Panel } from "./evolution_map/panel.js";
import { Player } from "./evolution_map/player.js";

const NUM_NEIGHBOURS = 10;
const COLOURINGS = { label: "Label", group: "Group", correct: "Right or wrong", none: "One colour" };

/** @type {string} */
const dataset = pageJson("dataset-json");
const path = apiPath(dataset);
const live = openShell();
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let view = readMapAddress(location.search);
const frames = new Frames(`${path}/map`);
/** @type {import("./evolution_map/frames.js").Frame | null} the frame on screen */
let shown = null;
/** @type {Float32Array | null} where its points are */
let places = null;
/** @type {[number, number]} */
let signs = [1, 1];
let asked = 0;
let chosen = -1;
/** @type {Set<number>} classes that the reader has put aside */
const aside = new Set();

const cloud = new Cloud(find("#map-plot", HTMLElement), { choose: (index) => choose(index), describe });
const player = new Player(
  { slider: find("#map-slider", HTMLInputElement), play: find("#map-play", HTMLButtonElement), previous: find("#previous", HTMLButtonElement), next: find("#next", HTMLButtonElement), word: find("#map-step", HTMLElement) },
  (step) => goTo(step),
);
const panel = new Panel(find("#map-panel", HTMLElement), {
  choose: (id) => choose(frames.points.findIndex((point) => point.example_id === id)),
  close: () => choose(-1),
  address: (id) => examplePath(dataset, id, { run: view.run, step: shown?.step }),
});
const colouring = find("#map-colour", HTMLElement);
const pressColour = segments(colouring, "colour", (colour) => {
  aside.clear();
  change({ colour: /** @type {any} */ (colour) });
  recolour();
});

/** @param {Partial<import("../lib/map_address.js").MapAddress>} part */
function change(part) {
  view = { ...view, ...part };
  history.replaceState(null, "", location.pathname + writeMapAddress(view));
}

/** Fetch everything anew; the view stays where it is. */
async function load() {
  const mine = ++asked;
  try {
    const before = shown === null ? null : places;
    const frame = await frames.open(view.run ?? (shown === null ? null : frames.facts.run), view.step);
    if (mine !== asked) return;
    find("#content", HTMLElement).hidden = false;
    find("#nothing", HTMLElement).hidden = true;
    const unmirrored = placesOf(frame, [1, 1]);
    signs = before !== null && before.length === unmirrored.length ? keptSigns(before, unmirrored) : [1, 1];
    cloud.bound(mirrored(frames.facts.bounds, signs));
    drawColourings();
    await draw(frame);
    chooseFromAddress();
  } catch (error) {
    if (mine === asked) showTrouble(/** @type {any} */ (error));
  }
}

/** @param {any} error */
function showTrouble(error) {
  if (error.code === "no_vectors" && view.step !== "latest") {
    change({ step: "latest" }); // this step has no place on the map, others may
    toastError(error);
    void load();
    return;
  }
  if (error.status !== 404 || shown !== null) return toastError(error);
  find("#content", HTMLElement).hidden = true;
  find("#nothing", HTMLElement).hidden = false;
  setText(find("#nothing-title"), error.message);
  setText(find("#nothing-hint"), error.hint ?? "");
}

/** @param {number} step */
async function goTo(step) {
  if (shown?.step === step) return;
  const mine = ++asked;
  const isNewest = step === frames.steps.at(-1);
  try {
    const frame = await frames.at(step);
    if (mine !== asked) return;
    change({ step: isNewest ? "latest" : String(step) });
    if (frame === null) await load();
    else await draw(frame);
  } catch (error) {
    if (mine === asked) toastError(error);
  }
}

/** @param {import("./evolution_map/frames.js").Frame} frame @returns {Promise<void>} when its points are there */
async function draw(frame) {
  const isFirst = shown === null;
  shown = frame;
  places = placesOf(frame, signs);
  player.show(frames.steps, frame.step);
  drawWords(frame);
  const { classOf, classes } = classesOf(frames.points, frame.correct, colour());
  const arrived = cloud.show(places, classOf, { moves: !isFirst && !calm.matches });
  drawLegend(classes);
  frames.prepare(player.following);
  void showChosen();
  find("#map-plot", HTMLElement).dataset.step = String(frame.step);
  if (frame.step === frames.steps.at(-1)) find("#new-snapshot", HTMLElement).hidden = true;
  await arrived;
}

/** @param {import("./evolution_map/frames.js").Frame} frame */
function drawWords({ step, disparity, correct }) {
  const held = frames.facts.explained[0] + frames.facts.explained[1];
  const right = correct.reduce((sum, one) => sum + one, 0);
  setText(find("#map-says"), `${formatCount(correct.length)} examples, placed by what the model makes of them: near means alike. The two axes hold ${formatPercent(held, 0)} of all differences. Each step is turned onto the one before, so what moves has changed.`);
  const before = frames.steps[frames.steps.indexOf(step) - 1];
  const much = disparity !== null && disparity < 0.001 ? "less than 0.1 %" : formatPercent(disparity ?? 0);
  const moved = disparity === null || before === undefined ? "" : ` · ${much} of the arrangement differs from step ${formatCount(before)}`;
  setText(find("#map-now"), `${formatPercent(right / Math.max(1, correct.length), 0)} right${moved}`);
  find("#map-plot", HTMLElement).setAttribute("aria-label", `Map of ${formatCount(correct.length)} examples at step ${formatCount(step)}, ${formatCount(right)} of them right`);
}

/** The colouring meant: the one of the address where it suits, else the first that does. */
function colour() {
  const suiting = colouringsOf(frames.points);
  return view.colour !== null && suiting.includes(view.colour) ? view.colour : suiting[0];
}

function drawColourings() {
  for (const button of colouring.querySelectorAll("button")) button.hidden = !colouringsOf(frames.points).includes(/** @type {any} */ (button.dataset.colour));
  pressColour(colour());
}

function recolour() {
  if (shown === null || places === null) return;
  pressColour(colour());
  const { classOf, classes } = classesOf(frames.points, shown.correct, colour());
  void cloud.show(places, classOf, { moves: false });
  drawLegend(classes);
}

/** @param {import("../lib/map_classes.js").Class[]} classes */
function drawLegend(classes) {
  cloud.colour(classes, aside);
  const legend = find("#map-legend", HTMLElement);
  const focused = legend.contains(document.activeElement) ? [...legend.querySelectorAll("button")].indexOf(/** @type {any} */ (document.activeElement)) : -1;
  fill(
    legend,
    classes.map(({ name, count, token }, index) => {
      const swatch = h("span", { class: "map-swatch", "aria-hidden": "true" });
      swatch.style.setProperty("--swatch", `var(${token})`);
      const press = () => {
        if (!aside.delete(index)) aside.add(index);
        drawLegend(classes);
      };
      return h("li", {}, h("button", { type: "button", "aria-pressed": String(!aside.has(index)), title: aside.has(index) ? "Show" : "Put aside", onclick: press }, swatch, h("span", { class: "map-class", text: name }), h("span", { class: "num muted", text: formatCount(count) })));
    }),
  );
  if (focused >= 0) legend.querySelectorAll("button")[focused]?.focus();
}

/** @param {number} index @returns {Node[]} */
function describe(index) {
  const point = frames.points[index];
  const right = shown?.correct[index] === 1;
  return [
    h("strong", { text: point.text || point.example_id }),
    h("span", { class: "muted small", text: [point.label ?? point.group, right ? "right" : "wrong", point.example_id].filter(Boolean).join(" · ") }),
  ];
}

/** @param {number} index */
function choose(index) {
  chosen = index;
  change({ example: index < 0 ? null : frames.points[index].example_id });
  void showChosen();
}

function chooseFromAddress() {
  if (view.example === null) return panel.rest();
  const index = frames.points.findIndex((point) => point.example_id === view.example);
  const isShown = index >= 0 && index === chosen;
  chosen = index;
  if (index >= 0) return isShown ? undefined : void showChosen();
  return panel.fail({ message: "There is no such example.", hint: `None of these has the id ${view.example}.` });
}

let askedNear = 0;

/** The neighbours of the chosen example at the step on screen. */
async function showChosen() {
  const mine = ++askedNear;
  if (chosen < 0 || shown === null) {
    cloud.mark(-1, []);
    if (view.example === null) panel.rest();
    return;
  }
  cloud.mark(chosen, []);
  const [index, step] = [chosen, shown.step];
  const id = frames.points[index].example_id;
  try {
    const near = await get(`${path}/snapshot/${step}/neighbors${query({ run: frames.facts.run, example: id, k: NUM_NEIGHBOURS })}`);
    if (mine !== askedNear) return;
    cloud.mark(index, near.neighbors.map((/** @type {any} */ one) => one.index));
    panel.show(near);
  } catch (error) {
    if (mine === askedNear) panel.fail(error);
  }
}

async function loadRuns() {
  fillRuns(find("#run-choice", HTMLSelectElement), await runsOf(dataset), view.run);
}

/** A new snapshot: it is shown when the newest is being followed, else only told of. */
async function hear(/** @type {any} */ message) {
  void loadRuns().catch(() => {});
  if (shown !== null && message.run !== frames.facts.run) return; // a newer run is for the reader to choose
  if (shown !== null && view.step !== "latest" && message.step > shown.step) {
    const note = find("#new-snapshot", HTMLElement);
    fill(note, `A new snapshot was taken at step ${formatCount(message.step)}. `, h("button", { type: "button", class: "button button-small", text: "Show it", onclick: () => goTo(message.step) }));
    note.hidden = false;
  }
  if (!player.isPlaying) await load();
}

find("#run-choice", HTMLSelectElement).addEventListener("change", (event) => {
  player.stop();
  [shown, places, chosen] = [null, null, -1];
  aside.clear();
  change({ run: /** @type {HTMLSelectElement} */ (event.target).value, step: "latest" });
  void load().then(() => cloud.reset());
});
find("#map-find", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const field = find("#map-sought", HTMLInputElement);
  const index = foundPoint(frames.points, field.value);
  field.setCustomValidity(index < 0 && field.value.trim() !== "" ? "No example has this in its id or the beginning of its text." : "");
  if (!field.reportValidity() || index < 0) return;
  choose(index);
});
find("#map-sought").addEventListener("input", (event) => /** @type {HTMLInputElement} */ (event.target).setCustomValidity(""));
find("#map-closer").addEventListener("click", () => cloud.zoom(1.5));
find("#map-farther").addEventListener("click", () => cloud.zoom(1 / 1.5));
find("#map-all").addEventListener("click", () => cloud.reset());
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && chosen >= 0) choose(-1);
});
addEventListener("popstate", () => {
  view = readMapAddress(location.search);
  void load();
});
live.on("snapshot", (message) => {
  if (message.dataset === dataset) void hear(message);
});
let isWatched = false;
live.watch(`evolution:${dataset}`, () => {
  if (isWatched) void load(); // the link was broken meanwhile
  isWatched = true;
});
panel.rest();
void load();
void loadRuns().catch(toastError);
