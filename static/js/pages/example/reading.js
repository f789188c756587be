// @ts-check
/**
 * One example's way through the snapshots, checked field by field: outputs come from trainers and
 * from people's own scripts, and may hold anything.  Pure.
 *
 * @typedef {"retrieval" | "classification" | "language" | "text"} Task
 * @typedef {{id: string, title: string, score: number | null, gold: boolean}} Hit
 * @typedef {{label: string, probability: number, gold: boolean}} Label
 * @typedef {{piece: string, value: number | null}} Token `value` is the log-probability in nats
 * @typedef {object} Point what the model answered at one step
 * @property {number} step @property {number | null} epoch @property {boolean} right @property {number | null} loss
 * @property {number | null} similarity @property {number | null} rank @property {number | null} score @property {number | null} margin
 * @property {string} text @property {boolean} isCut whether it stopped because it may not write more
 * @property {Hit[] | null} top @property {Label[] | null} labels @property {Token[] | null} tokens
 */

/** @param {any} trajectory of GET …/examples/ID @returns {Point[]} */
export function readTrajectory(trajectory) {
  return trajectory.map((/** @type {any} */ raw) => ({
    step: raw.step,
    epoch: finite(raw.epoch),
    right: raw.exact_match === true,
    loss: finite(raw.loss),
    similarity: finite(raw.similarity),
    rank: finite(raw.rank),
    score: finite(raw.score),
    margin: finite(raw.margin),
    text: String(raw.model_output ?? ""),
    isCut: raw.is_cut === true,
    top: Array.isArray(raw.top) ? hitsOf(raw.top) : null,
    labels: Array.isArray(raw.probabilities) && raw.probabilities.length > 0 ? labelsOf(raw.probabilities) : null,
    tokens: Array.isArray(raw.tokens) && raw.tokens.length > 0 ? tokensOf(raw.tokens) : null,
  }));
}

/** What the example is of, told by the newest answer that tells. @param {Point[]} points @returns {Task} */
export function taskOf(points) {
  for (const point of [...points].reverse()) {
    if (point.top) return "retrieval";
    if (point.labels) return "classification";
    if (point.tokens) return "language";
  }
  return "text";
}

/** How probable the right answer was: of its label, or per token of a reference (geometric mean). @param {Point} point @param {Task} task */
export function probabilityOf(point, task) {
  if (task === "classification") {
    const gold = point.labels?.find((one) => one.gold);
    return gold ? gold.probability : point.similarity;
  }
  return point.loss === null ? null : Math.min(1, Math.exp(-point.loss));
}

/** @param {unknown} raw @returns {number | null} */
function finite(raw) {
  return typeof raw === "number" && Number.isFinite(raw) ? raw : null;
}

/** A document that comes twice in one list counts where it stands first. @param {any[]} top @returns {Hit[]} */
function hitsOf(top) {
  const hits = new Map();
  for (const one of top) {
    const id = String(one?.document_id ?? "");
    if (!hits.has(id)) hits.set(id, { id, title: String(one?.title || id), score: finite(one?.score), gold: one?.gold === true });
  }
  return [...hits.values()];
}

/** @param {any[]} probabilities @returns {Label[]} */
function labelsOf(probabilities) {
  return probabilities.map((one) => ({ label: String(one?.label ?? ""), probability: Math.min(1, Math.max(0, finite(one?.probability) ?? 0)), gold: one?.gold === true }));
}

/** @param {any[]} tokens @returns {Token[]} */
function tokensOf(tokens) {
  return tokens.map((one) => (Array.isArray(one) ? { piece: String(one[0] ?? ""), value: finite(one[1]) } : { piece: String(one ?? ""), value: null }));
}
