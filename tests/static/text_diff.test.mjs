import assert from "node:assert/strict";
import { test } from "node:test";
import { diffWords } from "../../static/js/lib/text_diff.js";

const told = (/** @type {string} */ before, /** @type {string} */ after) =>
  diffWords(before, after).map(({ kind, text }) => `${{ same: "=", added: "+", removed: "-" }[kind]}${text}`);

test("words that stay, go and come are told apart", () => {
  assert.deepEqual(told("the red fox runs", "the quick fox runs home"), ["=the ", "-red", "+quick", "= fox runs", "+ home"]);
  assert.deepEqual(told("a b", "a b"), ["=a b"]);
  assert.deepEqual(told("", "new"), ["+new"]);
  assert.deepEqual(told("old", ""), ["-old"]);
  assert.deepEqual(told("", ""), []);
});

test("changed words in a row are one change", () => {
  assert.deepEqual(told("one two three", "uno due three"), ["-one two", "+uno due", "= three"]);
});

test("both texts can be put together again from the pieces", () => {
  const vocabulary = ["a", "b", "c", " ", "\n", "  ", "<b>", "\u001b[31m", "\u202e", "é"];
  let seed = 7;
  const next = (/** @type {number} */ below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  for (let round = 0; round < 300; round += 1) {
    const text = () => Array.from({ length: next(20) }, () => vocabulary[next(vocabulary.length)]).join("");
    const [before, after] = [text(), text()];
    const pieces = diffWords(before, after);
    const but = (/** @type {string} */ kind) => pieces.filter((piece) => piece.kind !== kind).map((piece) => piece.text).join("");
    assert.equal(but("added"), before);
    assert.equal(but("removed"), after);
    pieces.forEach((piece, index) => assert.notEqual(piece.kind, pieces[index + 1]?.kind));
  }
});

test("texts too long to compare are replaced as a whole, at once", () => {
  const long = (/** @type {string} */ word) => Array.from({ length: 60_000 }, (_, index) => `${word}${index}`).join(" ");
  assert.deepEqual(diffWords(long("a"), long("b")).map(({ kind }) => kind), ["removed", "added"]);
  const bound = Array.from({ length: 1_999 }, (_, index) => `a${index % 3}`).join(" ");
  assert.deepEqual(diffWords(bound, `b ${bound}`).map(({ kind, text }) => kind + text.length), ["added2", `same${bound.length}`]);
});
