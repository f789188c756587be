// @ts-check
import { diffText } from "../../lib/diff_view.js";
import { h, icon } from "../../lib/dom.js";
import { formatNumber } from "../../lib/format.js";
import { visible } from "../../lib/long_text.js";
import { diffWords } from "../../lib/text_diff.js";
import { signed } from "./comparison.js";

const SHOWN_CHARACTERS = 2_000;

/** One example before and after. @param {any} entry @param {string} href its own page */
export function compareEntry(entry, href) {
  const { from, to } = entry;
  return h(
    "li",
    { class: "card compared", dataset: { testid: "compared", example: entry.example_id } },
    h(
      "header",
      { class: "compared-head" },
      h("a", { class: "mono small compared-id", href, text: entry.example_id }),
      entry.group === null || entry.group === undefined || entry.group === "" ? null : h("span", { class: "chip", text: entry.group }),
      h("span", { class: "compared-numbers num" }, move("loss", from.loss, to.loss, signed(entry.change), entry.change), move("rank", from.rank, to.rank, null, (to.rank ?? 0) - (from.rank ?? 0))),
    ),
    h(
      "div",
      { class: "compared-body" },
      passage("Input", cut(entry.input)),
      passage("Expected", cut(entry.expected_output)),
      answers(from, to),
    ),
  );
}

/** @param {any} from @param {any} to */
function answers(from, to) {
  const [before, after] = [answerOf(from), answerOf(to)];
  if (before === after) return passage("Answered both times", after || "(nothing)", verdict(to.exact_match));
  if (from.top) {
    return h("div", { class: "compared-answers" }, passage("Found first before", before, verdict(from.exact_match)), passage("Found first after", after, verdict(to.exact_match)));
  }
  return h(
    "div",
    { class: "passage" },
    h("h3", {}, "Answer, ", verdict(from.exact_match), " before, ", verdict(to.exact_match), " after"),
    diffText(diffWords(before, after), "passage-text"),
  );
}

/** What a reader takes for the answer: of a retriever the title it found first. @param {any} answer */
function answerOf({ top, model_output: text }) {
  return cut(top?.length ? top[0].title || top[0].document_id : text);
}

/** @param {boolean} right */
function verdict(right) {
  return h("span", { class: "verdict", dataset: { right: String(right) } }, icon(right ? "check" : "cross"), right ? "right" : "wrong");
}

/** @param {string} word @param {string} text @param {HTMLElement} [mark] */
function passage(word, text, mark) {
  return h("div", { class: "passage" }, h("h3", {}, word, mark ? [" ", mark] : null), h("p", { class: "passage-text", dir: "auto", text: visible(text) }));
}

/** @param {string} word @param {any} before @param {any} after @param {string | null} by @param {number | null} change less is better */
function move(word, before, after, by, change) {
  if ((before ?? null) === null && (after ?? null) === null) return null;
  const way = !change ? "level" : change < 0 ? "better" : "worse";
  return h("span", { class: "chip", dataset: { way } }, `${word} ${formatNumber(before ?? null, 3)} → `, h("strong", { text: formatNumber(after ?? null, 3) }), by ? ` (${by})` : null);
}

/** @param {string} text */
function cut(text) {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
