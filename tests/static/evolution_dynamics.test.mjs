import assert from "node:assert/strict";
import { test } from "node:test";
import { MARGIN, ceiling, nearest, place } from "../../static/js/pages/dynamics/field.js";

const frame = { width: 400, height: 300, maxX: 0.5, maxY: 1 };
const point = (/** @type {number} */ x, /** @type {number} */ y, index = 0) => ({ x, y, color: "--chart-1", index });

test("the corners of the field are its extremes", () => {
  assert.deepEqual(place(frame, point(0, 0)), { left: MARGIN.left, top: 300 - MARGIN.bottom });
  assert.deepEqual(place(frame, point(0.5, 1)), { left: 400 - MARGIN.right, top: MARGIN.top });
});

test("the nearest point is found, if any is near; the upper one of equals", () => {
  const points = [point(0, 0, 0), point(0.25, 0.5, 1), point(0.25, 0.5, 2)];
  const { left, top } = place(frame, points[1]);
  assert.equal(nearest(frame, points, left + 3, top - 3)?.index, 2);
  assert.equal(nearest(frame, points, left + 40, top), null);
  assert.equal(nearest(frame, [], left, top), null);
});

test("an axis ends at a round number", () => {
  assert.deepEqual([0.43, 0.5, 0.051, 1, 0, NaN].map(ceiling), [0.5, 0.5, 0.1, 1, 1, 1]);
});
