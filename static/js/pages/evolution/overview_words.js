// @ts-check
/** A snapshot's measures against those before it, in numbers and words.  Pure. */
import { formatCount, formatDuration, formatNumber, formatPercent, toNumber } from "../../lib/format.js";
import { factOf } from "./task_words.js";

/** @typedef {{text: string, tone: "good" | "bad" | "same"}} Change */
/** @typedef {{name: string, word: string, value: string, note: string, first: Change | null, previous: Change | null}} Measure */

const NOT_MEASURES = new Set(["accuracy", "avg_loss", "total_examples", "correct", "incorrect", "num_candidates"]);
const SHARES = /^(accuracy|macro_f1|ece|similarity|token_accuracy|empty_completions|(recall|contain)@.*)$/;
const SMALLER_IS_BETTER = /loss|perplexity|rank|^ece$|^empty_completions$/;
const SHOWN = 6;

/**
 * How a measure moved: `+31.0 points, better`.  Null where one of the two is missing.
 * @param {string} name @param {unknown} value @param {unknown} before @returns {Change | null}
 */
export function changeOf(name, value, before) {
  const [now, then] = [toNumber(value), toNumber(before)];
  if (now === null || then === null || !Number.isFinite(now - then)) return null;
  const size = SHARES.test(name) ? `${Math.abs((now - then) * 100).toFixed(1)} points` : formatNumber(Math.abs(now - then), 3);
  if (Number.parseFloat(size) === 0) return { text: "unchanged", tone: "same" };
  const rose = now > then;
  const isBetter = rose !== SMALLER_IS_BETTER.test(name);
  return { text: `${rose ? "+" : "−"}${size}, ${isBetter ? "better" : "worse"}`, tone: isBetter ? "good" : "bad" };
}

/**
 * The measures of the chosen snapshot, each with its change against the first and the previous one.
 * @param {any} summary @param {any} first null where the chosen one is the first @param {any} previous
 * @returns {Measure[]}
 */
export function measuresOf(summary, first, previous) {
  const changes = (/** @type {string} */ name) => ({
    first: first ? changeOf(name, summary[name], first[name]) : null,
    previous: previous ? changeOf(name, summary[name], previous[name]) : null,
  });
  const others = Object.keys(summary).filter((name) => !NOT_MEASURES.has(name)).slice(0, SHOWN - 2);
  return [
    { name: "accuracy", word: "Correct", value: formatPercent(summary.accuracy), note: `${formatCount(summary.correct)} of ${formatCount(summary.total_examples)}`, ...changes("accuracy") },
    { name: "avg_loss", word: "Loss", value: formatNumber(summary.avg_loss), note: "", ...changes("avg_loss") },
    ...others.map((name) => {
      const [word, value] = factOf(name, summary[name]);
      return { name, word, value, note: "", ...changes(name) };
    }),
  ];
}

/**
 * What guessing would give, where it is known: `{accuracy, avg_loss}`, each a sentence or undefined.
 * @param {{task: string, summary: any, latest: Record<string, number | null>}} facts `latest` of the run
 * @returns {{accuracy?: string, avg_loss?: string}}
 */
export function chanceOf({ task, summary, latest }) {
  if (task === "retrieval") {
    const candidates = toNumber(summary.num_candidates);
    return candidates ? { accuracy: `by chance ${formatPercent(1 / candidates, 2)}, one of ${formatCount(candidates)}` } : {};
  }
  if (task === "classification") {
    const share = toNumber(latest["eval/chance_accuracy"]);
    return share === null ? {} : { accuracy: `the most frequent label alone: ${formatPercent(share)}` };
  }
  const loss = toNumber(latest["train/chance_loss"]);
  return task === "language_model" && loss !== null ? { avg_loss: `by chance ${formatNumber(loss)}` } : {};
}

/**
 * What all snapshots have cost, beside the time the run has been running.
 * @param {{cost_s: number | null}[]} snapshots
 * @param {{started_at: number | null, ended_at: number | null}[]} attempts @param {number} now Unix seconds
 * @returns {{text: string, title: string} | null} null where nothing was measured
 */
export function costOf(snapshots, attempts, now) {
  const costs = snapshots.map((one) => one.cost_s).filter((cost) => cost !== null && cost !== undefined);
  if (costs.length === 0) return null;
  const spent = costs.reduce((sum, cost) => sum + cost, 0);
  const ran = attempts.reduce((sum, one) => sum + (one.started_at === null ? 0 : Math.max(0, (one.ended_at ?? now) - one.started_at)), 0);
  const title = `${formatDuration(spent)} for ${formatCount(costs.length)} snapshots`;
  if (ran <= spent) return { text: formatDuration(spent), title };
  return { text: `${formatPercent(spent / ran, spent / ran < 0.01 ? 2 : 1)} of the run's time`, title: `${title}, of ${formatDuration(ran)} the run has run` };
}

/** Why a timeline does not show all snapshots there are. @param {number} count of those it does not @returns {{text: string, title: string}} */
export function othersWords(count) {
  const text = `${formatCount(count)} more asked other probes`;
  return { text, title: `${text} and are not shown; the run's checkpoints can be asked the present ones, on its tab Checkpoints` };
}

/**
 * Snapshots that were not taken, those of one reason together.
 * @param {{step: number, reason: string | null}[]} skipped @returns {{steps: number[], reason: string}[]}
 */
export function skippedByReason(skipped) {
  /** @type {Map<string, {steps: number[], reason: string}>} */
  const reasons = new Map();
  for (const { step, reason } of skipped) {
    const kind = (reason ?? "").replaceAll(/\d+(\.\d+)?/g, "#"); // the same words with other numbers
    const entry = reasons.get(kind) ?? { steps: [], reason: reason ?? "No reason was given." };
    entry.steps.push(step);
    reasons.set(kind, entry);
  }
  return [...reasons.values()];
}
