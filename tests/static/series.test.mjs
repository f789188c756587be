import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveSeries } from "../../static/js/lib/series.js";
import { smooth } from "../../static/js/lib/smoothing.js";

const batch = (start, ...values) => ({
  start, values, steps: values.map((_, i) => start + i), times: values.map((_, i) => 100 + start + i),
});

test("live points follow a downsampled history by their numbers", () => {
  const series = new LiveSeries("train/loss");
  series.reset({ steps: [0, 9], times: [1, 2], values: [5, 4], total_points: 10 });
  assert.equal(series.append(batch(10, 3, 2)), "added");
  assert.deepEqual(series.columns.values, [5, 4, 3, 2]);
  assert.equal(series.count, 12);
});

test("what is known already is dropped, and only that", () => {
  const series = new LiveSeries("x");
  series.append(batch(0, 1, 2, 3));
  assert.equal(series.append(batch(1, 2, 3)), "known");
  assert.equal(series.append(batch(1, 2, 3, 4)), "added");
  assert.deepEqual(series.columns.values, [1, 2, 3, 4]);
});

test("a hole is refused and changes nothing", () => {
  const series = new LiveSeries("x");
  series.append(batch(0, 1));
  assert.equal(series.append(batch(3, 9)), "gap");
  assert.deepEqual([series.count, series.length], [1, 1]);
});

test("it says when the history should be thinned again", () => {
  const series = new LiveSeries("x", 3);
  series.append(batch(0, 1, 2, 3));
  assert.equal(series.crowded, false);
  series.append(batch(3, 4));
  assert.equal(series.crowded, true);
  series.reset({ steps: [0, 3], times: [1, 2], values: [1, 4], total_points: 4 });
  assert.equal(series.crowded, false);
});

test("the newest finite value skips gaps", () => {
  const series = new LiveSeries("x");
  series.append(batch(0, 7, null));
  assert.equal(series.last, 7);
});

test("a constant stays the constant from its first point on", () => {
  assert.deepEqual(smooth([3, 3, 3], 0.9).map((value) => Number(value.toFixed(12))), [3, 3, 3]);
});

test("smoothing is the bias-corrected average worked by hand", () => {
  // 0.5 * 0 + 0.5 * 2 = 1, over 1 - 0.5 = 2; then 0.5 * 1 + 0.5 * 4 = 2.5, over 0.75 = 3.333
  const [first, second] = smooth([2, 4], 0.5);
  assert.equal(first, 2);
  assert.ok(Math.abs(second - 10 / 3) < 1e-12);
});

test("gaps stay gaps and do not poison what follows", () => {
  assert.deepEqual(smooth([1, null, NaN, 1], 0.5), [1, null, null, 1]);
  assert.deepEqual(smooth([1, 5], 0), [1, 5]);
});
