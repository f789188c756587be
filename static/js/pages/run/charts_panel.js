// @ts-check
import { zoomField } from "../../lib/axis.js";
import { ChartCard } from "../../lib/chart.js";
import { boundLines, plainDefinition, unclaimed } from "../../lib/chart_lines.js";
import { find, h, setText } from "../../lib/dom.js";
import { loadPlotly } from "../../lib/plotly.js";
import { segments, toastError } from "../../lib/shell.js";
import { onThemeChange } from "../../lib/theme.js";
import { Turns } from "../../lib/turns.js";

const KEPT = "signalbox.charts";

/** The Charts tab: cards in sections, and the tools that all of them share. */
export class ChartsPanel {
  /** @type {ChartCard[]} */
  #cards = [];
  /** @type {import("../../lib/chart_lines.js").Definition[]} */
  #waiting = [];
  /** @type {any} */
  #plotly = null;
  /** @type {Map<string, HTMLElement>} */
  #sections = new Map();
  #turns = new Turns();

  /**
   * @param {import("../../lib/chart_lines.js").Definition[]} definitions
   * @param {import("./series_store.js").SeriesStore} store
   * @param {number} origin Unix seconds where "elapsed" starts
   */
  constructor(definitions, store, origin) {
    this.definitions = definitions;
    this.store = store;
    this.root = find("#chart-sections", HTMLElement);
    /** @type {import("../../lib/chart.js").View} */
    this.view = { x: "step", smoothing: 0.6, logX: false, logY: false, markers: true, ...remembered(), origin, zoom: null, marks: [] };
    store.onChange((name) => this.#seriesChanged(name));
    onThemeChange(() => this.refresh());
    this.#tools();
  }

  /** @param {string} plotlyUrl @param {{sparse?: boolean}} [how] sparse: but for the first, charts come with their points */
  async open(plotlyUrl, { sparse = false } = {}) {
    const first = sparse ? this.definitions.slice(0, 1) : this.definitions;
    this.#waiting = this.definitions.slice(first.length);
    for (const definition of first) this.#section(definition.section);
    this.#plotly = await loadPlotly(plotlyUrl);
    for (const definition of first) this.#add(definition);
    this.#addUnclaimed();
  }

  refresh() {
    for (const card of this.#cards) card.refresh();
  }

  /** @param {import("../../lib/chart.js").Mark[]} marks */
  setMarks(marks) {
    this.view.marks = marks;
    this.refresh();
  }

  /** @param {number} origin */
  setOrigin(origin) {
    if (this.view.origin === origin) return;
    this.view.origin = origin;
    this.refresh();
  }

  /** @param {string} name */
  #seriesChanged(name) {
    if (this.#plotly) this.#addUnclaimed();
    for (const card of this.#cards) {
      if (card.bound.some((one) => one.name === name)) card.refresh();
    }
  }

  #addUnclaimed() {
    const due = this.#waiting.filter((one) => boundLines(one, this.store.names).length > 0);
    this.#waiting = this.#waiting.filter((one) => !due.includes(one));
    for (const definition of due) this.#add(definition);
    const known = this.#cards.map((card) => card.definition);
    for (const name of unclaimed(known, this.store.names)) this.#add(plainDefinition(name, this.definitions[0]));
  }

  /** @param {import("../../lib/chart_lines.js").Definition} definition */
  #add(definition) {
    const card = new ChartCard(definition, {
      plotly: this.#plotly,
      view: this.view,
      turns: this.#turns,
      names: () => this.store.names,
      columns: (name) => this.store.columns(name),
      onZoom: (zoom) => this.#zoom(zoom),
    });
    this.#cards.push(card);
    this.#section(definition.section).append(card.element);
    card.refresh();
  }

  /** @param {string} title */
  #section(title) {
    const known = this.#sections.get(title);
    if (known) return known;
    const grid = h("div", { class: "chart-grid" });
    this.root.append(h("section", { class: "chart-section" }, h("h2", { text: title }), grid));
    this.#sections.set(title, grid);
    return grid;
  }

  /** @param {[number, number] | null} zoom */
  #zoom(zoom) {
    this.view.zoom = zoom;
    find("#reset-zoom", HTMLElement).hidden = zoom === null;
    const names = this.#cards.filter((card) => card.visible && !(card.definition.over_time && this.view.x === "step")).flatMap((card) => card.bound.map((one) => one.name));
    this.store.zoom([...new Set(names)], zoomField({ kind: this.view.x, origin: 0, log: false }), zoom).catch(toastError);
    this.refresh();
  }

  #tools() {
    const { view } = this;
    const slider = find("#smoothing", HTMLInputElement);
    const output = find("#smoothing-value", HTMLElement);
    slider.value = String(view.smoothing);
    setText(output, view.smoothing.toFixed(2));
    slider.addEventListener("input", () => {
      view.smoothing = Number(slider.value);
      setText(output, view.smoothing.toFixed(2));
      this.#keep();
    });
    const press = segments(find("#x-axis", HTMLElement), "x", (kind) => {
      view.x = /** @type {any} */ (kind);
      this.#zoom(null);
      this.#keep();
    });
    press(view.x);
    for (const [id, key] of /** @type {const} */ ([["log-x", "logX"], ["log-y", "logY"], ["markers", "markers"]])) {
      const button = find(`#${id}`, HTMLElement);
      button.setAttribute("aria-pressed", String(view[key]));
      button.addEventListener("click", () => {
        view[key] = !view[key];
        button.setAttribute("aria-pressed", String(view[key]));
        if (key === "logX") this.#zoom(null);
        this.#keep();
      });
    }
    find("#reset-zoom", HTMLElement).addEventListener("click", () => this.#zoom(null));
  }

  #keep() {
    const { x, smoothing, logX, logY, markers } = this.view;
    try {
      localStorage.setItem(KEPT, JSON.stringify({ x, smoothing, logX, logY, markers }));
    } catch {
      // not remembered, still applied
    }
    this.refresh();
  }
}

/** @returns {object} the reader's last settings, if they make sense */
function remembered() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    const valid = ["step", "relative", "wall"].includes(kept.x) && kept.smoothing >= 0 && kept.smoothing < 1;
    return valid ? { x: kept.x, smoothing: kept.smoothing, logX: !!kept.logX, logY: !!kept.logY, markers: !!kept.markers } : {};
  } catch {
    return {};
  }
}
