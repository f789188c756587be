// @ts-check
import { fill, icon } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";

const HOLD_MS = 420;

/**
 * The slider over the steps, its buttons and keys, and playing.
 *
 * @typedef {object} Parts
 * @property {HTMLInputElement} slider @property {HTMLButtonElement} play @property {HTMLButtonElement} previous
 * @property {HTMLButtonElement} next @property {HTMLElement} word
 */
export class Player {
  /** @type {number[]} */
  #steps = [];
  #place = 0;
  #turn = 0;

  /** @param {Parts} parts @param {(step: number) => Promise<void>} go resolves when the points are there */
  constructor(parts, go) {
    this.parts = parts;
    this.go = go;
    parts.slider.addEventListener("input", () => this.#move(Number(parts.slider.value)));
    parts.previous.addEventListener("click", () => this.#move(this.#place - 1));
    parts.next.addEventListener("click", () => this.#move(this.#place + 1));
    parts.play.addEventListener("click", () => this.toggle());
    addEventListener("keydown", (event) => this.#press(event));
  }

  get isPlaying() {
    return this.parts.play.getAttribute("aria-pressed") === "true";
  }

  /** The step after the one on screen; undefined at the end. */
  get following() {
    return this.#steps[this.#place + 1];
  }

  /** @param {number[]} steps @param {number} step the one on screen */
  show(steps, step) {
    const { slider, previous, next, word, play } = this.parts;
    this.#steps = steps;
    this.#place = Math.max(0, steps.indexOf(step));
    slider.max = String(Math.max(0, steps.length - 1));
    slider.value = String(this.#place);
    slider.disabled = play.disabled = steps.length < 2;
    slider.setAttribute("aria-valuetext", `step ${formatCount(step)}`);
    previous.disabled = this.#place === 0;
    next.disabled = this.#place >= steps.length - 1;
    word.textContent = formatCount(step);
    word.dataset.step = String(step);
  }

  toggle() {
    if (this.isPlaying) this.stop();
    else void this.#play();
  }

  stop() {
    this.#turn += 1;
    this.#look(false);
  }

  /** @param {boolean} yes */
  #look(yes) {
    const { play } = this.parts;
    play.setAttribute("aria-pressed", String(yes));
    fill(play, icon(yes ? "pause" : "play"), yes ? "Pause" : "Play");
  }

  async #play() {
    if (this.#steps.length < 2) return;
    const mine = ++this.#turn;
    this.#look(true);
    if (this.following === undefined) await this.go(this.#steps[0]).catch(() => {});
    while (mine === this.#turn && this.following !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, HOLD_MS));
      if (mine !== this.#turn) return;
      const before = this.#place;
      await this.go(this.#steps[before + 1]).catch(() => this.stop());
      if (this.#place === before) break; // it could not be shown
    }
    if (mine === this.#turn) this.stop();
  }

  /** @param {number} place */
  #move(place) {
    this.stop();
    const step = this.#steps[Math.min(this.#steps.length - 1, Math.max(0, place))];
    if (step !== undefined) void this.go(step);
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.altKey || event.ctrlKey || event.metaKey || target.closest?.("input, select, textarea")) return;
    if (event.key === " " && !target.closest?.("button, a")) this.toggle();
    else if (event.key === "ArrowLeft") this.#move(this.#place - 1);
    else if (event.key === "ArrowRight") this.#move(this.#place + 1);
    else if (event.key === "Home") this.#move(0);
    else if (event.key === "End") this.#move(this.#steps.length - 1);
    else return;
    event.preventDefault();
  }
}
