// @ts-check
/** The bands of a probability ribbon: how the whole was shared among labels, snapshot by snapshot.  Pure. */

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {{label: string, kind: "right" | "label" | "others", values: number[], tops: number[]}} Band
 *   `values` are shares per snapshot; `tops` where the band ends when all are stacked from 0
 */

/**
 * The right label first, then the others by their mean, what is left in one band at the end.
 * @param {Point[]} points @param {number} most bands that have a label of their own @returns {Band[]}
 */
export function ribbonBands(points, most) {
  /** @type {Map<string, number[]>} */
  const shares = new Map();
  let right = null;
  for (const [index, point] of points.entries()) {
    for (const { label, probability, gold } of point.labels ?? []) {
      if (gold) right = label;
      if (!shares.has(label)) shares.set(label, new Array(points.length).fill(0));
      /** @type {number[]} */ (shares.get(label))[index] = probability;
    }
  }
  const sum = (/** @type {string} */ label) => (shares.get(label) ?? []).reduce((total, share) => total + share, 0);
  const rest = [...shares.keys()].filter((label) => label !== right).sort((one, other) => sum(other) - sum(one));
  const named = [...(right === null ? [] : [right]), ...rest].slice(0, most);
  const floor = new Array(points.length).fill(0);
  const stack = (/** @type {number[]} */ values) => values.map((value, index) => (floor[index] = Math.min(1, floor[index] + value)));
  /** @type {Band[]} */
  const bands = named.map((label) => {
    const values = /** @type {number[]} */ (shares.get(label));
    return { label, kind: label === right ? "right" : "label", values, tops: stack(values) };
  });
  const others = points.map((point, index) => (point.labels ? Math.max(0, 1 - floor[index]) : 0));
  if (others.some((share) => share > 0.0005)) bands.push({ label: "all others", kind: "others", values: others, tops: stack(others) });
  return bands;
}
