// @ts-check
import { get, query } from "../lib/api.js";
import { fill, find, h, oncePerFrame, pageJson, setText } from "../lib/dom.js";
import { formatCount, formatNumber } from "../lib/format.js";
import { apiPath, carryRun, examplePath, fillRuns, runsOf } from "../lib/run_choice.js";
import { openShell, toastError } from "../lib/shell.js";
import { onThemeChange } from "../lib/theme.js";
import { stepBars } from "./dynamics/bars.js";
import { ceiling, draw, nearest, place } from "./dynamics/field.js";
import { CATEGORIES, LISTS } from "./dynamics/words.js";

/** @type {string} */
const dataset = pageJson("dataset-json");
const path = apiPath(dataset);
const live = openShell();
let run = new URLSearchParams(location.search).get("run");
/** @type {any} */
let found = null;
/** @type {import("./dynamics/field.js").Point[]} */
let points = [];
/** @type {import("./dynamics/field.js").Point | null} */
let pointed = null;
/** @type {Set<string>} categories not shown */
const hidden = new Set();
let asked = 0;
const canvas = find("#field", HTMLCanvasElement);
const hint = find("#field-hint", HTMLElement);
const runChoice = find("#run-choice", HTMLSelectElement);

async function load() {
  const mine = ++asked;
  try {
    const answer = await get(`${path}/dynamics${query({ run })}`);
    if (mine !== asked) return;
    found = answer;
    find("#nothing", HTMLElement).hidden = true;
    find("#content", HTMLElement).hidden = false;
    drawAll();
  } catch (error) {
    if (mine === asked) showNothing(/** @type {any} */ (error));
  }
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

function drawAll() {
  carryRun(run);
  drawLegend();
  drawField();
  fill(find("#bars"), stepBars(found.by_step));
  const { steps } = found;
  setText(find("#bars-from"), `step ${formatCount(steps[0])}`);
  setText(find("#bars-to"), `step ${formatCount(steps.at(-1))}`);
  const byId = new Map(found.examples.map((/** @type {any} */ one) => [one.example_id, one]));
  fill(find("#lists"), LISTS.map(([field, title, what, tell]) => standing(field, title, what, found[field].map((/** @type {string} */ id) => byId.get(id)), tell)));
}

function drawLegend() {
  const counts = new Map();
  for (const { category } of found.examples) counts.set(category, (counts.get(category) ?? 0) + 1);
  fill(find("#legend"), CATEGORIES.map(([name, word, color, what]) => {
    const dot = h("span", { class: "legend-dot", "aria-hidden": "true" });
    dot.style.setProperty("--dot", `var(${color})`);
    const pressed = !hidden.has(name);
    return h("button", { type: "button", class: "chip legend-chip", title: `${word}: ${what}`, "aria-pressed": String(pressed), dataset: { testid: `category-${name}` }, onclick: () => toggle(name) }, dot, `${word} `, h("strong", { class: "num", text: formatCount(counts.get(name) ?? 0) }));
  }));
}

/** @param {string} name */
function toggle(name) {
  if (!hidden.delete(name)) hidden.add(name);
  drawLegend();
  find(`[data-testid="category-${name}"]`, HTMLElement).focus();
  drawField();
}

function drawField() {
  const colors = new Map(CATEGORIES.map(([name, , color]) => [name, color]));
  const shown = found.examples.filter((/** @type {any} */ one) => one.confidence !== null && !hidden.has(one.category));
  points = shown.map((/** @type {any} */ one) => ({ x: one.variability, y: one.confidence, color: colors.get(one.category) ?? "--chart-muted", index: one.index }));
  const unknown = found.examples.filter((/** @type {any} */ one) => one.confidence === null).length;
  setText(find("#field-note"), unknown > 0 ? `${formatCount(unknown)} examples have no loss and are not on the map.` : "");
  canvas.setAttribute("aria-label", `${formatCount(points.length)} examples by confidence and variability; the lists below name those that stand out`);
  canvas.dataset.points = String(points.length);
  paint();
}

/** @returns {import("./dynamics/field.js").Frame} */
function frame() {
  const { width, height } = canvas.getBoundingClientRect();
  const widest = Math.max(0, ...found.examples.map((/** @type {any} */ one) => one.variability ?? 0));
  return { width, height, maxX: ceiling(widest), maxY: 1 };
}

const paint = oncePerFrame(() => {
  if (found !== null) draw(canvas, frame(), points, pointed, { x: "variability", y: "confidence" });
});

/** @param {MouseEvent} event */
function pointAt(event) {
  if (found === null) return null;
  const box = canvas.getBoundingClientRect();
  return nearest(frame(), points, event.clientX - box.left, event.clientY - box.top);
}

/** @param {import("./dynamics/field.js").Point | null} point */
function tell(point) {
  if (point?.index === pointed?.index) return;
  pointed = point;
  hint.hidden = point === null;
  canvas.classList.toggle("is-on-point", point !== null);
  paint();
  if (point === null) return;
  const one = found.examples[point.index];
  const at = place(frame(), point);
  const word = CATEGORIES.find(([name]) => name === one.category)?.[1];
  fill(hint, h("strong", { text: one.label || one.example_id }), h("span", { class: "muted num", text: `${word}, confidence ${formatNumber(one.confidence, 3)}, variability ${formatNumber(one.variability, 3)}` }));
  hint.style.setProperty("--left", `${Math.min(at.left, canvas.clientWidth - 40)}px`);
  hint.style.setProperty("--top", `${at.top}px`);
  hint.dataset.side = at.left > canvas.clientWidth / 2 ? "left" : "right";
}

/** @param {string} field @param {string} title @param {string} what @param {any[]} examples @param {(example: any) => string} tell */
function standing(field, title, what, examples, tell) {
  const rows = examples.map((one) => h("li", {}, h("a", { href: examplePath(dataset, one.example_id, { run }), text: one.label || one.example_id }), h("span", { class: "muted small num", text: tell(one) })));
  return h(
    "section",
    { class: "card standing", dataset: { testid: `list-${field}` } },
    h("h2", { text: title }),
    h("p", { class: "muted small", text: what }),
    rows.length > 0 ? h("ol", {}, rows) : h("p", { class: "muted", text: "None so far." }),
  );
}

canvas.addEventListener("pointermove", (event) => tell(pointAt(event)));
canvas.addEventListener("pointerleave", () => tell(null));
canvas.addEventListener("click", (event) => {
  const point = pointAt(event);
  if (point !== null) location.assign(examplePath(dataset, found.examples[point.index].example_id, { run }));
});
new ResizeObserver(paint).observe(canvas);
onThemeChange(paint);
runChoice.addEventListener("change", () => {
  run = runChoice.value;
  history.replaceState(null, "", location.pathname + query({ run }));
  void load();
});
const loadRuns = () => runsOf(dataset).then((runs) => fillRuns(runChoice, runs, run));
live.on("snapshot", (message) => {
  if (message.dataset !== dataset) return;
  if (!run || message.run === run) void load();
  void loadRuns().catch(() => {});
});
live.watch(`evolution:${dataset}`, () => void load());
carryRun(run);
void load();
void loadRuns().catch(toastError);
