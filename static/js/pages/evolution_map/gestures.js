// @ts-check
import { pinched } from "../../lib/map_geometry.js";

const SLIP = 4; // pixels that a click or a tap may move

/** @typedef {import("../../lib/map_geometry.js").Place} Place */

/**
 * Mouse, pen and fingers on the map: one moves it, two fingers zoom, a wheel zooms; who neither moves nor
 * zooms points, clicks or taps.  Places are in pixels from the upper left corner of the element.
 *
 * @typedef {object} Told
 * @property {(dx: number, dy: number) => void} pan @property {(factor: number, x: number, y: number) => void} zoom
 * @property {(x: number, y: number) => void} point @property {(x: number, y: number) => void} press
 * @property {() => void} leave nothing is pointed at any more
 */
export class Gestures {
  /** @type {Map<number, Place>} where each pointer that is down was heard of last */
  #held = new Map();
  #hasMoved = false;

  /** @param {HTMLElement} element @param {Told} told */
  constructor(element, told) {
    this.element = element;
    this.told = told;
    element.addEventListener("pointerdown", (event) => this.#down(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerup", (event) => this.#up(event));
    element.addEventListener("pointercancel", (event) => this.#held.delete(event.pointerId));
    element.addEventListener("pointerleave", () => told.leave());
    element.addEventListener("wheel", (event) => this.#turn(event), { passive: false });
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0) return;
    this.element.setPointerCapture(event.pointerId);
    this.#hasMoved = this.#held.size > 0; // a second finger: what ends now is no tap
    this.#held.set(event.pointerId, this.#placeOf(event));
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const now = this.#placeOf(event);
    const before = this.#held.get(event.pointerId);
    if (before === undefined) {
      if (this.#held.size === 0) this.told.point(...now);
      return;
    }
    if (!this.#hasMoved && Math.hypot(now[0] - before[0], now[1] - before[1]) < SLIP) return;
    this.#hasMoved = true;
    this.told.leave();
    const other = [...this.#held].find(([id]) => id !== event.pointerId)?.[1];
    this.#held.set(event.pointerId, now);
    if (other === undefined) {
      this.told.pan(now[0] - before[0], now[1] - before[1]);
      return;
    }
    const { dx, dy, factor, middle } = pinched([before, other], [now, other]);
    this.told.pan(dx, dy);
    this.told.zoom(factor, ...middle);
  }

  /** @param {PointerEvent} event */
  #up(event) {
    const isPress = this.#held.delete(event.pointerId) && this.#held.size === 0 && !this.#hasMoved;
    if (isPress) this.told.press(...this.#placeOf(event));
  }

  /** @param {WheelEvent} event */
  #turn(event) {
    event.preventDefault();
    this.told.zoom(Math.exp(-event.deltaY / 400), ...this.#placeOf(event));
  }

  /** @param {MouseEvent} event @returns {Place} */
  #placeOf(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}
