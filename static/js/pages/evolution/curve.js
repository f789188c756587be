// @ts-check
import { themed } from "../../lib/chart.js";
import { h } from "../../lib/dom.js";
import { onThemeChange, token } from "../../lib/theme.js";

/**
 * Accuracy and loss of all snapshots.  A click anywhere chooses the nearest snapshot; the chosen one
 * is a line over the chart, moved without drawing it anew.
 */
export class Curve {
  /** @type {any[]} */
  #snapshots = [];
  #step = 0;
  #dirty = false;
  #drawing = false;
  #isDrawn = false;
  #mark = h("div", { class: "curve-mark", "aria-hidden": "true", hidden: true });

  /**
   * @param {HTMLElement} root @param {any} plotly
   * @param {import("../../lib/chart_lines.js").Definition} definition @param {(step: number) => void} choose
   */
  constructor(root, plotly, definition, choose) {
    this.root = root;
    this.plotly = plotly;
    this.definition = definition;
    this.choose = choose;
    root.parentElement?.append(this.#mark);
    root.addEventListener("click", (event) => this.#chooseAt(event.clientX));
    onThemeChange(() => void this.#draw());
    let size = "";
    new ResizeObserver(() => {
      const now = `${root.clientWidth} ${root.clientHeight}`;
      if (now === size) return;
      size = now;
      void this.#draw();
    }).observe(root);
  }

  /** @param {any[]} snapshots */
  show(snapshots) {
    this.#snapshots = snapshots;
    void this.#draw();
  }

  /** @param {number} step */
  mark(step) {
    this.#step = step;
    this.#placeMark();
  }

  /** The x axis as Plotly has laid it out; null before the first drawing. */
  get #axis() {
    return this.#isDrawn ? /** @type {any} */ (this.root)._fullLayout?.xaxis ?? null : null;
  }

  #placeMark() {
    const axis = this.#axis;
    this.#mark.hidden = axis === null;
    if (axis === null) return;
    const plot = /** @type {any} */ (this.root)._fullLayout._size;
    this.#mark.style.setProperty("--x", `${this.root.offsetLeft + axis._offset + axis.d2p(this.#step)}px`);
    this.#mark.style.setProperty("--top", `${this.root.offsetTop + plot.t}px`);
    this.#mark.style.setProperty("--length", `${plot.h}px`);
  }

  /** @param {number} clientX */
  #chooseAt(clientX) {
    const axis = this.#axis;
    if (axis === null || this.#snapshots.length === 0) return;
    const x = axis.p2d(clientX - this.root.getBoundingClientRect().left - axis._offset);
    const far = (/** @type {any} */ one) => Math.abs(one.step - x);
    this.choose(this.#snapshots.reduce((near, one) => (far(one) < far(near) ? one : near)).step);
  }

  /** One drawing at a time: Plotly must not be asked again before it has finished. */
  async #draw() {
    this.#dirty = true;
    if (this.#drawing) return;
    this.#drawing = true;
    try {
      while (this.#dirty) {
        this.#dirty = false;
        await this.#drawOnce();
      }
    } finally {
      this.#drawing = false;
    }
  }

  async #drawOnce() {
    if (this.#snapshots.length === 0) return;
    const steps = this.#snapshots.map((one) => one.step);
    const told = (/** @type {string} */ name) => this.#snapshots.some((one) => one.summary[name] !== null && one.summary[name] !== undefined);
    const traces = this.definition.lines.flatMap((line, index) => {
      if (!told(line.series)) return [];
      const trace = this.definition.figure.data[index];
      const color = token(line.color);
      const y = this.#snapshots.map((one) => one.summary[line.series] ?? null);
      return [{ ...trace, x: steps, y, line: { ...trace.line, color }, marker: { ...trace.marker, color } }];
    });
    const layout = themed(structuredClone(this.definition.figure.layout));
    layout.width = this.root.clientWidth;
    layout.height = this.root.clientHeight || layout.height;
    layout.xaxis.title = { text: "step", standoff: 6 };
    await this.plotly.react(this.root, traces, layout, { displayModeBar: false, doubleClick: false });
    this.#isDrawn = true;
    this.#placeMark();
  }
}
