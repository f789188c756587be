import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionWord, holds, valueWord } from "../../static/js/pages/run/gates_panel.js";

const recall = { metric: "eval/recall@5", unit: "share", at_least: true, threshold: 0.3, newest: 0.25, best: 0.3 };
const latency = { metric: "eval/index_p95_ms", unit: "ms", at_least: false, threshold: 8, newest: 9.123, best: null };

test("a condition is told with its measure, its direction and its unit", () => {
  assert.equal(conditionWord(recall), "recall@5 ≥ 30.0 %");
  assert.equal(conditionWord(latency), "95 % of queries ≤ 8 ms");
});

test("a measure holds when it reaches the threshold, or stays within it", () => {
  assert.equal(holds(recall, "newest"), "no-go");
  assert.equal(holds(recall, "best"), "go");
  assert.equal(holds(latency, "newest"), "no-go");
  assert.equal(holds({ ...latency, newest: 7.9 }, "newest"), "go");
});

test("what was not measured is neither", () => {
  assert.equal(holds(latency, "best"), "unknown");
  assert.equal(valueWord(null, "ms"), "–");
});
