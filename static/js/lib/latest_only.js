// @ts-check
/**
 * One call at a time; of those that come meanwhile only the newest is made.  For work that a slider
 * or a scroll asks for more often than it can be done.
 *
 * @template {unknown[]} A
 * @param {(...args: A) => Promise<void>} work
 * @returns {(...args: A) => Promise<void>} settled once the newest call known then has been made
 */
export function latestOnly(work) {
  /** @type {A | null} */
  let waiting = null;
  /** @type {Promise<void> | null} */
  let running = null;
  const run = async () => {
    while (waiting !== null) {
      const args = waiting;
      waiting = null;
      await work(...args);
    }
  };
  return (...args) => {
    waiting = args;
    running ??= run().finally(() => (running = null));
    return running;
  };
}
