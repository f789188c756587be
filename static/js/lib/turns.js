// @ts-check

const TOGETHER_MS = 24; // drawn before the page is shown again
const FRAME_MS = 17;

const frame = () => new Promise((go) => requestAnimationFrame(go));

/**
 * Drawings of one page, in turn: after some, the page has as long for everything else.
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
    while (this.#waiting.length > 0) {
      await frame();
      const begun = performance.now();
      await this.#drawSome(begun + TOGETHER_MS);
      await frame(); // on a slow machine painting takes longer than drawing, and frames wait for it
      const cost = performance.now() - begun - FRAME_MS;
      await new Promise((go) => setTimeout(go, Math.max(0, cost)));
    }
    this.#isRunning = false;
  }

  /** @param {number} until milliseconds of the page's clock; one drawing is always made */
  async #drawSome(until) {
    do {
      await this.#waiting.shift()?.().catch((error) => reportError(error)); // one that fails stops no other
    } while (this.#waiting.length > 0 && performance.now() < until);
  }
}
