import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf, stagesOf, tookOf } from "../../static/js/pages/doctor/stages.js";
import { sorted } from "../../static/js/pages/new_run/preflight.js";

const check = (id, verdict, took_s) => ({ id, title: id.toUpperCase(), verdict, found: "", remedy: "", details: { took_s } });
const order = [{ id: "a", title: "A" }, { id: "b", title: "B" }, { id: "c", title: "C" }];

test("red and amber are open, worst first; notes and what is fine stay folded", () => {
  const { open, fine, isRed } = sorted([check("a", "ok"), check("b", "warning"), check("c", "note"), check("d", "problem")]);
  assert.deepEqual(open.map(({ id }) => id), ["d", "b"]);
  assert.deepEqual(fine.map(({ id }) => id), ["a", "c"]);
  assert.equal(isRed, true);
  assert.equal(sorted([check("b", "warning")]).isRed, false);
});

test("of a running rehearsal all stages are shown, and the first without a verdict is going on", () => {
  const shown = stagesOf({ running: true, order, stages: [check("a", "ok", 1)], report: null });
  assert.deepEqual(shown.map(({ stage, check: found, isRunning }) => [stage.id, found !== null, isRunning]), [["a", true, false], ["b", false, true], ["c", false, false]]);
});

test("a rehearsal that ended before its last stage shows how far it came; an older report is shown until then", () => {
  const stages = [check("a", "ok"), check("b", "problem")];
  assert.deepEqual(stagesOf({ running: false, order, stages, report: null }).map(({ stage }) => stage.id), ["a", "b"]);
  const old = { stages: [check("x", "ok")], verdict: "ok", took_s: 19.42 };
  assert.deepEqual(stagesOf({ running: false, order: [], stages: [], report: old }).map(({ stage }) => stage.id), ["x"]);
  assert.equal(outcomeOf(old), "Passed: 1 stages in 19.4 s");
  assert.equal(outcomeOf({ ...old, stages }), "Broke at: B");
  assert.deepEqual([tookOf(check("a", "ok", 2.04)), tookOf(check("a", "ok"))], ["2.0 s", ""]);
});
