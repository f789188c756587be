// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { calibrationWords, matrixOf, mistakesOf, MOST_IN_MATRIX, shownLabels, sortedLabels } from "../../static/js/lib/classification.js";

const label = (/** @type {string} */ name, /** @type {number} */ support, f1 = 0.5) => ({ name, support, predicted: support, precision: f1, recall: f1, f1 });
/** @type {any} */
const evaluation = {
  step: 50,
  labels: [label("cat", 10), label("dog", 4, 0.9), label("owl", 0, 0.1)],
  confusion: [[0, 0, 7], [0, 1, 3], [1, 1, 1], [1, 0, 3]],
  bins: [],
};

test("a row of the matrix says how the texts of one label were called", () => {
  const rows = matrixOf(evaluation);
  assert.deepEqual(rows.map((row) => row.cells.map((cell) => cell.count)), [[7, 3, 0], [3, 1, 0], [0, 0, 0]]);
  assert.equal(rows[0].cells[1].share, 0.3);
  assert.equal(rows[2].cells[0].share, 0); // no text has that label
  assert.deepEqual(rows[1].cells.map((cell) => cell.right), [false, true, false]);
});

test("mistakes come by how often they are made", () => {
  const found = mistakesOf(evaluation, 5);
  assert.deepEqual(found.map((one) => `${one.truth} > ${one.prediction} ${one.count}`), ["cat > dog 3", "dog > cat 3"]);
  assert.equal(mistakesOf(evaluation, 1).length, 1);
});

test("of very many labels the most frequent are shown, in their own order", () => {
  const many = Array.from({ length: MOST_IN_MATRIX + 2 }, (_, index) => label(`l${index}`, index < 2 ? 0 : 100 - index));
  const shown = shownLabels(many);
  assert.equal(shown.length, MOST_IN_MATRIX);
  assert.equal(shown[0], 2);
  assert.deepEqual(shown, [...shown].sort((one, other) => one - other));
});

test("labels are sorted by any column", () => {
  assert.deepEqual(sortedLabels(evaluation.labels, "f1", true).map((one) => one.name), ["dog", "cat", "owl"]);
  assert.deepEqual(sortedLabels(evaluation.labels, "name", false).map((one) => one.name), ["cat", "dog", "owl"]);
});

test("calibration is said in words", () => {
  const bin = (/** @type {number} */ confidence, /** @type {number} */ accuracy) => ({ lower: 0, upper: 1, count: 10, confidence, accuracy });
  assert.match(calibrationWords({ ...evaluation, ece: 0.2, bins: [bin(0.9, 0.7)] }), /more confident than/);
  assert.match(calibrationWords({ ...evaluation, ece: 0.2, bins: [bin(0.5, 0.7)] }), /more often than it says/);
  assert.match(calibrationWords({ ...evaluation, ece: 0.2, bins: [bin(0.9, 0.7), bin(0.3, 0.5)] }), /both directions/);
  assert.match(calibrationWords({ ...evaluation, ece: 0.01, bins: [bin(0.9, 0.89)] }), /about as often/);
  assert.match(calibrationWords({ ...evaluation, ece: 0, bins: [] }), /Nothing/);
});
