// @ts-check
import { svg } from "./dom.js";

const WIDTH = 96;
const HEIGHT = 24;
const CAPACITY = 120;

/**
 * Points of a polyline in a box of `width` x `height`; gaps are left out, a flat line is centred.
 * @param {(number | null)[]} values @param {number} width @param {number} height
 */
export function sparklinePoints(values, width, height) {
  const finite = values.filter((value) => value !== null && Number.isFinite(value));
  if (finite.length < 2) return "";
  let [low, high] = [Infinity, -Infinity];
  for (const value of finite) {
    low = Math.min(low, /** @type {number} */ (value));
    high = Math.max(high, /** @type {number} */ (value));
  }
  const span = high - low;
  return finite
    .map((value, index) => {
      const x = (index / (finite.length - 1)) * width;
      const y = span === 0 ? height / 2 : height - ((/** @type {number} */ (value) - low) / span) * height;
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
}

/** A small line without axes; decoration beside the number it belongs to. */
export class Sparkline {
  #line = svg("polyline", { class: "sparkline-line" });
  /** @type {(number | null)[]} */
  #values = [];

  constructor() {
    this.element = svg(
      "svg",
      { class: "sparkline", viewBox: `-1 -2 ${WIDTH + 2} ${HEIGHT + 4}`, "aria-hidden": "true", preserveAspectRatio: "none" },
      this.#line,
    );
  }

  /** @param {(number | null)[]} values */
  reset(values) {
    this.#values = values.slice(-CAPACITY);
    this.#draw();
  }

  /** @param {number | null} value */
  push(value) {
    if (value === null || value === this.#values.at(-1)) return;
    this.#values.push(value);
    if (this.#values.length > CAPACITY) this.#values.shift();
    this.#draw();
  }

  #draw() {
    this.#line.setAttribute("points", sparklinePoints(this.#values, WIDTH, HEIGHT));
  }
}
