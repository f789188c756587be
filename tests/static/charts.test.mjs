import assert from "node:assert/strict";
import { test } from "node:test";
import { axisValues, fromAxisRange, fullRange, timeUnit, toAxisRange } from "../../static/js/lib/axis.js";
import { boundLines, matchSeries, plainDefinition, unclaimed } from "../../static/js/lib/chart_lines.js";
import { sparklinePoints } from "../../static/js/lib/sparkline.js";

const columns = { steps: [0, 10], times: [1000, 1120] };

test("the x axis shows steps, elapsed time in a fitting unit, or the clock", () => {
  const minutes = timeUnit(600);
  assert.deepEqual(axisValues({ kind: "step", origin: 0, log: false }, minutes, columns), [0, 10]);
  assert.deepEqual(axisValues({ kind: "relative", origin: 1000, log: false }, minutes, columns), [0, 2]);
  const [first, second] = axisValues({ kind: "wall", origin: 0, log: false }, minutes, columns);
  assert.equal(second - first, 120_000);
  assert.deepEqual([timeUnit(10).word, timeUnit(600).word, timeUnit(20_000).word], ["seconds", "minutes", "hours"]);
});

test("a zoom survives the way to the axis and back", () => {
  const hours = timeUnit(50_000);
  for (const view of [
    { kind: "step", origin: 0, log: false }, { kind: "step", origin: 0, log: true },
    { kind: "relative", origin: 900, log: false }, { kind: "wall", origin: 0, log: false },
  ]) {
    const back = fromAxisRange(view, hours, toAxisRange(view, hours, [1000, 1120]));
    assert.ok(Math.abs(back[0] - 1000) < 1e-6 && Math.abs(back[1] - 1120) < 1e-6, JSON.stringify(view));
  }
});

test("the full range spans all series, with a margin where points are drawn", () => {
  const step = { kind: "step", origin: 0, log: false };
  const other = { steps: [5, 50], times: [1, 2] };
  assert.deepEqual(fullRange(step, timeUnit(0), [columns, other], 0), [0, 50]);
  assert.deepEqual(fullRange(step, timeUnit(0), [columns, other], 0.1), [-5, 55]);
  assert.deepEqual(fullRange(step, timeUnit(0), [{ steps: [7], times: [1] }], 0.1), [6, 8]);
  assert.deepEqual(fullRange({ ...step, log: true }, timeUnit(0), [{ steps: [1, 100], times: [1, 2] }], 0), [0, 2]);
});

test("a range drawn from right to left is the same range", () => {
  assert.deepEqual(fromAxisRange({ kind: "step", origin: 0, log: false }, timeUnit(0), [9, 3]), [3, 9]);
});

const definition = {
  key: "gpu", title: "GPU", section: "System", help: "", empty: "", log: false, over_time: true, y_format: "number",
  lines: [{ series: "system/gpu_*", label: "*", color: "--chart-1", smooth: false }],
  figure: { data: [{ type: "scatter" }], layout: { yaxis: {}, yaxis2: {} } },
};

test("patterns stand for every series they match", () => {
  assert.equal(matchSeries("eval/recall@*", "eval/recall@10"), "10");
  assert.equal(matchSeries("train/loss", "train/loss"), "");
  assert.equal(matchSeries("train/loss", "train/loss2"), null);
  const lines = boundLines(definition, ["system/gpu_percent", "train/loss", "system/gpu_memory"]);
  assert.deepEqual(lines.map((line) => line.label), ["percent", "memory"]);
});

test("a series nobody declared a chart for gets one of its own", () => {
  assert.deepEqual(unclaimed([definition], ["system/gpu_percent", "my/metric"]), ["my/metric"]);
  const plain = plainDefinition("my/metric", definition);
  assert.deepEqual([plain.key, plain.title, plain.figure.layout.yaxis2], ["series-my-metric", "my/metric", undefined]);
});

test("a sparkline fills its box, leaves gaps out and centres a flat line", () => {
  assert.equal(sparklinePoints([0, null, 10], 100, 20), "0.0,20.0 100.0,0.0");
  assert.equal(sparklinePoints([3, 3], 100, 20), "0.0,10.0 100.0,10.0");
  assert.equal(sparklinePoints([1], 100, 20), "");
});

test("two hundred thousand points do not overflow the stack", () => {
  assert.ok(sparklinePoints(Array.from({ length: 200_000 }, (_, index) => index), 96, 24).length > 0);
});
