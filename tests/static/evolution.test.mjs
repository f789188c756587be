import assert from "node:assert/strict";
import { test } from "node:test";
import { isOfStep } from "../../static/js/lib/evolution_address.js";
import { factOf, isLasting, ordersOf } from "../../static/js/pages/evolution/task_words.js";

test("only orders that say something about the task are offered", () => {
  const words = (/** @type {string} */ task) => ordersOf(task).flatMap(({ orders }) => orders.map(([, word]) => word)).join(", ");
  assert.match(words("retrieval"), /Worst rank/);
  assert.doesNotMatch(words("classification"), /Worst rank/);
  assert.match(words("classification"), /Right label least probable/);
  assert.doesNotMatch(words("language_model"), /[Rr]ank|label/);
  assert.match(words("of a script"), /Learned first.*Most often forgotten/);
});

test("an order is of the step, of the training, or of neither", () => {
  assert.deepEqual(["-loss", "rank", "similarity"].map(isOfStep), [true, true, true]);
  assert.deepEqual(["", "learned_at", "loss_change", "-num_forgotten"].map(isOfStep), [false, false, false, false]);
  assert.deepEqual(["", "example_id", "-loss"].map(isLasting), [true, true, true]);
  assert.deepEqual(["learned_at", "-flips", "confidence"].map(isLasting), [false, false, false]);
});

test("measures of a snapshot are called by their names, and shares are percentages", () => {
  assert.deepEqual(factOf("macro_f1", 0.1571), ["Macro-F1", "15.7 %"]);
  assert.deepEqual(factOf("empty_completions", 1), ["Empty answers", "100.0 %"]);
  assert.deepEqual(factOf("mrr", 0.5), ["MRR", "0.5"]);
  assert.deepEqual(factOf("mean_rank", 12), ["Mean rank", "12"]);
});
