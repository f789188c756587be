// @ts-check
import { themed } from "../../lib/chart.js";
import { onThemeChange, token } from "../../lib/theme.js";

/** Accuracy and loss of all snapshots, with a line at the chosen one; a click chooses. */
export class Curve {
  /** @type {any[]} */
  #snapshots = [];
  #step = 0;
  #listening = false;
  #dirty = false;
  #drawing = false;

  /**
   * @param {HTMLElement} root @param {any} plotly
   * @param {import("../../lib/chart_lines.js").Definition} definition @param {(step: number) => void} choose
   */
  constructor(root, plotly, definition, choose) {
    this.root = root;
    this.plotly = plotly;
    this.definition = definition;
    this.choose = choose;
    onThemeChange(() => void this.#draw());
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) < 1) return;
      width = entry.contentRect.width;
      void this.#draw();
    }).observe(root);
  }

  /** @param {any[]} snapshots @param {number} step */
  show(snapshots, step) {
    this.#snapshots = snapshots;
    this.#step = step;
    void this.#draw();
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
    layout.xaxis.title = { text: "step", standoff: 6 };
    layout.shapes = [{ type: "line", xref: "x", yref: "paper", x0: this.#step, x1: this.#step, y0: 0, y1: 1, line: { color: token("--color-link"), width: 1.5 } }];
    await this.plotly.react(this.root, traces, layout, { displayModeBar: false, doubleClick: false });
    if (this.#listening) return;
    this.#listening = true;
    /** @type {any} */ (this.root).on("plotly_click", (/** @type {any} */ event) => {
      if (event.points.length > 0) this.choose(Number(event.points[0].x));
    });
  }
}
