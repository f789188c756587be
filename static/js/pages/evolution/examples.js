// @ts-check
import { h, icon } from "../../lib/dom.js";
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";
import { labelled } from "./labels.js";
import { tokenPassage } from "./tokens.js";

const LONG_TEXT = 360;

/** One probe and what it was answered at this step. @param {any} example */
export function exampleCard(example) {
  const right = example.exact_match;
  return h(
    "li",
    { class: "card example", dataset: { testid: "example-card", correct: String(right), example: example.example_id } },
    h(
      "header",
      { class: "example-head" },
      h("span", { class: "badge", dataset: { state: right ? "correct" : "failed" } }, icon(right ? "check" : "cross"), right ? "Correct" : "Incorrect"),
      h("span", { class: "muted small mono example-id", text: example.example_id }),
      h("span", { class: "chips" }, numbers(example)),
    ),
    h(
      "div",
      { class: "example-body" },
      passage("Input", example.input),
      example.tokens ? tokenPassage("Expected", example.tokens) : passage("Expected", example.expected_output),
      answered(example),
    ),
  );
}

/** What came back, drawn as its kind of task is read. @param {any} example */
function answered(example) {
  if (example.top) return retrieved(example);
  if (example.probabilities) return labelled(example);
  return passage("Answer", example.model_output || "(nothing)");
}

/** @param {any} example */
function numbers({ rank, margin, score, loss, top, similarity, token_accuracy: guessed, probabilities, confidence }) {
  if (probabilities) return chips([["confidence", formatPercent(confidence)], ["right label", formatPercent(score)], ["its rank", rank], ["loss", loss]]);
  /** @type {[string, unknown][]} */
  const shown = top
    ? [["rank", rank], ["margin", margin], ["score", score], ["loss", loss]]
    : [["similarity", similarity === null || similarity === undefined ? null : formatPercent(similarity)], ["tokens right", guessed === null || guessed === undefined ? null : formatPercent(guessed)], ["loss", loss]];
  return chips(shown);
}

/** @param {[string, unknown][]} shown */
function chips(shown) {
  return shown
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([word, value]) => h("span", { class: "chip num" }, `${word} `, h("strong", { text: typeof value === "string" ? value : formatNumber(value, 3) })));
}

/** @param {string} word @param {string} text */
function passage(word, text) {
  const body = h("p", { class: "passage-text", text });
  const part = h("div", { class: "passage" }, h("h3", { text: word }), body);
  if (text.length > LONG_TEXT) {
    body.classList.add("is-folded");
    const more = h("button", { type: "button", class: "button button-quiet button-small", text: "Show all", "aria-expanded": "false" });
    more.addEventListener("click", () => {
      const folded = body.classList.toggle("is-folded");
      more.textContent = folded ? "Show all" : "Show less";
      more.setAttribute("aria-expanded", String(!folded));
    });
    part.append(more);
  }
  return part;
}

/** The documents that were found, best first, the gold one marked. @param {any} example */
function retrieved({ top, rank, gold }) {
  const scores = top.map((/** @type {any} */ one) => one.score ?? 0);
  const [low, high] = [Math.min(0, ...scores), Math.max(1e-9, ...scores)];
  const found = top.some((/** @type {any} */ one) => one.gold);
  return h(
    "div",
    { class: "passage retrieved" },
    h("h3", { text: "Retrieved" }),
    h(
      "ol",
      { class: "hits" },
      top.map((/** @type {any} */ one, /** @type {number} */ index) => {
        const bar = h("span", { class: "hit-bar" });
        bar.style.setProperty("--score", `${(((one.score ?? 0) - low) / (high - low)) * 100}%`);
        return h(
          "li",
          { class: "hit", dataset: { gold: String(one.gold), testid: one.gold ? "gold-hit" : "hit" } },
          bar,
          h("span", { class: "hit-rank num muted", text: index + 1 }),
          h("span", { class: "hit-title", text: one.title || one.document_id }),
          one.gold ? h("span", { class: "gold" }, icon("star"), "gold") : null,
          h("span", { class: "hit-score num muted", text: one.score === null ? "–" : one.score.toFixed(3) }),
        );
      }),
    ),
    found || !gold
      ? null
      : h("p", { class: "small muted", text: rank ? `The gold document is at rank ${formatCount(rank)}.` : "The gold document was not found." }),
  );
}
