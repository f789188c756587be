// @ts-check
/** What became of an example, as a sentence.  Pure. */
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";

/** @typedef {import("./reading.js").Point} Point */

/** @type {Record<string, string>} */
const CATEGORIES = { learned: "Learned", struggling: "Struggling", not_learned: "Not learned", forgotten: "Forgotten", flip_flopping: "Flip-flopping" };

/** @param {string} category */
export function categoryWord(category) {
  return CATEGORIES[category] ?? category.replaceAll("_", " ");
}

/**
 * @param {{category: string, learned_at: number | null, flips: number, num_forgotten?: number | null}} example
 * @param {Point[]} points
 */
export function whatBecame({ category, learned_at: learnedAt, flips, num_forgotten: forgotten }, points) {
  const since = learnedAt === null ? "" : learnedAt === points[0].step ? "right from the first snapshot on" : `right since step ${formatCount(learnedAt)}`;
  if (category === "flip_flopping") {
    return `Changed between right and wrong ${formatCount(flips)} times; ${since || `wrong since step ${formatCount(wrongSince(points))}`}.`;
  }
  if (category === "learned") {
    if (learnedAt === points[0].step) return points.length === 1 ? "Right in the only snapshot there is." : "Right from the first snapshot on.";
    return `Learned at step ${formatCount(learnedAt)} and right ever since${forgotten ? `, after having been forgotten ${timesWord(forgotten)}` : ""}.`;
  }
  if (category === "forgotten") {
    const step = wrongSince(points);
    const right = points.filter((one) => one.right);
    const last = right.at(-1);
    if (right.length === 1) return `Right at step ${formatCount(last?.step)} only, wrong ever since.`;
    return `Right until step ${formatCount(last?.step)}, forgotten at step ${formatCount(step)} and wrong ever since.`;
  }
  return `${points.length === 1 ? "Wrong in the only snapshot there is" : "Never right so far"}${lossWords(points)}.`;
}

/** Step of the first snapshot after which it was never right again. @param {Point[]} points */
function wrongSince(points) {
  const last = points.findLastIndex((one) => one.right);
  return points[Math.min(last + 1, points.length - 1)].step;
}

/** @param {number} count */
function timesWord(count) {
  return count === 1 ? "once" : count === 2 ? "twice" : `${formatCount(count)} times`;
}

/** @param {Point[]} points */
function lossWords(points) {
  const [first, last] = [points[0].loss, points.at(-1)?.loss ?? null];
  if (first === null || last === null || points.length < 2 || first <= 0) return "";
  const fall = 1 - last / first;
  if (Math.abs(fall) < 0.005) return "; its loss is where it was at first";
  const change = fall > 0 ? `has fallen by ${formatPercent(fall, 0)}` : `has risen by ${formatPercent(-fall, 0)}`;
  return `${fall >= 0.1 ? ", but" : "; "}${fall >= 0.1 ? " its" : "its"} loss ${change}`;
}

/** What is said of one snapshot beside right or wrong. @param {Point} point @param {import("./reading.js").Task} task */
export function pointWords(point, task) {
  const words = [];
  if (task === "retrieval" && point.rank !== null) words.push(`rank ${formatCount(point.rank)}`);
  if (task === "classification" && point.similarity !== null) words.push(`right label ${formatPercent(point.similarity)}`);
  if ((task === "language" || task === "text") && point.similarity !== null) words.push(`similarity ${formatPercent(point.similarity, 0)}`);
  if (point.loss !== null) words.push(`loss ${formatNumber(point.loss, 3)}`);
  return words.join(" · ");
}
