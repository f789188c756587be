// @ts-check
/** What changed between two texts, word by word.  Pure. */

/** @typedef {{kind: "same" | "added" | "removed", text: string}} Piece */
/** @typedef {{space: string, word: string}} Word `space` stands before the word */

const MOST_WORDS = 2000; // the table of two such middles has four million cells
// a word, one character of a script without spaces, or one sign
const WORD = /(\s*)([\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]|(?:(?![\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}])[\p{L}\p{M}\p{N}_])+|[^\s\p{L}\p{M}\p{N}_])/gu;

/**
 * The pieces of both texts in order: same and removed make up `before`, same and added make up `after`.
 * Where more than 2,000 words differ, all that differs counts as replaced.
 * @param {string} before @param {string} after @returns {Piece[]}
 */
export function diffWords(before, after) {
  if (before === after) return before === "" ? [] : [{ kind: "same", text: before }];
  const [old, now] = [wordsOf(before), wordsOf(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head].word === now[head].word) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old[old.length - 1 - tail].word === now[now.length - 1 - tail].word) tail += 1;
  const pieces = new Pieces();
  for (let index = 0; index < head; index += 1) pieces.match(old[index], now[index]);
  middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail), pieces);
  for (let left = tail; left > 0; left -= 1) pieces.match(old[old.length - left], now[now.length - left]);
  return pieces.all();
}

/** The end of a text is a word too, an empty one, so that white space before it is not lost. @param {string} text @returns {Word[]} */
function wordsOf(text) {
  const words = [];
  let end = 0;
  for (const found of text.matchAll(WORD)) {
    words.push({ space: found[1], word: found[2] });
    end = found.index + found[0].length;
  }
  words.push({ space: text.slice(end), word: "" });
  return words;
}

/** @param {Word[]} old @param {Word[]} now @param {Pieces} pieces */
function middle(old, now, pieces) {
  if (old.length > MOST_WORDS || now.length > MOST_WORDS) {
    for (const word of old) pieces.remove(word);
    for (const word of now) pieces.add(word);
    return;
  }
  const width = now.length + 1;
  const lengths = longestCommon(old, now, width);
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i].word === now[j].word) {
      pieces.match(old[i], now[j]);
      [i, j] = [i + 1, j + 1];
    } else if (j === now.length || (i < old.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      pieces.remove(old[i]);
      i += 1;
    } else {
      pieces.add(now[j]);
      j += 1;
    }
  }
}

/** Length of the longest common run of words from (i, j) on. @param {Word[]} old @param {Word[]} now @param {number} width */
function longestCommon(old, now, width) {
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        old[i].word === now[j].word ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  return lengths;
}

/** Joins what follows each other: of one change first all that went, then all that came. */
class Pieces {
  /** @type {Piece[]} */
  #pieces = [];
  #same = "";
  #removed = "";
  #added = "";

  /** @param {Word} old @param {Word} now */
  match(old, now) {
    if (old.space === now.space) {
      this.#keep(now.space + now.word);
      return;
    }
    this.remove({ space: old.space, word: "" });
    this.add({ space: now.space, word: "" });
    this.#keep(now.word);
  }

  /** @param {Word} word */
  remove({ space, word }) {
    this.#removed += space + word;
  }

  /** @param {Word} word */
  add({ space, word }) {
    this.#added += space + word;
  }

  all() {
    this.#close();
    if (this.#same) this.#pieces.push({ kind: "same", text: this.#same });
    return this.#pieces;
  }

  /** @param {string} text */
  #keep(text) {
    if (text === "") return;
    this.#close();
    this.#same += text;
  }

  #close() {
    if (this.#removed === "" && this.#added === "") return;
    if (this.#same) this.#pieces.push({ kind: "same", text: this.#same });
    if (this.#removed) this.#pieces.push({ kind: "removed", text: this.#removed });
    if (this.#added) this.#pieces.push({ kind: "added", text: this.#added });
    [this.#same, this.#removed, this.#added] = ["", "", ""];
  }
}
