// @ts-check

/**
 * Drawings of one page, one after the other: after each, the page has as long for everything else.
 * So however many charts there are, and however slow the machine, a click is answered.
 */
export class Turns {
  /** @type {(() => Promise<void>)[]} */
  #waiting = [];
  #isRunning = false;

  /** Draw when it is this one's turn. @param {() => Promise<void>} draw */
  take(draw) {
    this.#waiting.push(draw);
    if (!this.#isRunning) void this.#run();
  }

  async #run() {
    this.#isRunning = true;
    for (let draw = this.#waiting.shift(); draw; draw = this.#waiting.shift()) {
      await new Promise((go) => requestAnimationFrame(go));
      const begun = performance.now();
      await draw().catch((error) => reportError(error)); // one drawing that fails does not stop the others
      const cost = performance.now() - begun;
      await new Promise((go) => setTimeout(go, cost));
    }
    this.#isRunning = false;
  }
}
