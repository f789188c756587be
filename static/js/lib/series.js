// @ts-check
/**
 * @typedef {object} Columns
 * @property {number[]} steps
 * @property {number[]} times Unix seconds
 * @property {(number | null)[]} values `null` where the number was not finite
 */

/**
 * One metric of one run: a downsampled history plus every live point since.
 *
 * The server numbers the points of a series from 0.  A batch that overlaps what is here is
 * cut, so repeats are harmless; a batch that leaves a hole is refused with "gap" and the
 * caller asks the API for what came after `count`.
 */
export class LiveSeries {
  /** @type {Columns} */
  #points = { steps: [], times: [], values: [] };
  #count = 0;
  #thinned = 0;

  /** @param {string} name @param {number} [budget] points the chart has pixels for */
  constructor(name, budget = 1500) {
    this.name = name;
    this.budget = budget;
  }

  /** Number of the next point expected. */
  get count() {
    return this.#count;
  }

  /** @returns {Readonly<Columns>} */
  get columns() {
    return this.#points;
  }

  get length() {
    return this.#points.steps.length;
  }

  /** The newest finite value, or null. @returns {number | null} */
  get last() {
    const { values } = this.#points;
    for (let index = values.length - 1; index >= 0; index -= 1) {
      const value = values[index];
      if (value !== null && Number.isFinite(value)) return value;
    }
    return null;
  }

  /** So many live points have gathered that the history is worth asking for anew. */
  get crowded() {
    return this.length - this.#thinned > this.budget;
  }

  /**
   * Take a history from the API, replacing everything.
   * @param {Columns & {total_points: number}} history
   */
  reset(history) {
    this.#points = { steps: [...history.steps], times: [...history.times], values: [...history.values] };
    this.#count = history.total_points;
    this.#thinned = this.length;
  }

  /**
   * Take points numbered `start, start + 1, …`.
   * @param {Columns & {start: number}} batch
   * @returns {"added" | "known" | "gap"}
   */
  append({ start, steps, times, values }) {
    if (start > this.#count) return "gap";
    const skip = this.#count - start;
    if (skip >= steps.length) return "known";
    for (let index = skip; index < steps.length; index += 1) {
      this.#points.steps.push(steps[index]);
      this.#points.times.push(times[index]);
      this.#points.values.push(values[index]);
    }
    this.#count = start + steps.length;
    return "added";
  }
}
