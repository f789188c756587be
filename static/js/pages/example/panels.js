// @ts-check
/** What there is to see of an example beside its curves: one panel per kind of task. */
import { fill, h } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";
import { BumpChart, bumpLegend } from "./bump_chart.js";
import { diffView } from "../../lib/diff_view.js";
import { hitsList, hitsTable } from "./hits_list.js";
import { longText } from "../../lib/long_text.js";
import { Ribbon, saidTable } from "./ribbon.js";
import { TokenHeat } from "./token_heat.js";

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {{elements: HTMLElement[], show: (points: Point[]) => void, mark: (points: Point[], index: number) => void}} Panel
 * @typedef {{choose: (index: number) => void, runPage: () => string}} Page
 */

/** @param {import("./reading.js").Task} task @param {Page} page @returns {Panel} */
export function panelOf(task, page) {
  if (task === "retrieval") return retrievalPanel(page);
  if (task === "classification") return classificationPanel(page);
  if (task === "language") return together([writtenPanel(), heatPanel()]);
  return writtenPanel();
}

/** @param {Page} page @returns {Panel} */
function retrievalPanel({ choose }) {
  /** @type {Point[]} */
  let shown = [];
  const light = (/** @type {string | null} */ id) => chart.light(id);
  const chart = new BumpChart({ choose, light });
  const title = h("h3", { class: "num" });
  const list = h("div");
  const table = hitsTable(() => shown);
  const body = h("div", { class: "panel-pair" }, h("div", { class: "panel-main" }, chart.element, bumpLegend()), h("div", {}, title, list));
  return {
    elements: [panel("The first documents over the snapshots", null, body, table.element)],
    show(points) {
      shown = points;
      chart.show(points);
      table.draw();
    },
    mark(points, index) {
      chart.mark(index);
      title.textContent = `Found at step ${formatCount(points[index].step)}`;
      refill(list, hitsList(points, index, light));
    },
  };
}

/** @param {Page} page @returns {Panel} */
function classificationPanel({ choose, runPage }) {
  const ribbon = new Ribbon({ choose });
  const title = h("h3", { class: "num" });
  const said = h("div", { class: "table-scroll" });
  const link = h("a", { class: "small", text: "What the whole run mixes up" });
  const body = h("div", { class: "panel-pair" }, h("div", { class: "panel-main" }, ribbon.element), h("div", {}, title, ribbon.legend));
  return {
    elements: [panel("Probability of every label", null, body), panel("What it took the example for", h("span", { class: "end" }, link), said)],
    show(points) {
      ribbon.show(points);
      fill(said, saidTable(points));
      link.href = runPage();
    },
    mark(points, index) {
      title.textContent = `At step ${formatCount(points[index].step)}`;
      const place = focusedRow(ribbon.legend);
      ribbon.mark(points, index);
      focusRow(ribbon.legend, place);
    },
  };
}

/** What a model wrote at the chosen snapshot, against what it had written at the one before. @returns {Panel} */
function writtenPanel() {
  const title = h("h2", { class: "num" });
  const note = h("span", { class: "small muted end" });
  const body = h("div", { class: "card-body", dataset: { testid: "written" } });
  return {
    elements: [h("section", { class: "card" }, h("div", { class: "card-head" }, title, note), body)],
    show() {},
    mark(points, index) {
      const { text, step, isCut } = points[index];
      const before = points[index - 1] ?? null;
      title.textContent = `What it answered at step ${formatCount(step)}`;
      note.textContent = before === null ? "first snapshot" : before.text === text ? `the same as at step ${formatCount(before.step)}` : `changes since step ${formatCount(before.step)}`;
      const shown = text === "" ? h("p", { class: "muted", text: "(nothing)" }) : before === null || before.text === text ? longText(text) : diffView(before.text, text);
      fill(body, shown, isCut ? h("p", { class: "small muted", text: "Cut off: it would have gone on." }) : null);
    },
  };
}

/** @returns {Panel} */
function heatPanel() {
  const heat = new TokenHeat();
  return {
    elements: [panel("How probable the expected text was", heat.choice, heat.element)],
    show() {},
    mark: (points, index) => heat.mark(points, index),
  };
}

/** @param {Panel[]} panels @returns {Panel} */
function together(panels) {
  return {
    elements: panels.flatMap((one) => one.elements),
    show: (points) => panels.forEach((one) => one.show(points)),
    mark: (points, index) => panels.forEach((one) => one.mark(points, index)),
  };
}

/** @param {string} title @param {HTMLElement | null} end @param {...HTMLElement} body */
function panel(title, end, ...body) {
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", { text: title }), end), h("div", { class: "card-body" }, body));
}

/** Fill a list anew without taking the focus from its row. @param {HTMLElement} list @param {(HTMLElement | null)[]} parts */
function refill(list, parts) {
  const place = focusedRow(list);
  fill(list, parts);
  focusRow(list, place);
}

/** @param {HTMLElement} list */
function focusedRow(list) {
  return [...list.querySelectorAll("[tabindex]")].indexOf(/** @type {Element} */ (document.activeElement));
}

/** @param {HTMLElement} list @param {number} place */
function focusRow(list, place) {
  if (place >= 0) /** @type {HTMLElement | undefined} */ ([...list.querySelectorAll("[tabindex]")][place])?.focus({ preventScroll: true });
}
