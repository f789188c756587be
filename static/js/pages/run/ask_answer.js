// @ts-check
/** How an answer of a trained model looks, by its kind. */
import { h } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";

/** @typedef {{id: string, title: string, text: string, score: number | null}} Found */
/** @typedef {{label: string, probability: number | null}} Label */
/** @typedef {{step: number, best: boolean, last: boolean}} Checkpoint */

const LONG = 220; // characters of a document that are shown before somebody asks for more

/** How wide each bar is, 0 to 1: scores against the best one, from 0 or from the worst if that is below. Pure. @param {(number | null)[]} scores */
export function barWidths(scores) {
  const known = scores.filter((score) => score !== null);
  const top = Math.max(0, ...known);
  const bottom = Math.min(0, ...known);
  return scores.map((score) => (score === null || top === bottom ? 0 : (score - bottom) / (top - bottom)));
}

/** `checkpoint of step 250 (best, last)`. Pure. @param {Checkpoint} checkpoint */
export function checkpointWords({ step, best, last }) {
  const names = [best ? "best" : "", last ? "last" : ""].filter(Boolean).join(", ");
  return `checkpoint of step ${formatCount(step)}${names ? ` (${names})` : ""}`;
}

/** How long something took, for a person. Pure. @param {number} seconds */
export function tookWords(seconds) {
  return seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : `${seconds.toFixed(1)} s`;
}

/** Where an answer comes from. Pure. @param {{checkpoint: Checkpoint, open_s: number, answer_s: number}} result */
export function originWords({ checkpoint, open_s, answer_s }) {
  const opened = open_s >= 0.1 ? `, after ${tookWords(open_s)} to open the model` : "";
  return `From the ${checkpointWords(checkpoint)} in ${tookWords(answer_s)}${opened}.`;
}

/** @param {any} answer @returns {HTMLElement} */
export function answerView(answer) {
  if (answer.kind === "ranking") return ranking(answer);
  if (answer.kind === "labels") return labels(answer);
  if (answer.kind === "completion") return completion(answer);
  return h("pre", { class: "ask-text", text: JSON.stringify(answer, null, 2) });
}

/** @param {{documents: Found[], num_candidates: number}} answer */
function ranking({ documents, num_candidates }) {
  const widths = barWidths(documents.map((one) => one.score));
  return h(
    "div",
    {},
    h("ol", { class: "ask-ranking", dataset: { testid: "ask-ranking" } }, documents.map((one, index) => found(one, index, widths[index]))),
    h("p", { class: "muted small", text: `The best of ${formatCount(num_candidates)} documents.` }),
  );
}

/** @param {Found} one @param {number} index @param {number} width */
function found(one, index, width) {
  const title = one.title || one.id;
  const text = one.text.startsWith(title) ? one.text.slice(title.length).trim() : one.text;
  return h(
    "li",
    { class: "ask-found" },
    h("span", { class: "ask-rank num muted", text: String(index + 1) }),
    h("div", { class: "ask-document" }, h("strong", { class: "mono", text: title }), snippet(text)),
    h("span", { class: "ask-score num" }, one.score === null ? "no number" : one.score.toFixed(4), bar(width)),
  );
}

/** @param {string} text */
function snippet(text) {
  if (!text) return null;
  if (text.length <= LONG) return h("p", { class: "ask-snippet muted", text });
  return h("details", { class: "ask-snippet muted" }, h("summary", { text: `${text.slice(0, LONG).replace(/\s+/g, " ").trim()} …` }), h("p", { text }));
}

/** @param {{labels: Label[]}} answer */
function labels(answer) {
  return h(
    "ol",
    { class: "ask-labels", dataset: { testid: "ask-labels" } },
    answer.labels.map(({ label, probability }, index) =>
      h(
        "li",
        { class: index === 0 ? "ask-label is-first" : "ask-label" },
        h("span", { class: "ask-label-name", text: label }),
        bar(probability ?? 0),
        h("span", { class: "num", text: probability === null ? "no number" : `${(probability * 100).toFixed(1)} %` }),
      )),
  );
}

/** @param {{prompt: string, completion: string, num_tokens: number, ended: string}} answer */
function completion({ prompt, completion: said, num_tokens, ended }) {
  const why = ended === "length" ? ": cut at the longest answer allowed" : "";
  return h(
    "div",
    {},
    h("pre", { class: "ask-text", dataset: { testid: "ask-completion" } }, h("span", { class: "muted", text: prompt }), h("span", { text: said })),
    h("p", { class: "muted small num", text: `${formatCount(num_tokens)} tokens${why}.` }),
  );
}

/** @param {number} share 0 to 1 */
function bar(share) {
  const inner = h("span", {});
  inner.style.setProperty("width", `${(Math.min(1, Math.max(0, share)) * 100).toFixed(1)}%`);
  return h("span", { class: "ask-bar", "aria-hidden": "true" }, inner);
}
