// @ts-check
/**
 * Which runs were pushed, and in which order: an answer that a push has overtaken is the older of the two.
 * Every change of a run is pushed, so nothing is lost by leaving such an answer out.
 */
export class PushedRuns {
  #clock = 0;
  /** @type {Map<string, number>} */
  #at = new Map();

  /** A moment that ``cameSince`` understands. */
  get now() {
    return this.#clock;
  }

  /** @param {string} id of a run that was just pushed */
  note(id) {
    this.#clock += 1;
    this.#at.set(id, this.#clock);
  }

  /** Whether the run was pushed after this moment. @param {number} moment @param {string} id */
  cameSince(moment, id) {
    return (this.#at.get(id) ?? 0) > moment;
  }
}
