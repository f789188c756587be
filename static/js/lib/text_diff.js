// @ts-check
/**
 * What has changed between two texts, word by word.  Pure.
 *
 * @typedef {"same" | "added" | "removed"} Kind
 * @typedef {{kind: Kind, text: string}} Piece
 */

const MOST_WORDS = 2_000;

/**
 * All pieces but the added ones make up `before`, all but the removed ones `after`.  Longer texts are
 * replaced as a whole.
 * @param {string} before @param {string} after @returns {Piece[]}
 */
export function diffWords(before, after) {
  if (before === after) return before ? [{ kind: "same", text: before }] : [];
  const [old, fresh] = [partsOf(before), partsOf(after)];
  if (numWords(old) > MOST_WORDS || numWords(fresh) > MOST_WORDS) return joined([["removed", before], ["added", after]]);
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const [left, right] = [old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)];
  return calmed(joined([
    ["same", old.slice(0, start).join("")],
    ...aligned(left, right),
    ["same", old.slice(old.length - end).join("")],
  ]));
}

/** Words and the space between them. @param {string} text @returns {string[]} */
function partsOf(text) {
  return text.match(/\s+|\S+/gu) ?? [];
}

/** @param {string[]} parts */
function numWords(parts) {
  return Math.ceil(parts.length / 2);
}

/**
 * The longest sequence both have in common, and what each has beside it.
 * @param {string[]} old @param {string[]} fresh @returns {[Kind, string][]}
 */
function aligned(old, fresh) {
  const width = fresh.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width); // of the common rest from here on
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      const here = i * width + j;
      lengths[here] = old[i] === fresh[j] ? lengths[here + width + 1] + 1 : Math.max(lengths[here + width], lengths[here + 1]);
    }
  }
  /** @type {[Kind, string][]} */
  const pieces = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      pieces.push(["same", old[i]]);
      [i, j] = [i + 1, j + 1];
    } else if (j >= fresh.length || (i < old.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      pieces.push(["removed", old[i]]);
      i += 1;
    } else {
      pieces.push(["added", fresh[j]]);
      j += 1;
    }
  }
  return pieces;
}

/** Pieces of one kind in a row as one; between two same ones what was removed comes before what was added. @param {[Kind, string][]} pieces @returns {Piece[]} */
function joined(pieces) {
  /** @type {Piece[]} */
  const found = [];
  let [removed, added] = ["", ""];
  const settle = () => {
    if (removed) found.push({ kind: "removed", text: removed });
    if (added) found.push({ kind: "added", text: added });
    [removed, added] = ["", ""];
  };
  for (const [kind, text] of pieces) {
    if (kind === "removed") removed += text;
    else if (kind === "added") added += text;
    else if (text) {
      settle();
      const last = found.at(-1);
      if (last?.kind === "same") last.text += text;
      else found.push({ kind, text });
    }
  }
  settle();
  return found;
}

/** A space alone between two changes belongs to them: ten changed words in a row are one change. @param {Piece[]} pieces */
function calmed(pieces) {
  return joined(pieces.flatMap(({ kind, text }, index) => {
    const between = kind === "same" && /^\s+$/u.test(text) && index > 0 && index < pieces.length - 1;
    return /** @type {[Kind, string][]} */ (between ? [["removed", text], ["added", text]] : [[kind, text]]);
  }));
}
