// @ts-check
import { axisValues, fromAxisRange, fullRange, timeUnit, toAxis, toAxisRange } from "./axis.js";
import { boundLines } from "./chart_lines.js";
import { markNotes, markShapes } from "./chart_marks.js";
import { h, icon, setText } from "./dom.js";
import { formatBytes, formatNumber, formatPercent } from "./format.js";
import { smooth } from "./smoothing.js";
import { token } from "./theme.js";

const FASTEST_MS = 80;
const DRAG_SETTLES_MS = 500;
const CONFIG = {
  displaylogo: false,
  responsive: false,
  doubleClick: false,
  showTips: false,
  modeBarButtons: [["toImage"]],
  toImageButtonOptions: { format: "png", scale: 2 },
};

/**
 * @typedef {import("./chart_lines.js").Definition} Definition
 * @typedef {import("./chart_marks.js").Mark} Mark
 * @typedef {object} View what all charts of a page share
 * @property {import("./axis.js").XKind} x @property {number} origin @property {number} smoothing
 * @property {boolean} logX @property {boolean} logY @property {boolean} markers
 * @property {[number, number] | null} zoom in steps, or Unix seconds
 * @property {Mark[]} marks
 */

/** One card with a Plotly chart: drawn only while it is on screen, about ten times a second at most. */
export class ChartCard {
  #dirty = false;
  #drawing = false;
  #visible = false;
  #timer = 0;
  #drawnAt = 0;
  #width = 0;
  #started = false;
  #logY = false;
  #held = false;
  /** @type {import("./axis.js").Unit} */
  #unit = { divisor: 1, word: "seconds" };

  /**
   * @param {Definition} definition
   * @param {object} page
   * @param {any} page.plotly @param {View} page.view @param {import("./turns.js").Turns} page.turns
   * @param {() => string[]} page.names series there are
   * @param {(name: string) => import("./series.js").Columns} page.columns
   * @param {(zoom: [number, number] | null) => void} page.onZoom
   */
  constructor(definition, page) {
    this.definition = definition;
    this.page = page;
    this.plot = h("div", { class: "chart-plot" });
    this.empty = h("p", { class: "chart-empty muted", text: definition.empty });
    this.value = h("span", { class: "chart-value num" });
    this.logButton = h("button", {
      type: "button", class: "button button-quiet button-small", text: "log", "aria-pressed": "false",
      title: "Logarithmic y axis", onclick: () => this.#toggleLog(),
    });
    this.expandButton = h("button", {
      type: "button", class: "button button-quiet button-small button-icon expand", "aria-pressed": "false",
      "aria-label": `Widen ${definition.title}`, title: "Widen", onclick: () => this.#toggleWide(),
    }, icon("expand"));
    this.element = h(
      "article",
      { class: "card chart-card", dataset: { testid: `chart-${definition.key}`, chart: definition.key } },
      h("header", { class: "chart-head", title: definition.help }, h("h3", { text: definition.title }), this.value,
        h("span", { class: "end" }, definition.log ? this.logButton : null, this.expandButton)),
      h("div", { class: "chart" }, this.plot, this.empty),
    );
    this.#observe();
  }

