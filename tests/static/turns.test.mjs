import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "../../static/js/lib/turns.js";

globalThis.requestAnimationFrame ??= (go) => setTimeout(() => go(performance.now()), 1);
globalThis.reportError ??= () => {};

const busy = (ms) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

test("drawings come in the order asked for, never two at once, and one that fails stops none", async () => {
  const turns = new Turns();
  const seen = [];
  let drawing = 0;
  await new Promise((done) => {
    for (const name of ["a", "b", "c", "d"]) {
      turns.take(async () => {
        drawing += 1;
        assert.equal(drawing, 1);
        await new Promise((go) => setTimeout(go, 2));
        drawing -= 1;
        seen.push(name);
        if (name === "b") throw new Error("no canvas");
        if (name === "d") done();
      });
    }
  });
  assert.deepEqual(seen, ["a", "b", "c", "d"]);
});

test("between two drawings everything else has its time", async () => {
  const turns = new Turns();
  const seen = [];
  await new Promise((done) => {
    turns.take(async () => {
      busy(30);
      seen.push("drawn");
      setTimeout(() => seen.push("a click"), 5);
    });
    turns.take(async () => {
      seen.push("drawn");
      done();
    });
  });
  assert.deepEqual(seen, ["drawn", "a click", "drawn"]);
});
