// @ts-check
/** The details of a classifier's evaluation, made ready to draw. Pure, so that node can test it. */

/**
 * @typedef {object} LabelMeasures
 * @property {string} name @property {number} support @property {number} predicted
 * @property {number} precision @property {number} recall @property {number} f1
 * @typedef {{lower: number, upper: number, count: number, confidence: number, accuracy: number}} Bin
 * @typedef {object} Evaluation of GET /api/runs/ID/evaluations/STEP
 * @property {number} step @property {LabelMeasures[]} labels @property {[number, number, number][]} confusion
 * @property {Bin[]} bins @property {number} accuracy @property {number} macro_f1 @property {number} ece
 * @property {number} loss @property {{majority: number, uniform: number}} [chance]
 */

export const MOST_IN_MATRIX = 40;

/** The labels a matrix has room for, the most frequent ones, in their own order. @param {LabelMeasures[]} labels */
export function shownLabels(labels) {
  const places = labels.map((_, index) => index);
  if (places.length <= MOST_IN_MATRIX) return places;
  const frequent = [...places].sort((one, other) => labels[other].support - labels[one].support).slice(0, MOST_IN_MATRIX);
  return frequent.sort((one, other) => one - other);
}

/**
 * Rows of truth with a cell per prediction; the share is that of the row.
 * @param {Evaluation} evaluation
 */
export function matrixOf({ labels, confusion }) {
  const shown = shownLabels(labels);
  const counts = new Map(confusion.map(([truth, prediction, count]) => [`${truth},${prediction}`, count]));
  return shown.map((truth) => ({
    name: labels[truth].name,
    cells: shown.map((prediction) => {
      const count = counts.get(`${truth},${prediction}`) ?? 0;
      return { truth: labels[truth].name, prediction: labels[prediction].name, right: truth === prediction, count, share: labels[truth].support ? count / labels[truth].support : 0 };
    }),
  }));
}

/** The wrong answers given most often. @param {Evaluation} evaluation @param {number} most */
export function mistakesOf({ labels, confusion }, most) {
  return confusion
    .filter(([truth, prediction]) => truth !== prediction)
    .sort((one, other) => other[2] - one[2] || one[0] - other[0] || one[1] - other[1])
    .slice(0, most)
    .map(([truth, prediction, count]) => ({ truth: labels[truth].name, prediction: labels[prediction].name, count, share: labels[truth].support ? count / labels[truth].support : 0 }));
}

/**
 * Labels by one of their measures; equal ones keep their order.
 * @param {LabelMeasures[]} labels @param {keyof LabelMeasures} column @param {boolean} falling
 */
export function sortedLabels(labels, column, falling) {
  const sign = falling ? -1 : 1;
  return [...labels].sort((one, other) => {
    const [a, b] = [one[column], other[column]];
    return sign * (typeof a === "string" ? a.localeCompare(String(b)) : a - Number(b));
  });
}

/** What the calibration says, in words. @param {Evaluation} evaluation */
export function calibrationWords({ bins, ece }) {
  const total = bins.reduce((sum, one) => sum + one.count, 0);
  if (total === 0) return "Nothing was predicted.";
  const lean = bins.reduce((sum, one) => sum + one.count * (one.confidence - one.accuracy), 0) / total;
  if (ece < 0.03) return "It is right about as often as it says.";
  if (Math.abs(lean) < ece / 2) return "Its confidence is off in both directions.";
  return lean > 0 ? "It is more confident than it should be." : "It is right more often than it says.";
}
