import assert from "node:assert/strict";
import { test } from "node:test";
import { readAddress, shownEntries, signed, writeAddress } from "../../static/js/pages/compare/comparison.js";

const entry = (/** @type {number} */ index, /** @type {number | null} */ change, text = "") =>
  ({ example_id: `e${index}`, index, input: text, expected_output: "", change, from: { model_output: "" }, to: { model_output: "" } });
const ids = (/** @type {any[]} */ entries) => entries.map((one) => one.index).join(" ");

test("an address says what is compared, and nonsense in it is left out", () => {
  const view = readAddress("?run=a&run_to=b&from=500&to=best&show=broken&sort=-change&q=x%20y");
  assert.deepEqual(view, { run: "a", runTo: "b", from: "500", to: "best", show: "broken", sort: "-change", q: "x y" });
  assert.deepEqual(readAddress(writeAddress(view)), view);
  assert.deepEqual(readAddress("?from=-1&to=1e9&show=odd&sort=odd"), { run: null, runTo: null, from: "first", to: "latest", show: null, sort: "", q: "" });
  assert.equal(writeAddress(readAddress("")), "");
});

test("the largest change comes first, whichever way, and what has none comes last", () => {
  const entries = [entry(0, -1), entry(1, null), entry(2, 3), entry(3, -4), entry(4, null)];
  assert.equal(ids(shownEntries(entries, { sort: "", q: "" })), "3 2 0 1 4");
  assert.equal(ids(shownEntries(entries, { sort: "change", q: "" })), "3 0 2 1 4");
  assert.equal(ids(shownEntries(entries, { sort: "-change", q: "" })), "2 0 3 1 4");
  assert.equal(ids(shownEntries(entries, { sort: "index", q: "" })), "0 1 2 3 4");
  assert.equal(ids(entries), "0 1 2 3 4", "what was given is left as it was");
});

test("words are looked for in ids, texts and answers without regard to case", () => {
  const entries = [entry(0, 1, "The Fox"), { ...entry(1, 1), to: { model_output: "a fox" } }, entry(2, 1, "hen")];
  assert.equal(ids(shownEntries(entries, { sort: "index", q: "FOX" })), "0 1");
  assert.equal(ids(shownEntries(entries, { sort: "index", q: "e2" })), "2");
});

test("a change has a sign", () => {
  assert.deepEqual([signed(0.25), signed(-0.25), signed(0), signed(null)], ["+0.25", "−0.25", "0", null]);
});
