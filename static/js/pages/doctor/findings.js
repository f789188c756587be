// @ts-check
/** The words of a report, and its checks in the order in which a person should read them. */

/** @typedef {{id: string, title: string, verdict: string, found: string, remedy: string, details: Record<string, any>}} Check */

/** @type {Record<string, {word: string, icon: string}>} */
export const VERDICTS = {
  problem: { word: "Problem", icon: "failed" },
  warning: { word: "Warning", icon: "stalled" },
  note: { word: "Note", icon: "info" },
  ok: { word: "OK", icon: "finished" },
};
const ORDER = Object.keys(VERDICTS);

/** Worst first; within a verdict as the doctor looked. @param {Check[]} checks @returns {Check[]} */
export function worstFirst(checks) {
  return [...checks].sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
}

/** `1 problem, 3 notes, 11 fine`. @param {Check[]} checks @returns {string} */
export function summaryOf(checks) {
  const parts = [];
  for (const verdict of ORDER) {
    const count = checks.filter((check) => check.verdict === verdict).length;
    if (count > 0) parts.push(verdict === "ok" ? `${count} fine` : `${count} ${verdict}${count === 1 ? "" : "s"}`);
  }
  return parts.join(", ");
}

/** The processes that the button ends. @param {Check} check @returns {{pid: number, create_time: number}[]} */
export function leftoversOf(check) {
  if (check.id !== "leftovers" || !Array.isArray(check.details.processes)) return [];
  return check.details.processes.map(({ pid, create_time }) => ({ pid, create_time }));
}

/** @param {number} count */
export function endWord(count) {
  return count === 1 ? "End this process" : `End these ${count} processes`;
}

/** Details as lines people can read: lines of output as they are, everything else as JSON. @param {Record<string, any>} details */
export function detailText(details) {
  const { lines, ...rest } = details;
  const text = Object.keys(rest).length > 0 ? JSON.stringify(rest, null, 2) : "";
  return Array.isArray(lines) && lines.length > 0 ? `${lines.join("\n")}\n\n${text}`.trim() : text;
}
