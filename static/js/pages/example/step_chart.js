// @ts-check
import { h, setText, svg } from "../../lib/dom.js";
import { indexAt, labelled, shareOf, shortStep } from "./scales.js";

const MARGIN = { left: 46, right: 18, top: 10, bottom: 24 };
const LABEL_WIDTH = 46;

/**
 * @typedef {import("./scales.js").Scale} Scale
 * @typedef {{x: (index: number) => number, y: (value: number) => number, left: number, right: number, top: number, foot: number, gap: number}} Place in pixels; `gap` between two snapshots
 * @typedef {object} Plan what one chart shows
 * @property {number[]} steps @property {Scale} scale @property {string} label what a screen reader hears
 * @property {(place: Place) => Element[]} paint
 * @property {(index: number) => number | null} [dot] the value that the mark of the chosen snapshot points at
 * @property {(index: number, value: number) => string} words beside the pointer; `value` is its height, 0 at the foot and 1 at the top
 */

/** A chart over the snapshots of an example: axes, the chosen snapshot's mark, words beside the pointer; a click chooses. */
export class StepChart {
  /** @type {Plan | null} */
  #plan = null;
  #chosen = 0;
  #width = 0;
  #height;
  #axes = svg("g", { class: "axes" });
  #content = svg("g");
  #mark = svg("line", { class: "chosen-line" });
  #dot = svg("circle", { class: "chosen-dot", r: 4.5 });
  #hair = svg("line", { class: "hair" });
  #words = h("p", { class: "step-chart-words num", hidden: true, "aria-hidden": "true" });

  /** @param {{height: number, testid: string, choose: (index: number) => void, point?: (index: number | null, value: number) => void}} options */
  constructor({ height, testid, choose, point = () => {} }) {
    this.#height = height;
    this.point = point;
    this.svg = svg("svg", { class: "step-chart-picture", role: "img", height }, this.#axes, this.#content, this.#mark, this.#hair, this.#dot);
    this.element = h("div", { class: "step-chart", dataset: { testid } }, this.svg, this.#words);
    this.svg.addEventListener("pointermove", (event) => this.#hover(event));
    this.svg.addEventListener("pointerleave", () => this.#leave());
    this.svg.addEventListener("click", (event) => this.#plan && choose(this.#under(event).index));
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - this.#width) < 1) return;
      this.#width = entry.contentRect.width;
      this.#draw();
    }).observe(this.element);
  }

  /** @param {Plan} plan */
  show(plan) {
    this.#plan = plan;
    this.svg.setAttribute("aria-label", plan.label);
    this.#draw();
  }

  /** @param {number} index of the chosen snapshot */
  mark(index) {
    this.#chosen = index;
    const plan = this.#plan;
    if (!plan || this.#width === 0) return;
    const place = this.#place(plan);
    upright(this.#mark, place.x(index), place);
    const value = plan.dot?.(index) ?? null;
    this.#dot.toggleAttribute("hidden", value === null);
    if (value === null) return;
    this.#dot.setAttribute("cx", place.x(index).toFixed(1));
    this.#dot.setAttribute("cy", place.y(value).toFixed(1));
  }

  #draw() {
    const plan = this.#plan;
    if (!plan || this.#width === 0) return;
    this.#leave();
    const place = this.#place(plan);
    this.svg.setAttribute("width", String(this.#width));
    this.#axes.replaceChildren(...valueAxis(plan.scale, place), ...stepAxis(plan.steps, place));
    this.#content.replaceChildren(...plan.paint(place));
    this.mark(Math.min(this.#chosen, plan.steps.length - 1));
  }

  /** @param {Plan} plan @returns {Place} */
  #place({ steps, scale }) {
    const [left, right] = [MARGIN.left, Math.max(MARGIN.left + 10, this.#width - MARGIN.right)];
    const [top, foot] = [MARGIN.top, this.#height - MARGIN.bottom];
    return {
      x: (index) => left + shareOf(index, steps.length) * (right - left),
      y: (value) => foot - scale.at(value) * (foot - top),
      left, right, top, foot,
      gap: (right - left) / Math.max(1, steps.length - 1),
    };
  }

  /** @param {MouseEvent} event */
  #under(event) {
    const plan = /** @type {Plan} */ (this.#plan);
    const { left, right, top, foot } = this.#place(plan);
    const box = this.svg.getBoundingClientRect();
    return {
      index: indexAt((event.clientX - box.left - left) / (right - left), plan.steps.length),
      value: Math.min(1, Math.max(0, (foot - (event.clientY - box.top)) / (foot - top))),
    };
  }

  /** @param {MouseEvent} event */
  #hover(event) {
    const plan = this.#plan;
    if (!plan || plan.steps.length === 0) return;
    const { index, value } = this.#under(event);
    const place = this.#place(plan);
    upright(this.#hair, place.x(index), place);
    this.#hair.removeAttribute("hidden");
    setText(this.#words, plan.words(index, value));
    this.#words.hidden = false;
    const isLate = place.x(index) > this.#width / 2; // the words stand where there is room
    this.#words.style.left = isLate ? "auto" : `${place.x(index) + 10}px`;
    this.#words.style.right = isLate ? `${this.#width - place.x(index) + 10}px` : "auto";
    this.point(index, value);
  }

  #leave() {
    this.#hair.setAttribute("hidden", "");
    this.#words.hidden = true;
    this.point(null, 0);
  }
}

/** @param {SVGElement} line @param {number} x @param {Place} place */
function upright(line, x, { top, foot }) {
  for (const [name, value] of Object.entries({ x1: x, x2: x, y1: top, y2: foot })) line.setAttribute(name, value.toFixed(1));
}

/** @param {Scale} scale @param {Place} place */
function valueAxis(scale, place) {
  return scale.ticks.flatMap(({ value, label }) => {
    const y = place.y(value);
    return [
      svg("line", { class: "grid-line", x1: place.left, x2: place.right, y1: y, y2: y }),
      words(label, { x: place.left - 8, y: y + 3.5, "text-anchor": "end" }),
    ];
  });
}

/** @param {number[]} steps @param {Place} place */
function stepAxis(steps, place) {
  return labelled(steps.length, Math.max(2, Math.floor((place.right - place.left) / LABEL_WIDTH)))
    .map((index) => words(shortStep(steps[index]), { x: place.x(index), y: place.foot + 17, "text-anchor": "middle" }));
}

/** @param {string} text @param {Record<string, string | number>} attributes */
export function words(text, attributes) {
  const element = svg("text", { class: "axis-words", ...attributes });
  element.textContent = text;
  return element;
}
