// @ts-check
import { fill, h, icon, svg } from "../../lib/dom.js";
import { formatCount, formatPercent } from "../../lib/format.js";
import { saidWhen, spanWords } from "./answers.js";
import { visible } from "../../lib/long_text.js";
import { ribbonBands } from "./ribbon_bands.js";
import { shareScale } from "./scales.js";
import { StepChart } from "./step_chart.js";

const MOST_BANDS = 8;
const SHORT = 120;
const MOST_SPANS = 6;

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {import("./ribbon_bands.js").Band} Band
 * @typedef {import("./step_chart.js").Place} Place
 */

/** How the probability was shared among labels, the right one at the foot; below it what was said. */
export class Ribbon {
  /** @type {Band[]} */
  #bands = [];
  /** @type {Map<string, SVGElement>} */
  #areas = new Map();
  #lit = "";

  /** @param {{choose: (index: number) => void}} options */
  constructor({ choose }) {
    this.chart = new StepChart({ height: 300, testid: "ribbon", choose, point: (index, value) => this.light(index === null ? null : this.#bandAt(index, value)?.label ?? null) });
    this.element = this.chart.element;
    this.legend = h("ol", { class: "bands", dataset: { testid: "bands" } });
  }

  /** @param {Point[]} points */
  show(points) {
    this.#bands = ribbonBands(points, MOST_BANDS);
    const right = this.#bands.find((band) => band.kind === "right");
    const told = (/** @type {number} */ index) => `${formatPercent(right?.values[index] ?? 0)} at step ${formatCount(points[index].step)}`;
    this.chart.show({
      steps: points.map((one) => one.step),
      scale: shareScale(),
      label: right ? `Probability of every label. The right one, ${short(right.label)}: ${told(0)}, ${told(points.length - 1)}.` : "Probability of every label.",
      paint: (place) => {
        this.#areas = new Map(this.#bands.map((band, row) => [band.label, areaOf(band, row, this.#bands[row - 1] ?? null, place)]));
        return [...this.#areas.values()].reverse();
      },
      words: (index, value) => {
        const band = this.#bandAt(index, value);
        const step = `Step ${formatCount(points[index].step)}`;
        return band ? `${short(band.label)} · ${formatPercent(band.values[index])} · ${step.toLowerCase()} · it said ${short(points[index].text)}` : step;
      },
    });
  }

  /** @param {Point[]} points @param {number} index */
  mark(points, index) {
    this.chart.mark(index);
    const said = points[index].text;
    fill(this.legend, this.#bands.map((band, row) => {
      const entry = h(
        "li",
        { class: `band ${toneOf(band, row)}`, tabindex: 0, dataset: { kind: band.kind } },
        h("span", { class: "swatch", "aria-hidden": "true" }),
        h("bdi", { class: "band-label", text: short(band.label) }),
        band.kind === "right" ? h("span", { class: "gold" }, icon("star"), "right") : null,
        band.label === said && band.kind !== "others" ? h("span", { class: "chip", text: "its answer" }) : null,
        h("span", { class: "band-share num", text: formatPercent(band.values[index]) }),
      );
      for (const [event, label] of /** @type {[string, string | null][]} */ ([["pointerenter", band.label], ["pointerleave", null], ["focus", band.label], ["blur", null]])) {
        entry.addEventListener(event, () => this.light(label));
      }
      return entry;
    }));
  }

  /** @param {string | null} label */
  light(label) {
    this.#areas.get(this.#lit)?.classList.remove("is-lit");
    this.#lit = label ?? "";
    this.chart.element.classList.toggle("has-lit", label !== null);
    this.#areas.get(this.#lit)?.classList.add("is-lit");
  }

  /** @param {number} index @param {number} value */
  #bandAt(index, value) {
    return this.#bands.find((band) => value <= band.tops[index]) ?? null;
  }
}

/** What it took the example for, most often first, each linked to nothing but its steps. @param {Point[]} points */
export function saidTable(points) {
  return h(
    "table",
    { class: "table small said", dataset: { testid: "said" } },
    h("thead", {}, h("tr", {}, ["It said", "Snapshots", "When"].map((text) => h("th", { scope: "col", text })))),
    h("tbody", {}, saidWhen(points).map(({ label, right, times, spans }) =>
      h(
        "tr",
        {},
        h("td", {}, h("span", { class: "verdict-mark", dataset: { right: String(right) } }, icon(right ? "check" : "cross", right ? "right" : "wrong")), h("bdi", { text: short(label) || "(nothing)" })),
        h("td", { class: "num", text: formatCount(times) }),
        h("td", { class: "num", text: whenWords(spans) }),
      ))),
  );
}

/** @param {{firstStep: number, lastStep: number}[]} spans */
function whenWords(spans) {
  const shown = spans.slice(-MOST_SPANS).map((span) => spanWords(span).replace(/^Steps? /, ""));
  const left = spans.length - shown.length;
  return `${left > 0 ? `${formatCount(left)} earlier times, ` : ""}${shown.join(", ")}`;
}

/** @param {Band} band @param {number} row */
function toneOf({ kind }, row) {
  return kind === "label" ? `tone-${row}` : `tone-${kind}`;
}

/** A single snapshot has no width of its own: it fills the whole. @param {Band} band @param {number} row @param {Band | null} under @param {Place} place */
function areaOf(band, row, under, place) {
  const count = band.tops.length;
  const xs = count === 1 ? [place.left, place.right] : band.tops.map((_, index) => place.x(index));
  const ys = (/** @type {(index: number) => number} */ top) => xs.map((x, index) => `${x.toFixed(1)} ${place.y(top(Math.min(index, count - 1))).toFixed(1)}`);
  const upper = ys((index) => band.tops[index]);
  const lower = ys((index) => under?.tops[index] ?? 0).reverse();
  return svg("path", { class: `band-area ${toneOf(band, row)}`, d: `M${[...upper, ...lower].join("L")}Z` });
}

/** @param {string} text */
function short(text) {
  return visible(text.length > SHORT ? `${Array.from(text.slice(0, SHORT)).slice(0, -1).join("")}…` : text);
}
