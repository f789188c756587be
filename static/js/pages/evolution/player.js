// @ts-check

/** Shows one snapshot after the other: the next one never comes before the last one is on screen. */
export class Player {
  #timer = 0;
  #turn = 0;
  speed = 0;

  /** @param {() => Promise<boolean>} advance shows the next snapshot; false when there is none */
  constructor(advance) {
    this.advance = advance;
    /** @type {(speed: number) => void} */
    this.onChange = () => {};
  }

  /** @param {number} speed snapshots per second */
  play(speed) {
    this.#stop();
    this.speed = speed;
    this.onChange(speed);
    this.#wait(performance.now());
  }

  pause() {
    if (this.speed === 0) return;
    this.#stop();
    this.onChange(0);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#turn += 1;
    this.speed = 0;
  }

  /** @param {number} since milliseconds on the page's clock */
  #wait(since) {
    const left = 1000 / this.speed - (performance.now() - since);
    this.#timer = window.setTimeout(() => void this.#next(), Math.max(0, left));
  }

  async #next() {
    const turn = this.#turn;
    const since = performance.now();
    const isMore = await this.advance();
    if (turn !== this.#turn) return; // paused meanwhile
    if (isMore) this.#wait(since);
    else this.pause();
  }
}
