// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { barWidths, checkpointWords, originWords, tookWords } from "../../static/js/pages/run/ask_answer.js";
import { doingWords, problemOf, questionOf } from "../../static/js/pages/run/ask_panel.js";
import { fileAddress } from "../../static/js/pages/run/export_panel.js";

const part = (/** @type {object} */ more) => /** @type {any} */ ({ name: "count", title: "", help: "", type: "int", default: 10, minimum: 1, maximum: 100, choices: [], most_characters: 100, ...more });

test("a question holds numbers as numbers, and leaves out what has a default and was emptied", () => {
  const parts = [part({ name: "query", type: "line", default: null }), part({}), part({ name: "greedy", type: "bool", default: true })];
  assert.deepEqual(questionOf(parts, { query: "a b", count: " 7 ", greedy: "false" }), { query: "a b", count: 7, greedy: false });
  assert.deepEqual(questionOf(parts, { query: " ", count: "", greedy: "true" }), { query: " ", greedy: true });
  assert.deepEqual(questionOf(parts, { query: "a", count: "many", greedy: "true" }), { query: "a", count: "many", greedy: true }, "the server says what is wrong with it");
});

test("what is wrong with what was typed is told before it is sent", () => {
  const parts = [part({ name: "query", type: "line", default: null }), part({}), part({ name: "warmth", type: "float", default: 1, minimum: 0, maximum: null })];
  const typed = { query: "a", count: "7", warmth: "0.5" };
  assert.equal(problemOf(parts, typed), null);
  assert.equal(problemOf(parts, { ...typed, count: "" }), null);
  assert.deepEqual(problemOf(parts, { ...typed, query: " " }), { name: "query", message: "write something first." });
  assert.deepEqual(problemOf(parts, { ...typed, count: "0" }), { name: "count", message: "must be at least 1." });
  assert.deepEqual(problemOf(parts, { ...typed, count: "1000" }), { name: "count", message: "must be at most 100." });
  assert.deepEqual(problemOf(parts, { ...typed, count: "1.5" }), { name: "count", message: "must be a whole number." });
  assert.deepEqual(problemOf(parts, { ...typed, warmth: "hot" }), { name: "warmth", message: "must be a number." });
});

test("bars are drawn against the best score, from 0 or from the worst below it", () => {
  assert.deepEqual(barWidths([0.5, 0.25, null]), [1, 0.5, 0]);
  assert.deepEqual(barWidths([1, 0, -1]), [1, 0.5, 0]);
  assert.deepEqual(barWidths([]), []);
  assert.deepEqual(barWidths([0, 0]), [0, 0]);
});

test("where an answer comes from is a sentence", () => {
  const checkpoint = { step: 1250, best: true, last: false };
  assert.equal(checkpointWords({ ...checkpoint, last: true }), "checkpoint of step 1,250 (best, last)");
  assert.equal(originWords({ checkpoint, open_s: 0.01, answer_s: 0.0042 }), "From the checkpoint of step 1,250 (best) in 4 ms.");
  assert.equal(originWords({ checkpoint, open_s: 3.24, answer_s: 1.5 }), "From the checkpoint of step 1,250 (best) in 1.5 s, after 3.2 s to open the model.");
  assert.equal(tookWords(0), "1 ms");
});

test("what the process does is told with how far it is", () => {
  const asking = (/** @type {any} */ doing) => /** @type {any} */ ({ doing });
  assert.equal(doingWords(asking(null)), "");
  assert.equal(doingWords(asking({ detail: "reading the documents", fraction: 0 })), "Reading the documents …");
  assert.equal(doingWords(asking({ detail: "hashing words", fraction: 0.254 })), "Hashing words (25 %) …");
});

test("the address of an exported file keeps its slashes", () => {
  assert.equal(fileAddress("/api/runs/a", "towers/query 1#.bin"), "/api/runs/a/export/towers/query%201%23.bin");
});
