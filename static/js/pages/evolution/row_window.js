// @ts-check
import { oncePerFrame } from "../../lib/dom.js";

const SPARE_ROWS = 6; // beyond either edge

/**
 * A list of any length of which only the rows in sight exist.  All rows are equally high (the CSS
 * says how high); the page itself scrolls.  Rows are used again for other places.
 *
 * @template {{element: HTMLElement}} R
 */
export class RowWindow {
  /** @type {Map<number, R>} by place */
  #rows = new Map();
  /** @type {R[]} */
  #free = [];
  #height = 0;
  #total = 0;

  /**
   * @param {HTMLElement} root
   * @param {{create: () => R, show: (row: R, place: number) => void, onSight: (first: number, last: number) => void, coveredTop: () => number}} owner
   *   `onSight` is told which rows there are; `coveredTop` is how much of the window's top something else covers, in pixels
   */
  constructor(root, owner) {
    this.root = root;
    this.owner = owner;
    const place = oncePerFrame(() => this.#place());
    addEventListener("scroll", place, { passive: true });
    new ResizeObserver(() => {
      this.#height = 0; // another width may mean another height
      place();
    }).observe(root);
  }

  /** First and last place in sight. @returns {{first: number, last: number}} */
  get sight() {
    const height = this.#rowHeight();
    const top = this.root.getBoundingClientRect().top;
    const last = Math.max(0, this.#total - 1);
    const inside = (/** @type {number} */ y) => Math.min(last, Math.max(0, Math.floor(y / height)));
    return { first: inside(this.owner.coveredTop() - top), last: inside(innerHeight - top) };
  }

  /** @param {number} total */
  set total(total) {
    this.#total = total;
    this.root.style.setProperty("--rows", String(total));
    for (const { element } of this.#rows.values()) element.setAttribute("aria-setsize", String(total));
    this.#place();
  }

  /** Show anew what is in sight. */
  refresh() {
    for (const [place, row] of this.#rows) this.owner.show(row, place);
  }

  /** The row at a place, where it is in sight. @param {number} place @returns {R | null} */
  at(place) {
    return this.#rows.get(place) ?? null;
  }

  /** The place of the row an element is in; -1 for none. @param {Node | null} node */
  placeOf(node) {
    for (const [place, { element }] of this.#rows) if (element.contains(node)) return place;
    return -1;
  }

  /** Scroll no further than needed for a row to be whole in sight. @param {number} place */
  reveal(place) {
    const height = this.#rowHeight();
    const top = this.root.getBoundingClientRect().top + place * height;
    const room = this.owner.coveredTop();
    if (top < room) scrollBy({ top: top - room, behavior: "instant" });
    else if (top + height > innerHeight) scrollBy({ top: top + height - innerHeight, behavior: "instant" });
    this.#place();
  }

  /** Scroll so that a row stands at the top of what is in sight. @param {number} place @param {number} [shift] pixels beyond its top */
  scrollTo(place, shift = 0) {
    const top = this.root.getBoundingClientRect().top + place * this.#rowHeight() + shift;
    scrollBy({ top: top - this.owner.coveredTop(), behavior: "instant" });
    this.#place();
  }

  /** How far the list has been scrolled: the first place in sight, and by how much it is cut off. */
  get position() {
    const { first } = this.sight;
    const top = this.root.getBoundingClientRect().top + first * this.#rowHeight();
    return { place: first, shift: Math.round(this.owner.coveredTop() - top) };
  }

  #rowHeight() {
    if (this.#height === 0) {
      const row = this.#rows.values().next().value ?? this.#free.at(-1) ?? this.owner.create();
      if (row.element.parentElement === null) {
        this.root.append(row.element);
        if (!this.#free.includes(row)) this.#free.push(row);
      }
      this.#height = row.element.getBoundingClientRect().height;
    }
    return this.#height || 1; // 0 while the list is hidden: measured again
  }

  #place() {
    const { first: top, last: bottom } = this.sight;
    const first = Math.max(0, top - SPARE_ROWS);
    const last = Math.min(this.#total - 1, bottom + SPARE_ROWS);
    for (const [place, row] of this.#rows) {
      if (place >= first && place <= last) continue;
      if (place < this.#total && row.element.contains(document.activeElement)) continue; // the reader is in it
      this.#rows.delete(place);
      this.#free.push(row);
    }
    for (let place = first; place <= last; place += 1) {
      if (!this.#rows.has(place)) this.#take(place);
    }
    for (const row of this.#free) row.element.remove();
    if (this.#total > 0) this.owner.onSight(first, last);
  }

  /** @param {number} place */
  #take(place) {
    const row = this.#free.pop() ?? this.owner.create();
    row.element.style.setProperty("--place", String(place));
    row.element.setAttribute("aria-posinset", String(place + 1));
    row.element.setAttribute("aria-setsize", String(this.#total));
    this.#rows.set(place, row);
    this.owner.show(row, place);
    // screen readers follow the order of the elements, not where they are drawn
    let next = null;
    let distance = Infinity;
    for (const [other, { element }] of this.#rows) {
      if (other > place && other - place < distance && element.parentElement === this.root) [next, distance] = [element, other - place];
    }
    this.root.insertBefore(row.element, next);
  }
}
