// @ts-check
/**
 * What the comparison page shows of a comparison, and its address.  Pure.
 *
 * @typedef {"fixed" | "broken" | "still_right" | "still_wrong"} Outcome
 * @typedef {object} CompareView
 * @property {string | null} run @property {string | null} runTo null: the same run
 * @property {string} from a number, or first, latest, best @property {string} to
 * @property {Outcome | null} show null: the first that has any
 * @property {string} sort @property {string} q
 */
import { formatNumber } from "../../lib/format.js";

/** @type {[Outcome, string][]} */
export const OUTCOMES = [["fixed", "Fixed"], ["broken", "Broken"], ["still_right", "Still right"], ["still_wrong", "Still wrong"]];
/** @type {[string, string][]} */
export const SORTS = [["", "Largest change"], ["change", "Largest fall of loss"], ["-change", "Largest rise of loss"], ["index", "As asked"]];
const STEP = /^(\d{1,15}|latest|first|best)$/;

/** @param {string} search @returns {CompareView} */
export function readAddress(search) {
  const fields = new URLSearchParams(search);
  const step = (/** @type {string} */ name, /** @type {string} */ otherwise) => {
    const given = fields.get(name) ?? otherwise;
    return STEP.test(given) ? given : otherwise;
  };
  const show = OUTCOMES.find(([name]) => name === fields.get("show"));
  const sort = fields.get("sort") ?? "";
  return {
    run: fields.get("run") || null,
    runTo: fields.get("run_to") || null,
    from: step("from", "first"),
    to: step("to", "latest"),
    show: show ? show[0] : null,
    sort: SORTS.some(([name]) => name === sort) ? sort : "",
    q: fields.get("q") ?? "",
  };
}

/** Only what differs from the defaults. @param {CompareView} view */
export function writeAddress({ run, runTo, from, to, show, sort, q }) {
  const fields = new URLSearchParams();
  if (run) fields.set("run", run);
  if (runTo) fields.set("run_to", runTo);
  if (from !== "first") fields.set("from", from);
  if (to !== "latest") fields.set("to", to);
  if (show) fields.set("show", show);
  if (sort) fields.set("sort", sort);
  if (q) fields.set("q", q);
  const text = fields.toString();
  return text ? `?${text}` : "";
}

/** Entries that hold the words, in the order chosen; without a change of loss they come last. @param {any[]} entries @param {{sort: string, q: string}} view */
export function shownEntries(entries, { sort, q }) {
  const sought = q.toLowerCase();
  const holds = (/** @type {any} */ entry) =>
    [entry.example_id, entry.input, entry.expected_output, entry.from.model_output, entry.to.model_output].some((text) => String(text).toLowerCase().includes(sought));
  const found = q ? entries.filter(holds) : [...entries];
  const key = (/** @type {any} */ entry) => {
    if (sort === "index") return entry.index;
    if (entry.change === null) return Infinity;
    return { "": -Math.abs(entry.change), change: entry.change, "-change": -entry.change }[sort] ?? 0;
  };
  return found.sort((one, other) => compared(key(one), key(other)) || one.index - other.index);
}

/** Infinity minus itself is no number. @param {number} one @param {number} other */
function compared(one, other) {
  return one === other ? 0 : one - other;
}

/** A change of loss as people read it: −1.2 or +0.3. @param {number | null} change */
export function signed(change) {
  if (change === null) return null;
  return change > 0 ? `+${formatNumber(change, 3)}` : formatNumber(change, 3);
}
