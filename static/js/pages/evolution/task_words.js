// @ts-check
/** What the page calls things, by the kind of task its examples are of.  Pure. */
import { isOfStep } from "../../lib/evolution_address.js";
import { formatNumber, formatPercent } from "../../lib/format.js";

/** @typedef {{word: string, orders: [string, string][]}} OrderGroup */

/** @type {Record<string, [string, string][]>} */
const OWN_ORDERS = {
  retrieval: [["-rank", "Worst rank"], ["rank", "Best rank"], ["similarity", "Least similar find"], ["-similarity", "Most similar find"]],
  classification: [["similarity", "Right label least probable"], ["-similarity", "Right label most probable"], ["-rank", "Right label furthest down"]],
};
/** @type {[string, string][]} */
const TEXT_ORDERS = [["similarity", "Least similar answer"], ["-similarity", "Most similar answer"]];
/** @type {[string, string][]} */
const HISTORY_ORDERS = [
  ["learned_at", "Learned first"], ["-learned_at", "Learned last"], ["-num_forgotten", "Most often forgotten"], ["-flips", "Changed most often"],
  ["loss_change", "Loss fell most"], ["-loss_change", "Loss rose most"], ["confidence", "Least confident"], ["-variability", "Most variable"],
];

/** @type {Record<string, [string, (value: any) => string]>} */
const FACTS = {
  macro_f1: ["Macro-F1", formatPercent],
  ece: ["Calibration error", formatPercent],
  perplexity: ["Perplexity", formatNumber],
  similarity: ["Similarity", formatPercent],
  token_accuracy: ["Tokens right", formatPercent],
  empty_completions: ["Empty answers", formatPercent],
};

/** The orders that say something about a task, those of one kind together. @param {string} task @returns {OrderGroup[]} */
export function ordersOf(task) {
  return [
    { word: "As asked", orders: [["", "As asked"], ["example_id", "Id"]] },
    { word: "At this step", orders: [["-loss", "Highest loss"], ["loss", "Lowest loss"], ...(OWN_ORDERS[task] ?? TEXT_ORDERS)] },
    { word: "Over the training", orders: HISTORY_ORDERS },
  ];
}

/** Whether an order stays as it is when a new snapshot comes. @param {string} sort */
export function isLasting(sort) {
  return ["", "index", "-index", "example_id", "-example_id"].includes(sort) || isOfStep(sort);
}

/** A measure of a snapshot in words. @param {string} name @param {unknown} value @returns {[string, string]} */
export function factOf(name, value) {
  const known = FACTS[name];
  if (known) return [known[0], known[1](value)];
  const words = name.replaceAll("_", " ");
  const write = /^(recall|contain)@/.test(name) ? formatPercent : formatNumber;
  return [/^(mrr|ndcg)/i.test(name) ? name.replace(/^mrr/i, "MRR").replace(/^ndcg/i, "nDCG") : words.charAt(0).toUpperCase() + words.slice(1), write(/** @type {any} */ (value))];
}
