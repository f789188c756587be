// @ts-check
import { fill, h } from "../../lib/dom.js";
import { formatCount, formatPercent } from "../../lib/format.js";
import { segments } from "../../lib/shell.js";
import { doubt, told, tokenLegend } from "../evolution/tokens.js";
import { visible } from "../../lib/long_text.js";
import { changeLevel, mostChanged, tokenChanges } from "./token_changes.js";

const MOST = 5;

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {import("./token_changes.js").Change} Change
 */

/** The expected text, each token coloured by how probable it was, or by what it gained and lost since the snapshot before. */
export class TokenHeat {
  #view = "probability";
  /** @type {() => void} */
  #redraw = () => {};
  #body = h("div", { class: "heat" });

  constructor() {
    const button = (/** @type {string} */ view, /** @type {string} */ text) => h("button", { type: "button", dataset: { view, testid: `heat-${view}` }, "aria-pressed": String(view === "probability"), text });
    const choice = h("div", { class: "segments end", role: "group", "aria-label": "What the colours say" }, button("probability", "Probability"), button("change", "Change"));
    segments(choice, "view", (view) => {
      this.#view = view;
      this.#redraw();
    });
    this.choice = choice;
    this.element = this.#body;
  }

  /** @param {Point[]} points @param {number} index */
  mark(points, index) {
    this.#redraw = () => fill(this.#body, ...this.#draw(points, index));
    this.#redraw();
  }

  /** @param {Point[]} points @param {number} index */
  #draw(points, index) {
    const { tokens } = points[index];
    if (!tokens) return [h("p", { class: "muted", text: "This snapshot holds no probabilities of tokens." })];
    const before = points[index - 1] ?? null;
    const changes = before ? tokenChanges(tokens, before.tokens) : null;
    const since = before ? `step ${formatCount(before.step)}` : "";
    if (this.#view === "change" && !changes) return [h("p", { class: "muted", text: before ? `The tokens of ${since} were others: there is nothing to compare.` : "This is the first snapshot: there is nothing to compare with." })];
    const text = h("p", { class: "long-text tokens", dir: "auto", dataset: { testid: "tokens" } }, tokens.map(({ piece, value }, place) => {
      const change = changes?.[place] ?? null;
      const title = `${told(value)}${change ? `; at ${since} ${formatPercent(Math.exp(change.before), 1)}` : ""}`;
      const level = this.#view === "change" ? { change: String(change ? changeLevel(change.change) : 0) } : { doubt: String(doubt(value ?? -Infinity)) };
      return h("span", { class: "token", dataset: level, title, text: visible(piece) });
    }));
    return [text, this.#view === "change" ? changeLegend(since) : tokenLegend(), changes ? movers(changes, since) : null];
  }
}

/** @param {(Change | null)[]} changes @param {string} since */
function movers(changes, since) {
  const { gained, lost } = mostChanged(changes, MOST);
  const list = (/** @type {string} */ word, /** @type {Change[]} */ entries) =>
    entries.length === 0 ? null : h("div", {}, h("h4", { text: `${word} most since ${since}` }), h("ul", { class: "movers" }, entries.map(({ piece, before, now }) =>
      h("li", {}, h("code", { class: "token", dir: "auto", text: visible(piece).replaceAll(" ", "␣").replaceAll("\n", "⏎") }), h("span", { class: "num", text: ` ${probability(before)} → ${probability(now)}` })))));
  const shown = [list("Gained", gained), list("Lost", lost)].filter((one) => one !== null);
  return shown.length === 0 ? h("p", { class: "small muted", text: `Since ${since} hardly any token changed.` }) : h("div", { class: "movers-pair", dataset: { testid: "movers" } }, shown);
}

/** @param {number} logProbability */
function probability(logProbability) {
  const value = Math.exp(logProbability);
  return value < 0.0005 ? "< 0.1 %" : formatPercent(value);
}

/** @param {string} since */
function changeLegend(since) {
  const levels = /** @type {[number, string][]} */ ([[-3, "7 times less"], [-2, "half"], [-1, "less"], [0, "the same"], [1, "more"], [2, "twice"], [3, "7 times more probable"]]);
  return h("p", { class: "token-legend small muted" }, `Against ${since}: `, levels.map(([change, text]) => h("span", { class: "token", dataset: { change: String(change) }, text })));
}