  /** Redraw soon. */
  refresh() {
    this.#dirty = true;
    // a chart nobody asked for stays away until there is something in it
    if (this.definition.empty === "") this.element.hidden = this.bound.length === 0;
    // one that is not drawn yet, being out of sight, must not say that there is nothing
    if (!this.empty.hidden && this.bound.length > 0) this.empty.hidden = true;
    if (!this.#visible || this.#drawing || this.#held || this.#timer !== 0) return;
    const wait = Math.max(0, this.#drawnAt + FASTEST_MS - performance.now());
    this.#timer = window.setTimeout(() => this.page.turns.take(() => this.#draw()), wait);
  }

  get visible() {
    return this.#visible;
  }

  /** Series this card shows now. */
  get bound() {
    return boundLines(this.definition, this.page.names());
  }

  #observe() {
    new IntersectionObserver(
      (entries) => {
        this.#visible = entries.at(-1)?.isIntersecting ?? false;
        if (this.#visible && this.#dirty) this.refresh();
      },
      { rootMargin: "60px" },
    ).observe(this.element);
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - this.#width) < 1) return;
      this.#width = entry.contentRect.width;
      if (this.#started) this.refresh();
    }).observe(this.plot);
  }

  #toggleLog() {
    this.#logY = !this.#logY;
    this.logButton.setAttribute("aria-pressed", String(this.#logY));
    this.refresh();
  }

  #toggleWide() {
    const wide = this.element.classList.toggle("wide");
    this.expandButton.setAttribute("aria-pressed", String(wide));
    this.refresh();
  }

  async #draw() {
    this.#timer = 0;
    if (!this.#visible || this.#held) return;
    this.#dirty = false;
    this.#drawing = true; // Plotly must not be asked again before it has finished
    try {
      await this.#drawOnce();
    } finally {
      this.#drawing = false;
      this.#drawnAt = performance.now();
    }
    if (this.#dirty) this.refresh();
  }

  async #drawOnce() {
    const bound = this.bound;
    const lines = bound
      .map((one) => ({ ...one, columns: this.page.columns(one.name) }))
      .filter(({ columns }) => columns.steps.length > 0);
    const [main] = this.definition.lines;
    this.element.dataset.points = String(lines.find(({ line }) => line === main)?.columns.steps.length ?? 0);
    this.empty.hidden = bound.length > 0;
    this.plot.classList.toggle("is-empty", lines.length === 0);
    this.#showValue(lines);
    if (lines.length === 0) return;
    const layout = this.#layout(lines);
    await this.page.plotly.react(this.plot, this.#traces(lines), layout, CONFIG);
    if (!this.#started) this.#listen();
  }

  /** @param {any[]} lines */
  #showValue(lines) {
    // the widest line is the one that matters most
    const lead = lines.reduce((best, one) => ((one.trace.line.width ?? 0) > (best?.trace.line.width ?? 0) ? one : best), lines[0]);
    const value = lead?.columns.values.at(-1);
    const write = { percent: formatPercent, bytes: formatBytes }[this.definition.y_format] ?? formatNumber;
    const label = lines.length > 1 ? `${lead.label} ` : "";
    setText(this.value, value === undefined ? "" : `${label}${write(value)}`);
  }

  /** @param {any[]} lines */
  #traces(lines) {
    const { view } = this.page;
    const xView = this.#xView();
    const traces = lines.flatMap(({ columns, line, label, trace }, index) => {
      const color = token(colorOf(line, index));
      const x = axisValues(xView, this.#unit, columns);
      const mode = columns.steps.length === 1 ? "lines+markers" : trace.mode; // a line through one point is not to be seen
      const base = { ...trace, mode, name: label, x, line: { ...trace.line, color }, marker: { ...trace.marker, color } };
      if (!line.smooth || view.smoothing === 0) return [{ ...base, y: columns.values }];
      return [
        { ...base, y: columns.values, opacity: 0.25, hoverinfo: "skip", hovertemplate: null, showlegend: false, line: { ...base.line, width: 1 } },
        { ...base, y: smooth(columns.values, view.smoothing) },
      ];
    });
    if (traces.every((trace) => trace.yaxis === "y2")) {
      // an axis that overlays another needs a trace on both, even while only one series has come
      traces.push({ type: "scatter", x: [traces[0].x[0]], y: [null], showlegend: false, hoverinfo: "skip" });
    }
    return traces;
  }

  /** Steps stand still while a dataset loads, samples of the machine do not: those run over time. */
  get #ownTime() {
    return this.definition.over_time && this.page.view.x === "step";
  }

  /** @returns {import("./axis.js").XView} */
  #xView() {
    const { view } = this.page;
    const kind = this.#ownTime ? "relative" : view.x;
    return { kind, origin: view.origin, log: view.logX && kind === "step" };
  }

