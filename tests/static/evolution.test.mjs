import assert from "node:assert/strict";
import { test } from "node:test";
import { shownLabels } from "../../static/js/pages/evolution/labels.js";
import { factOf, sortsOf, taskOf } from "../../static/js/pages/evolution/task_words.js";

test("only orders that say something about the task are offered", () => {
  const words = (/** @type {any} */ example) => sortsOf(taskOf(example)).map(([, word]) => word).join(", ");
  assert.match(words({ top: [] }), /Worst rank.*Largest margin/);
  assert.doesNotMatch(words({ probabilities: [] }), /[Rr]ank/);
  assert.match(words({ probabilities: [] }), /Right label least probable/);
  assert.doesNotMatch(words({ tokens: [] }), /[Rr]ank|margin|label/);
});

test("measures of a snapshot are called by their names, and shares are percentages", () => {
  assert.deepEqual(factOf("macro_f1", 0.1571), ["Macro-F1", "15.7 %"]);
  assert.deepEqual(factOf("empty_completions", 1), ["Empty answers", "100.0 %"]);
  assert.deepEqual(factOf("mrr", 0.5), ["MRR", "0.5"]);
  assert.deepEqual(factOf("mean_rank", 12), ["Mean rank", "12"]);
});

test("the right label stands at its own place, however far down it is", () => {
  const probabilities = Array.from({ length: 10 }, (_, index) => ({ label: `l${index}`, probability: 1 / (index + 2), gold: index === 9 }));
  assert.deepEqual(shownLabels({ probabilities, rank: 22 }).map((one) => one.place), [1, 2, 3, 4, 5, 22]);
  const near = probabilities.map((one, index) => ({ ...one, gold: index === 1 }));
  assert.deepEqual(shownLabels({ probabilities: near, rank: 2 }).map((one) => one.place), [1, 2, 3, 4, 5]);
});
