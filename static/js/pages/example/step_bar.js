// @ts-check
import { fill, find, h, icon, setText } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";
import { pointWords } from "./words.js";

const PACE_MS = 700;

/** @typedef {import("./reading.js").Point} Point */

/** Slider, buttons and keys that choose a snapshot, and what it was like. */
export class StepBar {
  /** @type {Point[]} */
  #points = [];
  #task = /** @type {import("./reading.js").Task} */ ("text");
  #index = 0;
  #timer = 0;
  #slider = find("#step-slider", HTMLInputElement);
  #play = find("#play", HTMLButtonElement);
  #state = find("#step-state", HTMLElement);

  /** @param {(index: number) => void} choose */
  constructor(choose) {
    this.choose = choose;
    this.#slider.addEventListener("input", () => this.#goTo(Number(this.#slider.value)));
    find("#step-back").addEventListener("click", () => this.#goTo(this.#index - 1));
    find("#step-on").addEventListener("click", () => this.#goTo(this.#index + 1));
    this.#play.addEventListener("click", () => this.toggle());
    addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {Point[]} points @param {import("./reading.js").Task} task */
  show(points, task) {
    this.#points = points;
    this.#task = task;
    this.#slider.max = String(points.length - 1);
    this.#slider.disabled = points.length < 2;
    this.#play.disabled = points.length < 2;
    find("#step-strip", HTMLElement).style.background = stripOf(points);
  }

  /** @param {number} index */
  mark(index) {
    this.#index = index;
    const point = this.#points[index];
    const verdict = point.right ? "right" : "wrong";
    this.#slider.value = String(index);
    this.#slider.setAttribute("aria-valuetext", `step ${formatCount(point.step)}, ${verdict}`);
    setText(find("#step-number"), formatCount(point.step));
    fill(
      this.#state,
      h("span", { class: "badge", dataset: { state: point.right ? "correct" : "failed" } }, icon(point.right ? "check" : "cross"), point.right ? "Right" : "Wrong"),
      h("span", { class: "small muted num", text: pointWords(point, this.#task) }),
    );
    find("#step-back", HTMLButtonElement).disabled = index === 0;
    find("#step-on", HTMLButtonElement).disabled = index === this.#points.length - 1;
  }

  toggle() {
    if (this.#timer) {
      this.#stop();
      return;
    }
    if (this.#points.length < 2) return;
    if (this.#index === this.#points.length - 1) this.choose(0);
    this.#timer = window.setInterval(() => {
      if (this.#index < this.#points.length - 1) this.choose(this.#index + 1);
      if (this.#index >= this.#points.length - 1) this.#stop();
    }, PACE_MS);
    this.#drawPlay();
  }

  #stop() {
    clearInterval(this.#timer);
    this.#timer = 0;
    this.#drawPlay();
  }

  #drawPlay() {
    const plays = this.#timer !== 0;
    this.#play.setAttribute("aria-label", plays ? "Pause" : "Play");
    this.#play.title = plays ? "Pause (space)" : "Play (space)";
    fill(this.#play, icon(plays ? "pause" : "play"));
    this.#state.setAttribute("aria-live", plays ? "off" : "polite");
  }

  /** Choosing by hand ends the playing. @param {number} index */
  #goTo(index) {
    this.#stop();
    if (index >= 0 && index < this.#points.length && index !== this.#index) this.choose(index);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || this.#points.length === 0) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const field = target.closest?.("input, select, textarea, [contenteditable]");
    if (field && field !== this.#slider) return;
    if (event.key === " ") {
      if (target.closest?.("button, a, summary")) return; // there the key presses
      event.preventDefault();
      this.toggle();
      return;
    }
    const index = { ArrowLeft: this.#index - 1, ArrowRight: this.#index + 1, Home: 0, End: this.#points.length - 1 }[event.key];
    if (index === undefined || target.closest?.('[role="region"]')) return; // there the arrows scroll
    event.preventDefault();
    this.#goTo(index);
  }
}

/** Right and wrong along the slider, as a gradient without transitions. @param {Point[]} points */
function stripOf(points) {
  const stops = [];
  for (let from = 0; from < points.length; ) {
    let to = from;
    while (to + 1 < points.length && points[to + 1].right === points[from].right) to += 1;
    // as far as half the way to the next one on each side, as the slider's thumb goes from end to end
    const edge = (/** @type {number} */ place) => `${(Math.min(1, Math.max(0, place / Math.max(1, points.length - 1))) * 100).toFixed(2)}%`;
    stops.push(`var(${points[from].right ? "--strip-right" : "--strip-wrong"}) ${edge(from - 0.5)} ${edge(to + 0.5)}`);
    from = to + 1;
  }
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
