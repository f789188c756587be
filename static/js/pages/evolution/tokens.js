// @ts-check
import { h } from "../../lib/dom.js";
import { formatNumber, formatPercent } from "../../lib/format.js";

const LEVELS = [0.5, 0.2, 0.05, 0.005];

/** How sure the model was of a token: 0 (sure) to 4 (it would never have written it). @param {number} logProbability in nats */
export function doubt(logProbability) {
  const probability = Math.exp(logProbability);
  const level = LEVELS.findIndex((least) => probability >= least);
  return level < 0 ? LEVELS.length : level;
}

/** What a token's colour stands for. @param {number | null} logProbability */
export function told(logProbability) {
  if (logProbability === null || !Number.isFinite(logProbability)) return "no probability";
  return `probability ${formatPercent(Math.exp(logProbability), 1)}, log-probability ${formatNumber(logProbability, 3)}`;
}

/** The expected text, each token coloured by how little the model expected it. @param {string} word @param {[string, number | null][]} tokens */
export function tokenPassage(word, tokens) {
  const text = h(
    "p",
    { class: "passage-text tokens", dataset: { testid: "tokens" } },
    tokens.map(([piece, value]) =>
      h("span", { class: "token", dataset: { doubt: String(doubt(value ?? -Infinity)) }, title: told(value), text: piece })),
  );
  return h("div", { class: "passage" }, h("h3", { text: word }), text);
}

/** What the colours of all tokens on the page stand for. */
export function tokenLegend() {
  return h(
    "p",
    { class: "token-legend small muted" },
    "How probable the model found each token of the expected text: ",
    ["at least 50 %", "20 %", "5 %", "0.5 %", "less"].map((name, level) => h("span", { class: "token", dataset: { doubt: String(level) }, text: name })),
    " Point at one for its log-probability.",
  );
}
