// @ts-check
/** Every answer an example got, equal ones that follow each other folded into one.  Pure. */
import { formatCount } from "../../lib/format.js";

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {object} Answer the same answer at consecutive snapshots
 * @property {number} from index of its first snapshot @property {number} to index of its last
 * @property {number} firstStep @property {number} lastStep @property {boolean} right
 * @property {string} text what it was, in one text: of a retriever the title of the first document
 * @property {Point} point its last snapshot
 */

/** @param {Point[]} points @returns {Answer[]} in the order they were given */
export function foldAnswers(points) {
  /** @type {Answer[]} */
  const answers = [];
  let key = "";
  for (const [index, point] of points.entries()) {
    const own = `${point.right} ${point.top?.[0]?.id ?? ""} ${point.text}`;
    const last = answers.at(-1);
    if (last && own === key) Object.assign(last, { to: index, lastStep: point.step, point });
    else answers.push({ from: index, to: index, firstStep: point.step, lastStep: point.step, right: point.right, text: answerText(point), point });
    key = own;
  }
  return answers;
}

/** @param {Point} point */
export function answerText(point) {
  return point.top ? point.top[0]?.title ?? "" : point.text;
}

/** The text before `index` that was another one; null where there is none. @param {Answer[]} answers @param {number} index */
export function differentBefore(answers, index) {
  for (let place = index - 1; place >= 0; place -= 1) {
    if (answers[place].text !== answers[index].text) return answers[place];
  }
  return null;
}

/** `Step 100` or `Steps 100–400`. @param {{firstStep: number, lastStep: number}} span */
export function spanWords({ firstStep, lastStep }) {
  return firstStep === lastStep ? `Step ${formatCount(firstStep)}` : `Steps ${formatCount(firstStep)}–${formatCount(lastStep)}`;
}

/** `the same answer 4 times`, empty for one. @param {Answer} answer */
export function timesWords({ from, to }) {
  return to === from ? "" : `the same answer ${formatCount(to - from + 1)} times`;
}

/**
 * What a classifier said, and when: each label once, the most frequent first.
 * @param {Point[]} points @returns {{label: string, right: boolean, times: number, spans: {firstStep: number, lastStep: number}[]}[]}
 */
export function saidWhen(points) {
  const said = new Map();
  let before = null;
  for (const point of points) {
    const entry = said.get(point.text) ?? { label: point.text, right: point.right, times: 0, spans: [] };
    said.set(point.text, entry);
    entry.times += 1;
    if (before === point.text) entry.spans.at(-1).lastStep = point.step;
    else entry.spans.push({ firstStep: point.step, lastStep: point.step });
    before = point.text;
  }
  return [...said.values()].sort((one, other) => other.times - one.times);
}
