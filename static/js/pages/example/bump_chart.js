// @ts-check
import { h, svg } from "../../lib/dom.js";
import { formatCount, formatNumber } from "../../lib/format.js";
import { bumpLines } from "./bump_lines.js";
import { StepChart } from "./step_chart.js";
import { visible } from "../../lib/long_text.js";

const ROOM_FOR_ENDS = 9;
const TITLE_LENGTH = 90;

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {import("./bump_lines.js").Spot} Spot
 * @typedef {import("./step_chart.js").Place} Place
 */

/** The first documents over the snapshots, a line each; circles where one enters, crosses where one leaves. */
export class BumpChart {
  /** @type {Map<string, SVGElement>} */
  #groups = new Map();
  /** @type {Point[]} */
  #points = [];
  #depth = 0;
  #lit = "";

  /** @param {{choose: (index: number) => void, light: (id: string | null) => void}} options */
  constructor({ choose, light }) {
    this.chart = new StepChart({
      height: 330,
      testid: "bump-chart",
      choose,
      point: (index, value) => light(index === null ? null : this.#hitAt(index, value)?.id ?? null),
    });
    this.element = this.chart.element;
  }

  /** @param {Point[]} points */
  show(points) {
    this.#points = points;
    const { lines, depth, hasBelow } = bumpLines(points);
    this.#depth = hasBelow ? depth + 1 : depth;
    const rows = Math.max(1, this.#depth);
    const ticks = Array.from({ length: rows }, (_, index) => ({ value: index + 1, label: index === depth ? "later" : String(index + 1) }));
    this.chart.show({
      steps: points.map((one) => one.step),
      scale: { at: (place) => 1 - (place - 0.5) / rows, ticks },
      label: summary(points, depth),
      paint: (place) => {
        this.#groups = new Map(lines.map((line) => [line.id, lineOf(line, place, points.length)]));
        queueMicrotask(() => this.light(this.#lit || null));
        return [...this.#groups.values()];
      },
      words: (index, value) => this.#wordsAt(index, value),
    });
  }

  /** @param {number} index */
  mark(index) {
    this.chart.mark(index);
  }

  /** Draw one document's line strongly. @param {string | null} id */
  light(id) {
    if (this.#lit) this.#groups.get(this.#lit)?.classList.remove("is-lit");
    this.#lit = id ?? "";
    this.chart.element.classList.toggle("has-lit", id !== null && this.#groups.has(id));
    if (id !== null) this.#groups.get(id)?.classList.add("is-lit");
  }

  /** @param {number} index @param {number} value */
  #placeAt(index, value) {
    return Math.min(this.#depth, Math.floor((1 - value) * this.#depth) + 1);
  }

  /** @param {number} index @param {number} value */
  #hitAt(index, value) {
    const place = this.#placeAt(index, value);
    return this.#points[index].top?.[place - 1] ?? null;
  }

  /** @param {number} index @param {number} value */
  #wordsAt(index, value) {
    const { step, rank } = this.#points[index];
    const hit = this.#hitAt(index, value);
    if (!hit) return `Step ${formatCount(step)}${rank === null ? "" : ` · the right document is at rank ${formatCount(rank)}`}`;
    const title = visible(hit.title.length > TITLE_LENGTH ? `${hit.title.slice(0, TITLE_LENGTH)}…` : hit.title);
    return `${title} · ${hit.gold ? "right · " : ""}place ${this.#placeAt(index, value)} at step ${formatCount(step)}${hit.score === null ? "" : ` · score ${formatNumber(hit.score, 3)}`}`;
  }
}

/** @param {import("./bump_lines.js").BumpLine} line @param {Place} place @param {number} count */
function lineOf({ gold, stretches }, place, count) {
  const group = svg("g", { class: gold ? "bump is-gold" : "bump" });
  for (const stretch of stretches) {
    const [first, last] = [stretch[0], stretch[stretch.length - 1]];
    if (first === last && count > 1) {
      group.append(svg("circle", { class: "bump-once", cx: place.x(first.index), cy: place.y(first.place), r: 2.4 }));
      continue;
    }
    group.append(svg("path", { class: "bump-line", d: bend(stretch, place) }));
    if (place.gap < ROOM_FOR_ENDS) continue;
    if (first.index > 0) group.append(svg("circle", { class: "bump-enters", cx: place.x(first.index), cy: place.y(first.place), r: 3.2 }));
    if (last.index < count - 1) group.append(cross(place.x(last.index), place.y(last.place)));
  }
  return group;
}

/** Curves that leave and reach every snapshot level; alone, a short dash. @param {Spot[]} stretch @param {Place} place */
function bend(stretch, place) {
  const [first] = stretch;
  if (stretch.length === 1) return `M${(place.x(first.index) - 3).toFixed(1)} ${place.y(first.place).toFixed(1)}h6`;
  let path = `M${place.x(first.index).toFixed(1)} ${place.y(first.place).toFixed(1)}`;
  for (const [number, spot] of stretch.entries()) {
    if (number === 0) continue;
    const before = stretch[number - 1];
    const middle = ((place.x(before.index) + place.x(spot.index)) / 2).toFixed(1);
    path += `C${middle} ${place.y(before.place).toFixed(1)} ${middle} ${place.y(spot.place).toFixed(1)} ${place.x(spot.index).toFixed(1)} ${place.y(spot.place).toFixed(1)}`;
  }
  return path;
}

/** @param {number} x @param {number} y */
function cross(x, y) {
  return svg("path", { class: "bump-leaves", d: `M${x - 2.6} ${y - 2.6}l5.2 5.2M${x - 2.6} ${y + 2.6}l5.2 -5.2` });
}

/** @param {Point[]} points @param {number} depth */
function summary(points, depth) {
  const told = (/** @type {Point} */ { rank, step }) => `${rank === null ? "not found" : `rank ${formatCount(rank)}`} at step ${formatCount(step)}`;
  return `The first ${depth} documents at each snapshot. The right document: ${told(points[0])}, ${told(points[points.length - 1])}. The table below says the same in words.`;
}

/** What the signs of the chart mean. */
export function bumpLegend() {
  const sign = (/** @type {string} */ kind, /** @type {SVGElement} */ ...parts) => svg("svg", { class: "bump-sign", viewBox: "0 0 18 12", "aria-hidden": "true" }, svg("g", { class: `bump ${kind}` }, ...parts));
  const stroke = () => svg("path", { class: "bump-line", d: "M1 6h16" });
  return h(
    "p",
    { class: "bump-legend small muted" },
    h("span", {}, sign("is-gold", stroke()), "right document"),
    h("span", {}, sign("", svg("circle", { class: "bump-enters", cx: 9, cy: 6, r: 3.2 })), "enters"),
    h("span", {}, sign("", cross(9, 6)), "leaves"),
    h("span", {}, sign("", svg("circle", { class: "bump-once", cx: 9, cy: 6, r: 2.4 })), "there once"),
    h("span", { text: "Point at a line for its title and score." }),
  );
}
