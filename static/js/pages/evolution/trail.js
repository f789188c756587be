// @ts-check
/** The way of one example in a box of 120 x 30: its loss as a line, right and wrong as a strip, the chosen step as a mark. */
import { svg } from "../../lib/dom.js";

const WIDTH = 120;
const LINE_HEIGHT = 22;
const STRIP_TOP = 26;
const STRIP_HEIGHT = 4;

/** Where the snapshot at `index` of `count` is drawn.  Pure. @param {number} index @param {number} count */
export function placeOf(index, count) {
  return count < 2 ? WIDTH / 2 : ((index + 0.5) / count) * WIDTH;
}

/**
 * The line of the losses, broken where there is none.  Pure.
 * @param {(number | null)[]} losses @returns {{path: string, y: (index: number) => number | null}}
 */
export function lossLine(losses) {
  let [low, high] = [Infinity, -Infinity];
  for (const loss of losses) {
    if (loss === null) continue;
    low = Math.min(low, loss);
    high = Math.max(high, loss);
  }
  const y = (/** @type {number} */ index) => {
    const loss = losses[index];
    if (loss === null || loss === undefined) return null;
    return high === low ? LINE_HEIGHT / 2 : 2 + (1 - (loss - low) / (high - low)) * (LINE_HEIGHT - 4);
  };
  let path = "";
  let isOpen = false;
  for (let index = 0; index < losses.length; index += 1) {
    const height = y(index);
    if (height !== null) path += `${isOpen ? "L" : "M"}${placeOf(index, losses.length).toFixed(1)} ${height.toFixed(1)}`;
    isOpen = height !== null;
  }
  return { path, y };
}

/** Rectangles over every stretch of `mark` in `right`, as one path.  Pure. @param {string} right @param {string} mark */
export function strip(right, mark) {
  const width = WIDTH / Math.max(1, right.length);
  let path = "";
  for (let start = right.indexOf(mark); start !== -1; ) {
    let stop = start;
    while (right[stop] === mark) stop += 1;
    path += `M${(start * width).toFixed(1)} ${STRIP_TOP}h${((stop - start) * width).toFixed(1)}v${STRIP_HEIGHT}h-${((stop - start) * width).toFixed(1)}z`;
    start = right.indexOf(mark, stop);
  }
  return path;
}

/** Decoration beside the words that say the same. */
export class Trail {
  #line = svg("path", { class: "trail-line" });
  #right = svg("path", { class: "trail-right" });
  #wrong = svg("path", { class: "trail-wrong" });
  #mark = svg("line", { class: "trail-mark", y1: 0, y2: STRIP_TOP + STRIP_HEIGHT });
  #dot = svg("circle", { class: "trail-dot", r: 2.6 });
  #count = 0;
  /** @type {(index: number) => number | null} */
  #y = () => null;

  constructor() {
    this.element = svg(
      "svg",
      { class: "trail", viewBox: `0 0 ${WIDTH} ${STRIP_TOP + STRIP_HEIGHT}`, "aria-hidden": "true" },
      this.#wrong, this.#right, this.#mark, this.#line, this.#dot,
    );
  }

  /** @param {(number | null)[]} losses @param {string} right one character per snapshot, `1` for right */
  show(losses, right) {
    const { path, y } = lossLine(losses);
    [this.#count, this.#y] = [losses.length, y];
    this.#line.setAttribute("d", path);
    this.#right.setAttribute("d", strip(right, "1"));
    this.#wrong.setAttribute("d", strip(right, "0"));
  }

  /** @param {number} index of the chosen snapshot; -1 for none */
  mark(index) {
    const isThere = index >= 0 && index < this.#count;
    const x = placeOf(index, this.#count).toFixed(1);
    const y = isThere ? this.#y(index) : null;
    this.#mark.toggleAttribute("hidden", !isThere);
    this.#dot.toggleAttribute("hidden", y === null);
    if (isThere) {
      this.#mark.setAttribute("x1", x);
      this.#mark.setAttribute("x2", x);
    }
    if (y !== null) {
      this.#dot.setAttribute("cx", x);
      this.#dot.setAttribute("cy", y.toFixed(1));
    }
  }
}