  /** @param {any[]} lines */
  #layout(lines) {
    const { view } = this.page;
    const x = this.#xView();
    this.#unit = timeUnit(x.kind === "relative" ? newestTime(lines) - view.origin : 0);
    const layout = themed(structuredClone(this.definition.figure.layout));
    layout.width = this.#width || this.plot.clientWidth;
    layout.height = this.element.classList.contains("wide") ? 420 : this.plot.clientHeight || layout.height;
    layout.xaxis.type = x.kind === "wall" ? "date" : x.log ? "log" : "linear";
    layout.xaxis.title = { text: x.kind === "step" ? "step" : x.kind === "relative" ? this.#unit.word : "", standoff: 6 };
    if (this.#ownTime) layout.dragmode = false;
    const margin = lines.some(({ trace }) => trace.mode.includes("markers")) ? 0.02 : 0;
    layout.xaxis.autorange = false;
    layout.xaxis.range =
      view.zoom && !this.#ownTime
        ? toAxisRange(x, this.#unit, view.zoom)
        : fullRange(x, this.#unit, lines.map((one) => one.columns), margin);
    if (this.definition.log && view.logY !== this.#logY) layout.yaxis.type = "log";
    layout.showlegend = lines.length > 1;
    const marks = view.markers ? view.marks : [];
    const place = { x: (/** @type {Mark} */ mark) => toAxis(x, this.#unit, mark.step, mark.time), log: x.log, range: layout.xaxis.range, width: layout.width - layout.margin.l - layout.margin.r };
    layout.shapes = markShapes(marks, place, token);
    layout.annotations = markNotes(marks, place, token);
    return layout;
  }

  /** While somebody points at a mark the chart stands still: drawing anew would take the words away. @param {boolean} yes */
  #hold(yes) {
    this.#held = yes;
    if (!yes && this.#dirty) this.refresh();
  }

  #listen() {
    this.#started = true;
    this.plot.addEventListener("pointerover", (event) => this.#hold(/** @type {Element} */ (event.target).closest(".annotation") !== null));
    this.plot.addEventListener("pointerleave", () => this.#hold(false));
    const plot = /** @type {any} */ (this.plot);
    // Plotly also reports ranges that it chose itself: only what follows a drag is the reader's zoom
    let draggedAt = -Infinity;
    this.plot.addEventListener("pointerdown", () => {
      addEventListener("pointerup", () => (draggedAt = performance.now()), { once: true });
    });
    plot.on("plotly_relayout", (/** @type {any} */ change) => {
      const range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (range[0] === undefined || range[1] === undefined || performance.now() - draggedAt > DRAG_SETTLES_MS) return;
      this.page.onZoom(fromAxisRange(this.#xView(), this.#unit, /** @type {any} */ (range)));
    });
    plot.on("plotly_doubleclick", () => this.page.onZoom(null));
  }
}

const PALETTE = ["--chart-1", "--chart-2", "--chart-3", "--chart-4", "--chart-5"];

/** Series that one pattern stands for take the palette's colours in turn. @param {import("./chart_lines.js").Line} line @param {number} index */
function colorOf(line, index) {
  return line.series.includes("*") ? PALETTE[index % PALETTE.length] : line.color;
}

/** @param {any[]} lines */
function newestTime(lines) {
  return lines.reduce((newest, { columns }) => Math.max(newest, columns.times.at(-1) ?? 0), 0);
}

/** Page colours and type for a layout. @param {any} layout */
export function themed(layout) {
  const [text, grid] = [token("--color-muted"), token("--color-grid")];
  const font = { family: getComputedStyle(document.body).fontFamily, size: 11, color: text };
  const axis = { gridcolor: grid, linecolor: grid, tickcolor: grid, zerolinecolor: grid, spikecolor: token("--color-border-strong") };
  layout.paper_bgcolor = "rgba(0,0,0,0)";
  layout.plot_bgcolor = "rgba(0,0,0,0)";
  layout.font = font;
  layout.hoverlabel = { bgcolor: token("--color-surface"), bordercolor: token("--color-border-strong"), font: { ...font, color: token("--color-text") } };
  layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: token("--color-muted"), activecolor: token("--color-text") };
  for (const name of ["xaxis", "yaxis", "yaxis2"]) {
    if (layout[name]) layout[name] = { ...axis, ...layout[name], gridcolor: grid };
  }
  return layout;
}
