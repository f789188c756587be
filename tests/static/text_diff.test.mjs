import assert from "node:assert/strict";
import { test } from "node:test";
import { diffWords } from "../../static/js/lib/text_diff.js";

/** @param {string} before @param {string} after */
function whole(before, after) {
  const pieces = diffWords(before, after);
  const joined = (/** @type {string} */ other) => pieces.filter(({ kind }) => kind === "same" || kind === other).map(({ text }) => text).join("");
  // white space that differs belongs to a change, so both texts come out letter by letter
  assert.equal(joined("removed"), before);
  assert.equal(joined("added"), after);
  return pieces;
}

test("words that stay are the same, words that differ are removed and added", () => {
  assert.deepEqual(whole("Return a list of names.", "Return a sorted list of names."), [
    { kind: "same", text: "Return a" },
    { kind: "added", text: " sorted" },
    { kind: "same", text: " list of names." },
  ]);
  assert.deepEqual(whole("the cat sat", "the dog sat"), [
    { kind: "same", text: "the" },
    { kind: "removed", text: " cat" },
    { kind: "added", text: " dog" },
    { kind: "same", text: " sat" },
  ]);
});

test("equal, empty and entirely different texts", () => {
  assert.deepEqual(whole("", ""), []);
  assert.deepEqual(whole("same", "same"), [{ kind: "same", text: "same" }]);
  assert.deepEqual(whole("", "new"), [{ kind: "added", text: "new" }]);
  assert.deepEqual(whole("old", ""), [{ kind: "removed", text: "old" }]);
  assert.deepEqual(whole("a b", "c d"), [{ kind: "removed", text: "a b" }, { kind: "added", text: "c d" }]);
});

test("white space, signs and scripts without spaces are compared too", () => {
  whole("def f(x):\n    return x", "def f(x):\n        return x\n");
  whole("  two", "two  ");
  assert.deepEqual(whole("f(x)", "f(y)").map(({ kind }) => kind), ["same", "removed", "added", "same"]);
  assert.deepEqual(whole("東京は晴れ", "東京は雨").map(({ text }) => text), ["東京は", "晴れ", "雨"]);
  whole("😀 \ud83d broken", "😀 ok \u202e");
});

test("whole texts come out of random changes", () => {
  let seed = 7;
  const random = (/** @type {number} */ below) => (seed = (seed * 48271) % 2147483647) % below;
  const words = ["a", "b", " ", "\n", "cd", ".", "  "];
  for (let round = 0; round < 300; round += 1) {
    const text = () => Array.from({ length: random(14) }, () => words[random(words.length)]).join("");
    whole(text(), text());
  }
});

test("more than 2,000 differing words count as replaced, their common ends stay", () => {
  const text = (/** @type {string} */ word) => `start ${Array.from({ length: 2500 }, (_, index) => `${word}${index % 7}`).join(" ")} end`;
  assert.deepEqual(whole(text("x"), text("y")).map(({ kind }) => kind), ["same", "removed", "added", "same"]);
  const long = Array.from({ length: 50_000 }, (_, index) => `w${index}`).join(" ");
  assert.deepEqual(whole(long, `${long} more`), [{ kind: "same", text: long }, { kind: "added", text: " more" }]);
});

test("texts too long to compare are replaced at once, and two thousand words are compared", () => {
  const long = (/** @type {string} */ word) => Array.from({ length: 60_000 }, (_, index) => `${word}${index}`).join(" ");
  assert.deepEqual(whole(long("a"), long("b")).map(({ kind }) => kind), ["removed", "added"]);
  const bound = (/** @type {string} */ word) => Array.from({ length: 1_900 }, (_, index) => `${word}${index % 3}`).join(" ");
  assert.equal(whole(`x ${bound("a")} y`, `${bound("a")} z more`).filter(({ kind }) => kind === "same").length, 1);
});

test("changed words in a row are one change", () => {
  assert.deepEqual(whole("one two three", "uno due three").map(({ text }) => text), ["one two", "uno due", " three"]);
});
