import assert from "node:assert/strict";
import { test } from "node:test";
import { countWords, factWords, folderWord, retryWord } from "../../static/js/pages/inbox/items.js";
import { endWords, leftWords, moved, startWords, summary } from "../../static/js/pages/queue/order.js";
import { graceLeft, graceOf, isUnreachable, stopWords } from "../../static/js/pages/run/ending.js";
import { actionsFor } from "../../static/js/pages/run/header.js";

const waiting = (id, priority) => ({ run: { id, name: id }, priority });
const queue = [waiting("a", "high"), waiting("b", "normal"), waiting("c", "normal"), waiting("d", "low")];
const one = { start_at: null, start_is_latest: false, end_at: null, duration_s: null, basis: "nothing" };
const noon = new Date(2026, 0, 5, 12, 0, 0).getTime() / 1000;

test("a run that is moved inside its priority keeps it", () => {
  assert.deepEqual(moved(queue, "c", 1), { ids: ["a", "c", "b", "d"], priority: "normal" });
  assert.equal(moved(queue, "c", 2), null);
  assert.equal(moved(queue, "a", -1), null);
  assert.equal(moved(queue, "gone", 0), null);
});

test("a run that is moved among others takes their priority", () => {
  assert.deepEqual(moved(queue, "c", 0), { ids: ["c", "a", "b", "d"], priority: "high" });
  assert.deepEqual(moved(queue, "a", 1), { ids: ["b", "a", "c", "d"], priority: "normal" });
  assert.deepEqual(moved(queue, "b", 99), { ids: ["a", "c", "d", "b"], priority: "low" });
  assert.deepEqual(moved(queue, "b", 2), { ids: ["a", "c", "b", "d"], priority: "normal" }); // last of its kind
});

test("times are told, and not made up", () => {
  assert.equal(startWords(one, noon), "start unknown");
  assert.equal(endWords(one, noon), "end unknown");
  assert.equal(startWords({ ...one, start_at: noon + 90 }, noon), "starts about 12:01:30, in 1 m 30 s");
  assert.equal(startWords({ ...one, start_at: noon + 90, start_is_latest: true }, noon), "starts by 12:01:30, in 1 m 30 s");
  assert.equal(startWords({ ...one, start_at: noon }, noon), "starts now");
  assert.equal(endWords({ ...one, end_at: noon + 60 }, noon), "done about 12:01:00");
  assert.equal(endWords({ ...one, duration_s: 60 }, noon), "takes about 1 m 00 s");
  assert.equal(leftWords({ end_at: null, basis: "it is paused" }, noon), "end unknown: it is paused");
  assert.equal(leftWords({ end_at: noon + 60, basis: "" }, noon), "done about 12:01:00, in 1 m 00 s");
  assert.equal(summary({ max_runs: 2, active: [1], waiting: [1, 2] }), "1 of 2 running, 2 waiting");
});

test("a stop says which phase it is in", () => {
  const run = { state: "stopping", reason: null };
  assert.match(stopWords(run).title, /on its way/);
  assert.match(stopWords({ ...run, reason: "asked to stop, killed after 30 s" }).text, /30 s after it was asked/);
  assert.match(stopWords({ ...run, reason: "asked to stop, killed after 0 s" }).title, /^Killing/);
  assert.match(stopWords({ ...run, reason: "to be killed at once" }).title, /^Killing/);
  assert.equal(graceOf("deadlocked: no progress"), null);
  const asked = { ...run, reason: "asked to stop, killed after 30 s" };
  assert.equal(graceLeft(asked, 100, 112.5), "killed in 18 s");
  assert.equal(graceLeft(asked, 100, 131), "being killed");
  assert.equal(graceLeft(asked, null, 131), "");
  assert.equal(graceLeft({ ...asked, state: "stopped" }, 100, 112), "");
});

test("marking by hand is offered where nobody can be reached", () => {
  const run = { state: "running", heartbeat_at: 100, progress_at: 90, started_at: 10, created_at: 1, phase: null };
  assert.equal(isUnreachable(run, 150), false);
  assert.equal(isUnreachable(run, 161), true);
  assert.equal(isUnreachable({ ...run, state: "stopped" }, 1e6), false);
  const keys = (state, unreachable) => actionsFor({ ...run, state }, unreachable).map((action) => action.key);
  assert.ok(keys("lost", false).includes("mark-ended"));
  assert.ok(keys("stopping", true).includes("mark-ended"));
  assert.ok(!keys("running", false).includes("mark-ended"));
  assert.ok(!keys("failed", false).includes("mark-ended"));
});

test("a dropped dataset in words", () => {
  const item = { state: "done", bytes: 2048, facts: { kind: "pairs", num_pairs: 1466 }, recipe: "two_tower", priority: "high", run: { id: "r" } };
  assert.equal(factWords(item), "2.00 KiB · 1,466 rows (pairs) · two_tower · high priority");
  assert.equal(factWords({ ...item, bytes: 0, facts: null, recipe: null, priority: "normal" }), "");
  assert.equal(retryWord(item), "Start its run again");
  assert.equal(retryWord({ ...item, state: "duplicate" }), "Train it all the same");
  assert.equal(retryWord({ ...item, run: null }), "Try again");
  assert.equal(folderWord("/a/b/instance/inbox/quarantine"), "inbox/quarantine");
  assert.equal(countWords({ waiting: 2, done: 1 }), "2 waiting, 1 done");
  assert.equal(countWords({}), "empty");
});
