// @ts-check

const KEPT_STEPS = 24;

/** What the model answered to single examples at single steps, fetched as they come into sight and kept for the way back. */
export class Answers {
  /** @type {Map<number, Map<number, any>>} step -> index of the example -> answer, in the order of use */
  #steps = new Map();
  /** @type {Map<number, Set<number>>} on their way */
  #coming = new Map();
  #generation = 0;

  /** @param {(step: number, indices: number[]) => Promise<any[]>} fetchAnswers @param {(error: unknown) => void} onError */
  constructor(fetchAnswers, onError) {
    this.fetchAnswers = fetchAnswers;
    this.onError = onError;
    /** @type {(step: number) => void} called when answers have come */
    this.onAnswers = () => {};
  }

  /** Another run: nothing of what is known counts. */
  forget() {
    this.#generation += 1;
    this.#steps.clear();
    this.#coming.clear();
  }

  /** @param {number} step @param {number} index @returns {any} null while it is on its way */
  at(step, index) {
    return this.#steps.get(step)?.get(index) ?? null;
  }

  /** Fetch what is missing of these. @param {number} step @param {number[]} indices @returns {Promise<void>} */
  async want(step, indices) {
    const known = this.#known(step);
    const coming = this.#coming.get(step) ?? new Set();
    const missing = indices.filter((index) => !known.has(index) && !coming.has(index));
    if (missing.length === 0) return;
    const generation = this.#generation;
    this.#coming.set(step, coming);
    for (const index of missing) coming.add(index);
    try {
      const answers = await this.fetchAnswers(step, missing);
      if (generation !== this.#generation) return;
      for (const answer of answers) known.set(answer.index, answer);
      this.onAnswers(step);
    } catch (error) {
      if (generation === this.#generation) this.onError(error);
    } finally {
      if (generation === this.#generation) for (const index of missing) coming.delete(index);
    }
  }

  /** @param {number} step */
  #known(step) {
    const known = this.#steps.get(step) ?? new Map();
    this.#steps.delete(step);
    this.#steps.set(step, known); // used last
    for (const oldest of this.#steps.keys()) {
      if (this.#steps.size <= KEPT_STEPS) break;
      this.#steps.delete(oldest);
    }
    return known;
  }
}
