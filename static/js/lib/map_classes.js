// @ts-check
/** What colours a map's points have, and what its legend says.  Pure. */

export const MOST_CLASSES = 12;
export const OTHERS = "--map-others";

/**
 * @typedef {"group" | "label" | "correct" | "none"} Colouring
 * @typedef {{name: string, count: number, token: string}} Class of points
 * @typedef {{group: string | null, label: string | null}} Point
 */

/** The colourings that say something about these points; "none" always. @param {Point[]} points @returns {Colouring[]} */
export function colouringsOf(points) {
  const told = (/** @type {"group" | "label"} */ name) => {
    const values = new Set(points.map((point) => point[name] ?? ""));
    return values.size > 1 ? values : null;
  };
  const [labels, groups] = [told("label"), told("group")];
  const isTheSame = labels !== null && groups !== null && points.every((point) => point.label === point.group);
  return [...(labels ? /** @type {const} */ (["label"]) : []), ...(groups && !isTheSame ? /** @type {const} */ (["group"]) : []), "correct", "none"];
}

/**
 * The class of every point: the largest groups have colours of their own, all that are smaller share one.
 * @param {Point[]} points @param {number[]} correct @param {Colouring} colouring
 * @returns {{classOf: Uint8Array, classes: Class[]}}
 */
export function classesOf(points, correct, colouring) {
  if (colouring === "none") return { classOf: new Uint8Array(points.length), classes: [{ name: "all examples", count: points.length, token: "--map-1" }] };
  if (colouring === "correct") return byAnswer(correct);
  /** @type {Map<string, number>} */
  const counts = new Map();
  const names = points.map((point) => point[colouring] ?? "");
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const ordered = [...counts].sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1));
  const own = ordered.length > MOST_CLASSES ? ordered.slice(0, MOST_CLASSES - 1) : ordered;
  const place = new Map(own.map(([name], index) => [name, index]));
  /** @type {Class[]} */
  const classes = own.map(([name, count], index) => ({ name: name || "(none)", count, token: `--map-${index + 1}` }));
  const rest = ordered.slice(own.length);
  if (rest.length > 0) classes.push({ name: `${rest.length} others`, count: rest.reduce((sum, [, count]) => sum + count, 0), token: OTHERS });
  return { classOf: Uint8Array.from(names, (name) => place.get(name) ?? own.length), classes };
}

/** @param {number[]} correct @returns {{classOf: Uint8Array, classes: Class[]}} */
function byAnswer(correct) {
  const right = correct.reduce((sum, one) => sum + one, 0);
  return {
    classOf: Uint8Array.from(correct, (one) => 1 - one),
    classes: [{ name: "right", count: right, token: "--map-right" }, { name: "wrong", count: correct.length - right, token: "--map-wrong" }],
  };
}

/** The first example whose id is what is sought, else that holds it, without regard to case; -1 for none. @param {{example_id: string, text: string}[]} points @param {string} sought */
export function foundPoint(points, sought) {
  const words = sought.trim().toLowerCase();
  if (words === "") return -1;
  const exact = points.findIndex((point) => point.example_id.toLowerCase() === words);
  if (exact >= 0) return exact;
  return points.findIndex((point) => `${point.example_id}\n${point.text}`.toLowerCase().includes(words));
}
