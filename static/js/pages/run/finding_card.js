// @ts-check
import { h } from "../../lib/dom.js";
import { formatCount, formatExit } from "../../lib/format.js";

/** @typedef {import("../../lib/run_facts.js").Run} Run */
/**
 * @typedef {{rung: string, title: string, changes_numbers: boolean, is_unsafe: boolean}} Rung
 * @typedef {{id: string, attempt: number, cause: string, remedy: string, confidence: number, lines: string[], source: string, rungs: string[], rungs_in_words: Rung[]}} Finding
 */

const BY_SIGNAL = /** @type {Record<number, string>} */ ({
  1: "its terminal was closed", 2: "somebody pressed Ctrl-C", 3: "somebody pressed Ctrl-\\", 4: "this processor does not know the program's instruction",
  6: "native code gave up", 7: "it touched memory that could not be brought in", 8: "native code divided by zero",
  9: "ended at once from outside, without a chance to say why", 11: "native code touched memory that was not its own",
  15: "somebody or something asked it to end", 24: "its processor time was used up", 25: "a file grew beyond the allowed size",
});
const BY_CODE = /** @type {Record<number, string>} */ ({
  0: "it says that all is well", 1: "an error nobody caught", 2: "it did not understand its command line",
  124: "a time limit ran out", 126: "it was not allowed to run", 127: "the program was not found",
});

/** The best finding of the run's newest attempt; undefined where it did not fail. Pure. @param {Run} run @param {Finding[]} findings */
export function bestFinding(run, findings) {
  return run.state === "failed" ? findings.find((one) => one.attempt === run.attempt) : undefined;
}

/** How sure a finding is, in words. Pure. @param {Finding} finding */
export function sureness(finding) {
  if (finding.id === "unknown") return "no known cause fits";
  return finding.confidence >= 0.8 ? "almost certain" : finding.confidence >= 0.5 ? "likely" : "a guess";
}

/**
 * Exit code or signal as a sentence; empty while nobody knows.  Pure.
 * @param {number | null | undefined} code @param {number | null | undefined} signal
 */
export function exitInWords(code, signal) {
  const name = formatExit(code, signal);
  if (!name) return "";
  const isSignal = name.startsWith("killed");
  const number = Math.abs((signal || code) ?? 0);
  const why = isSignal ? BY_SIGNAL[number] : BY_CODE[number];
  return `It ${isSignal ? "was" : "ended with"} ${name}${why ? `: ${why}` : ""}.`;
}

/** What may be tried, least invasive first, with what it costs. Pure. @param {Rung[]} rungs @returns {{words: string, badge: string}[]} */
export function rungWords(rungs) {
  return rungs.map((rung) => ({ words: rung.title, badge: rung.is_unsafe ? "unsafe" : rung.changes_numbers ? "changes numbers" : "" }));
}

/** From where a click on Start goes on. Pure. @param {{step: number}[]} checkpoints */
export function startWords(checkpoints) {
  if (!checkpoints.length) return "Start begins again from step 0: there is no checkpoint yet.";
  return `Start goes on from the checkpoint of step ${formatCount(Math.max(...checkpoints.map((one) => one.step)))}.`;
}

/** Why it died and what helps, next to the buttons. @param {Run} run @param {Finding[]} findings @param {{step: number}[]} checkpoints */
export function findingCard(run, findings, checkpoints) {
  const finding = bestFinding(run, findings);
  return finding ? cardOf(finding, { ended: exitInWords(run.exit_code, run.exit_signal), advice: startWords(checkpoints) }) : null;
}

/** One finding in words. @param {Finding} finding @param {{ended?: string, advice?: string}} [more] how it ended, and a last sentence */
export function cardOf(finding, { ended = "", advice = "" } = {}) {
  const [first, ...others] = finding.lines;
  const source = finding.source.startsWith("https://")
    ? h("a", { href: finding.source, rel: "noreferrer", target: "_blank" }, "Where this is known from")
    : finding.source && h("span", { class: "muted" }, `Known from: ${finding.source}`);
  return h(
    "section",
    { class: "card finding", dataset: { testid: "finding" }, "aria-label": "Why did it die?" },
    h("h2", {}, "Why did it die? ", h("span", { class: "muted", text: `${finding.id}, ${sureness(finding)}` })),
    ended ? h("p", { dataset: { testid: "finding-end" }, text: ended }) : null,
    h("p", {}, h("strong", { text: finding.cause })),
    first ? h("p", { class: "finding-first", dataset: { testid: "finding-first" } }, h("code", { text: first })) : null,
    h("p", {}, h("strong", {}, "What helps: "), finding.remedy),
    others.length ? h("pre", { class: "finding-lines", text: others.join("\n") }) : null,
    finding.rungs_in_words.length ? rungList(finding.rungs_in_words) : null,
    h("p", { class: "finding-foot" }, source, advice ? h("span", { class: "muted", text: advice }) : null),
  );
}

/** @param {Rung[]} rungs */
function rungList(rungs) {
  const items = rungWords(rungs).map(({ words, badge }) => h("li", {}, words, badge ? h("span", { class: "rung-badge", text: badge }) : null));
  return h("div", { class: "finding-rungs", dataset: { testid: "finding-rungs" } }, h("span", {}, "What a new attempt may try, gentlest first:"), h("ol", {}, items));
}
