// @ts-check
/** How fast a run goes and when it will be there, from the steps that were seen. Pure. */

const WINDOW_S = 30;

export class Pace {
  /** @type {{t: number, step: number}[]} */
  #seen = [];

  /** @param {number} t Unix seconds @param {number} step */
  add(t, step) {
    const last = this.#seen.at(-1);
    if (last && step < last.step) this.#seen = []; // a further attempt began at an earlier step
    if (last && step === last.step) return;
    this.#seen.push({ t, step });
    while (this.#seen.length > 2 && this.#seen[0].t < t - WINDOW_S) this.#seen.shift();
  }

  /** Steps per second over the last half minute, or null. @returns {number | null} */
  get rate() {
    const [first, last] = [this.#seen[0], this.#seen.at(-1)];
    if (!first || !last || last.t - first.t < 1) return null;
    return (last.step - first.step) / (last.t - first.t);
  }
}

/**
 * @param {{step: number, total_steps: number | null, started_at: number | null, attempt?: number}} run
 * @param {number | null} rate steps per second seen lately
 * @param {number} now Unix seconds
 * @returns {number | null} seconds left
 */
export function secondsLeft(run, rate, now) {
  if (!run.total_steps || run.step >= run.total_steps) return null;
  let pace = rate;
  if (pace === null && run.started_at !== null && run.step > 0 && (run.attempt ?? 1) <= 1) {
    pace = run.step / Math.max(1, now - run.started_at);
  }
  return pace && pace > 0 ? (run.total_steps - run.step) / pace : null;
}

/** @param {{step: number, total_steps: number | null}} run @returns {number | null} 0 to 1 */
export function fractionDone(run) {
  return run.total_steps ? Math.min(1, Math.max(0, run.step / run.total_steps)) : null;
}
