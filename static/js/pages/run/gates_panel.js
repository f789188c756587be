// @ts-check
/** GO or NO-GO: each gate of the run's recipe with what was measured, its threshold and the verdict. */
import { get } from "../../lib/api.js";
import { debounce, fill, find, h } from "../../lib/dom.js";
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";
import { toastError } from "../../lib/shell.js";

/**
 * @typedef {"go" | "no-go" | "unknown"} Verdict
 * @typedef {{metric: string, unit: string, at_least: boolean, threshold: number, newest: number | null, best: number | null}} Condition
 * @typedef {{name: string, title: string, help: string, kind: string, optional: boolean, newest: Verdict, best: Verdict, conditions: Condition[]}} Gate
 * @typedef {{verdict: Verdict, step: number} | null} Place
 * @typedef {{newest: Place, best: Place, gates: Gate[]}} Answer of GET /api/runs/ID/gates
 */

/** @type {Record<Verdict, string>} */
const WORDS = { go: "GO", "no-go": "NO-GO", unknown: "Not measured" };
/** Measures whose series' name says little to a reader. @type {Record<string, string>} */
const MEASURES = { index_p95_ms: "95 % of queries", mrr: "MRR", oracle: "own vector found" };

/** A measure as people read it. Pure. @param {number | null} value @param {string} unit */
export function valueWord(value, unit) {
  if (value === null) return "–";
  if (unit === "share") return formatPercent(value);
  return unit === "ms" ? `${formatNumber(value, 3)} ms` : formatNumber(value, 3);
}

/** What a condition asks for, e.g. `recall@5 ≥ 30.0%`. Pure. @param {Condition} one */
export function conditionWord(one) {
  const name = one.metric.replace(/^eval\//, "");
  return `${MEASURES[name] ?? name} ${one.at_least ? "≥" : "≤"} ${valueWord(one.threshold, one.unit)}`;
}

/** Whether one measure holds by itself. Pure. @param {Condition} one @param {"newest" | "best"} when @returns {Verdict} */
export function holds(one, when) {
  const value = one[when];
  if (value === null) return "unknown";
  return (one.at_least ? value >= one.threshold : value <= one.threshold) ? "go" : "no-go";
}

/** @param {Verdict} verdict @param {string} text @param {string} testid */
function badge(verdict, text, testid) {
  return h("span", { class: "gate-verdict", dataset: { verdict, testid }, text });
}

/** @param {Gate} gate @param {"newest" | "best"} when @param {string} label */
function cell(gate, when, label) {
  return h(
    "td",
    { class: "num", dataset: { label } },
    gate.conditions.map((one) => h("span", { class: "gate-value", dataset: { verdict: holds(one, when) }, text: valueWord(one[when], one.unit) })),
  );
}

/** @param {Gate} gate */
function row(gate) {
  const asked = gate.conditions.map(conditionWord).join(" or ");
  const failed = gate.newest === "no-go";
  return h(
    "tr",
    { dataset: { testid: "gate", gate: gate.name, verdict: gate.newest } },
    h("td", {}, h("strong", { text: gate.title }), gate.kind === "floor" ? h("span", { class: "muted small", text: " (ends the run)" }) : null, failed ? h("p", { class: "muted small", text: gate.help }) : null),
    h("td", { class: "num", dataset: { label: "Needs" }, text: asked }),
    cell(gate, "newest", "Now"),
    cell(gate, "best", "Best checkpoint"),
    h("td", { dataset: { label: "Verdict" } }, badge(gate.newest, gate.newest === "unknown" && gate.optional ? "Not needed yet" : WORDS[gate.newest], "gate-verdict")),
  );
}

/** The panel above the charts; absent for recipes without gates, and before anything was measured. */
export class GatesPanel {
  #soon = debounce(() => void this.load().catch(toastError), 400);

  /** @param {string} path of the run in the API */
  constructor(path) {
    this.path = path;
    this.root = find("#run-gates", HTMLElement);
  }

  async load() {
    this.#show(await get(`${this.path}/gates`));
  }

  /** @param {{series: {name: string}[]}} push points have come */
  points(push) {
    if (push.series.some(({ name }) => name.startsWith("eval/"))) this.#soon();
  }

  /** A checkpoint was saved, or the run goes on elsewhere: look soon. */
  soon() {
    this.#soon();
  }

  /** @param {Answer} answer */
  #show({ newest, best, gates }) {
    this.root.hidden = newest === null || gates.length === 0;
    if (newest === null || this.root.hidden) return;
    const head = ["Gate", "Needs", "Now", "Best checkpoint", "Verdict"];
    fill(
      this.root,
      h(
        "div",
        { class: "card-head" },
        h("h2", { text: "Gates" }),
        badge(newest.verdict, WORDS[newest.verdict], "gates-newest"),
        h("span", { class: "muted small num", text: `at step ${formatCount(newest.step)}` }),
        best === null ? null : h("span", { class: "end muted small num" }, "Best checkpoint, step ", formatCount(best.step), ": ", badge(best.verdict, WORDS[best.verdict], "gates-best")),
      ),
      h("div", { class: "table-scroll" }, h("table", { class: "table" }, h("thead", {}, h("tr", {}, head.map((text) => h("th", { text })))), h("tbody", {}, gates.map(row)))),
    );
  }
}
