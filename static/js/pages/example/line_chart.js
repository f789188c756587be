// @ts-check
import { svg } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";
import { StepChart } from "./step_chart.js";

const ROOM_FOR_DOTS = 7;

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {import("./step_chart.js").Place} Place
 * @typedef {object} Curve
 * @property {string} name of the quantity @property {Point[]} points @property {(number | null)[]} values
 * @property {import("./scales.js").Scale} scale @property {(value: number) => string} write
 */

/** One quantity over the snapshots, each a dot where there is room: filled where the answer was right. */
export class LineChart {
  /** @param {{testid: string, choose: (index: number) => void}} options */
  constructor({ testid, choose }) {
    this.chart = new StepChart({ height: 190, testid, choose });
    this.element = this.chart.element;
  }

  /** @param {Curve} curve */
  show({ name, points, values, scale, write }) {
    const told = (/** @type {number} */ index) => (values[index] === null ? "not known" : write(/** @type {number} */ (values[index])));
    const [first, last] = [0, points.length - 1];
    this.chart.show({
      steps: points.map((one) => one.step),
      scale,
      label: `${name}: ${told(first)} at step ${formatCount(points[first].step)}, ${told(last)} at step ${formatCount(points[last].step)}.`,
      paint: (place) => [line(values, place), ...(place.gap >= ROOM_FOR_DOTS ? dots(points, values, place) : [])],
      dot: (index) => values[index],
      words: (index) => `Step ${formatCount(points[index].step)} · ${name.toLowerCase()} ${told(index)} · ${points[index].right ? "right" : "wrong"}`,
    });
  }

  /** @param {number} index */
  mark(index) {
    this.chart.mark(index);
  }
}

/** Broken where there is no value. @param {(number | null)[]} values @param {Place} place */
function line(values, place) {
  let path = "";
  for (const [index, value] of values.entries()) {
    if (value !== null) path += `${index > 0 && values[index - 1] !== null ? "L" : "M"}${place.x(index).toFixed(1)} ${place.y(value).toFixed(1)}`;
  }
  return svg("path", { class: "curve-line", d: path });
}

/** @param {Point[]} points @param {(number | null)[]} values @param {Place} place */
function dots(points, values, place) {
  return points.flatMap(({ right }, index) => {
    const value = values[index];
    return value === null ? [] : [svg("circle", { class: "curve-dot", "data-right": String(right), cx: place.x(index).toFixed(1), cy: place.y(value).toFixed(1), r: 3 })];
  });
}
