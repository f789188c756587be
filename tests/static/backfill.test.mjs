// What the card "Ask the checkpoints" says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { addedWords, rowsOf } from "../../static/js/pages/run/added_probes.js";
import { askedWords, buttonWords, jobWords } from "../../static/js/pages/run/backfill_panel.js";

test("what became of a checkpoint is told with its share", () => {
  assert.equal(askedWords({ step: 1500, result: "asked", summary: { correct: 3, total_examples: 20 } }), "Step 1,500: asked: 3 of 20 right");
  assert.equal(askedWords({ step: 8, result: "known" }), "Step 8: known already");
  assert.equal(askedWords({ step: 8, result: "gone", summary: {} }), "Step 8: gone or damaged");
});

test("a job tells what it does, and then what came of it", () => {
  const job = { checkpoint: "all", probes: "own", snapshots: [], doing: null, words: null, trouble: null };
  assert.equal(jobWords({ ...job, doing: { detail: "reading the dataset", fraction: 0.5 } }), "Reading the dataset …");
  assert.equal(jobWords({ ...job, words: "Checkpoints: 2 asked." }), "Checkpoints: 2 asked.");
  assert.equal(jobWords({ ...job, trouble: "It was cancelled." }), "It was cancelled.");
});

test("one checkpoint is no plural", () => {
  const found = { why_not: null, num_checkpoints: 1, has_added: false, running: false, job: null };
  assert.equal(buttonWords(found), "Ask the checkpoint");
  assert.equal(buttonWords({ ...found, num_checkpoints: 3 }), "Ask all 3 checkpoints");
});

test("a file of probes is read line by line, and the first wrong line is named", () => {
  assert.deepEqual(rowsOf('\ufeff{"input": "a"}\r\n\n{"input": "b"}'), { rows: [{ input: "a" }, { input: "b" }] });
  assert.deepEqual(rowsOf('{"input": "a"}\n{"inp'), { error: "Line 2 of the file is not JSON: write one object per line." });
  assert.deepEqual(rowsOf(" \n"), { error: "There is no probe in this file." });
});

test("what was added is counted, and told what becomes of it", () => {
  const probe = { example_id: "a", input: "b", expected_output: "c", group: "" };
  const found = { probes: [probe], dataset: "d", expects: "e", note: "Asked later.", has_answers: false };
  assert.equal(addedWords(found), "1 added so far. Asked later.");
  assert.equal(addedWords({ ...found, probes: [] }), "None added yet. Asked later.");
});
