// @ts-check
import { h } from "./dom.js";
import { diffWords } from "./text_diff.js";
import { longText, visible } from "./long_text.js";

const CONTEXT = 160;
const MOST_CHANGED = 4000; // characters: a longer change is no diff that anybody reads

/** @typedef {import("./text_diff.js").Piece} Piece */

/** Share of the text that stayed, 0 to 1.  Pure. @param {Piece[]} pieces */
export function kept(pieces) {
  const length = (/** @type {string[]} */ kinds) => pieces.reduce((sum, { kind, text }) => sum + (kinds.includes(kind) ? text.trim().length : 0), 0);
  const longer = Math.max(length(["same", "removed"]), length(["same", "added"]));
  return longer === 0 ? 1 : length(["same"]) / longer;
}

/** What stayed the same far from any change is left out.  Pure. @param {Piece[]} pieces @returns {Piece[]} */
export function condensed(pieces) {
  return pieces.map((piece, index) => {
    if (piece.kind !== "same" || piece.text.length <= 3 * CONTEXT) return piece;
    const head = index > 0 ? piece.text.slice(0, CONTEXT) : "";
    const tail = index < pieces.length - 1 ? piece.text.slice(-CONTEXT) : "";
    return { kind: "same", text: `${head} … ${tail}` };
  });
}

/** A text with what went and what came, word by word. @param {Piece[]} pieces @param {string} [name] class of its place */
export function diffText(pieces, name = "long-text") {
  const tags = /** @type {const} */ ({ same: "span", removed: "del", added: "ins" });
  return h("p", { class: `${name} diff`, dir: "auto", dataset: { testid: "diff" } }, condensed(pieces).map(({ kind, text }) => h(tags[kind], { text: visible(text) })));
}

/** The new text with what went and what came; the plain text where hardly anything stayed. @param {string} before @param {string} after */
export function diffView(before, after) {
  const pieces = diffWords(before, after);
  const changed = pieces.reduce((sum, { kind, text }) => sum + (kind === "same" ? 0 : text.length), 0);
  return before === "" || after === "" || kept(pieces) < 0.2 || changed > MOST_CHANGED ? longText(after) : diffText(pieces);
}
