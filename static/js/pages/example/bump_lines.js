// @ts-check
/** The lines of a bump chart: the places that documents took among the first, snapshot by snapshot.  Pure. */

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {import("./reading.js").Hit} Hit
 * @typedef {{index: number, place: number}} Spot `place` from 1; one more than the depth means "further down"
 * @typedef {{id: string, title: string, gold: boolean, stretches: Spot[][]}} BumpLine a stretch is broken by no snapshot
 * @typedef {{lines: BumpLine[], depth: number, hasBelow: boolean}} Bumps
 */

const NEVER_LISTED = "\0"; // no document has this id

/** @param {Point[]} points @returns {Bumps} lines in the order of their first coming, gold ones last: they are drawn on top */
export function bumpLines(points) {
  const depth = points.reduce((most, point) => Math.max(most, point.top?.length ?? 0), 0);
  /** @type {Map<string, BumpLine>} */
  const lines = new Map();
  const goldIds = new Set(points.flatMap((point) => (point.top ?? []).filter((hit) => hit.gold).map((hit) => hit.id)));
  const below = goldIds.size <= 1; // of several right documents nobody knows which one the rank is of
  const goldId = [...goldIds][0] ?? NEVER_LISTED;
  let hasBelow = false;
  for (const [index, point] of points.entries()) {
    for (const [row, hit] of (point.top ?? []).entries()) extend(lines, hit, { index, place: row + 1 }).title = hit.title;
    const isDeep = point.rank !== null && point.rank > (point.top?.length ?? 0) && !point.top?.some((hit) => hit.gold);
    if (!below || !isDeep) continue;
    hasBelow = true;
    extend(lines, { id: goldId, title: "the right document", score: null, gold: true }, { index, place: depth + 1 });
  }
  const ordered = [...lines.values()];
  return { lines: [...ordered.filter((line) => !line.gold), ...ordered.filter((line) => line.gold)], depth, hasBelow };
}

/** @param {Map<string, BumpLine>} lines @param {Hit} hit @param {Spot} spot */
function extend(lines, { id, title, gold }, spot) {
  const line = lines.get(id) ?? { id, title, gold, stretches: [] };
  lines.set(id, line);
  const last = line.stretches.at(-1);
  if (last && last[last.length - 1].index === spot.index - 1) last.push(spot);
  else line.stretches.push([spot]);
  return line;
}

/**
 * What a snapshot's list has that the one before had not, and the other way round.
 * @param {Point[]} points @param {number} index
 * @returns {{entered: Set<string>, left: Hit[], climbed: Map<string, number>}} `climbed`: by how many places, negative for falling
 */
export function exchange(points, index) {
  const [now, before] = [points[index].top ?? [], points[index - 1]?.top ?? null];
  if (before === null) return { entered: new Set(), left: [], climbed: new Map() };
  const places = new Map(before.map((hit, row) => [hit.id, row]));
  const present = new Set(now.map((hit) => hit.id));
  return {
    entered: new Set(now.filter((hit) => !places.has(hit.id)).map((hit) => hit.id)),
    left: before.filter((hit) => !present.has(hit.id)),
    climbed: new Map(now.flatMap((hit, row) => (places.has(hit.id) ? [[hit.id, /** @type {number} */ (places.get(hit.id)) - row]] : []))),
  };
}
