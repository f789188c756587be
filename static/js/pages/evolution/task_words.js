// @ts-check
/** What the page calls things, by the kind of task its examples are of.  Pure. */
import { formatNumber, formatPercent } from "../../lib/format.js";

/** @typedef {"retrieval" | "classification" | "language"} Task */

/** @type {Record<Task, [string, string][]>} */
const SORTS = {
  retrieval: [["-rank", "Worst rank"], ["rank", "Best rank"], ["margin", "Smallest margin"], ["-margin", "Largest margin"]],
  classification: [["score", "Right label least probable"], ["-score", "Right label most probable"], ["margin", "Most clearly wrong"], ["-margin", "Most clearly right"]],
  language: [["similarity", "Least similar answer"], ["-similarity", "Most similar answer"], ["-output_length", "Longest answer"]],
};

/** @type {Record<string, [string, (value: any) => string]>} */
const FACTS = {
  macro_f1: ["Macro-F1", formatPercent],
  ece: ["Calibration error", formatPercent],
  perplexity: ["Perplexity", formatNumber],
  similarity: ["Similarity", formatPercent],
  token_accuracy: ["Tokens right", formatPercent],
  empty_completions: ["Empty answers", formatPercent],
};

/** What the examples are of. @param {any} example @returns {Task} */
export function taskOf(example) {
  if (example?.top) return "retrieval";
  return example?.probabilities ? "classification" : "language";
}

/** The orders that say something about a task; its own come after those of all. @param {Task} task @returns {[string, string][]} */
export function sortsOf(task) {
  return [["", "As asked"], ["-loss", "Highest loss"], ["loss", "Lowest loss"], ...SORTS[task], ["example_id", "Id"]];
}

/** A measure of a snapshot in words. @param {string} name @param {unknown} value @returns {[string, string]} */
export function factOf(name, value) {
  const known = FACTS[name];
  if (known) return [known[0], known[1](value)];
  const words = name.replaceAll("_", " ");
  const write = /^(recall|contain)@/.test(name) ? formatPercent : formatNumber;
  return [/^(mrr|ndcg)/i.test(name) ? name.replace(/^mrr/i, "MRR").replace(/^ndcg/i, "nDCG") : words.charAt(0).toUpperCase() + words.slice(1), write(/** @type {any} */ (value))];
}
