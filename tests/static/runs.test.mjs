import assert from "node:assert/strict";
import { test } from "node:test";
import { Pace, fractionDone, secondsLeft } from "../../static/js/lib/progress.js";
import { datasetWord, inGroup, latestLoss, matchesText, runningSeconds } from "../../static/js/lib/run_facts.js";
import { STATE_NAMES } from "../../static/js/lib/states.js";
import { endWords } from "../../static/js/pages/run/banner.js";
import { eventWords, together } from "../../static/js/pages/run/event_words.js";
import { actionsFor } from "../../static/js/pages/run/header.js";
import { stallStory, stallWords } from "../../static/js/pages/run/stall.js";

const run = {
  id: "r1", name: "First try", recipe: "two_tower", dataset: "/in/box/my.pairs.jsonl", tags: ["night"], state: "running",
  step: 50, total_steps: 200, started_at: 1000, ended_at: null, heartbeat_at: 1099, attempt: 1, phase: "training",
  reason: null, exit_code: null, exit_signal: null, device: "cpu", latest: { "train/loss": 0.5 },
};
const keys = (one) => actionsFor(one).map((action) => action.key);

test("the main button is Stop while a run lives and Start when it has ended", () => {
  const main = Object.fromEntries(STATE_NAMES.map((state) => [state, keys({ ...run, state })[0]]));
  assert.deepEqual(main, {
    queued: "stop", starting: "stop", running: "stop", stalled: "stop", stopping: "stop", retrying: "stop",
    finished: "start", stopped: "start", failed: "start", lost: "start",
  });
});

test("pause and resume take turns, and a stopping run can only be killed", () => {
  assert.ok(keys(run).includes("pause"));
  assert.ok(keys({ ...run, phase: "paused" }).includes("resume"));
  const [stop, kill] = actionsFor({ ...run, state: "stopping" });
  assert.deepEqual([stop.disabled, kill.key], [true, "kill"]);
});

test("the end is told with exit code or signal", () => {
  const failed = endWords({ ...run, state: "failed", exit_signal: 9, ended_at: 1100 });
  assert.equal(failed.title, "Failed at step 50: killed by SIGKILL (9)");
  assert.equal(failed.tone, "bad");
  assert.match(endWords({ ...run, state: "finished", ended_at: 1100, exit_code: 0 }).title, /^Finished after 50 steps in 1 m 40 s/);
  assert.match(endWords({ ...run, state: "lost" }).title, /nobody can know/);
  assert.equal(endWords({ ...run, state: "stopped", started_at: null }).title, "Stopped before it started");
  assert.match(endWords({ ...run, state: "stopped", ended_at: 1100 }).text, /goes on from its last checkpoint/);
  assert.match(endWords({ ...run, state: "stopped", ended_at: 1100, script: "tiny" }).text, /runs the script again/);
  assert.equal(endWords(run), null);
});

test("time left follows the pace seen lately, else the average of a first attempt", () => {
  assert.equal(secondsLeft(run, null, 1100), 300); // 50 steps in 100 s, 150 to go
  assert.equal(secondsLeft(run, 3, 1100), 50);
  assert.equal(secondsLeft({ ...run, attempt: 2 }, null, 1100), null);
  assert.equal(secondsLeft({ ...run, total_steps: null }, 3, 1100), null);
  assert.equal(fractionDone(run), 0.25);
});

test("the pace forgets what is old and starts anew when steps go back", () => {
  const pace = new Pace();
  pace.add(0, 0);
  pace.add(10, 100);
  assert.equal(pace.rate, 10);
  pace.add(100, 190);
  assert.equal(pace.rate, 1);
  pace.add(101, 20);
  assert.equal(pace.rate, null);
});

test("filters find runs by group and by every word", () => {
  assert.ok(inGroup(run, "active") && !inGroup(run, "trouble"));
  assert.ok(inGroup({ ...run, state: "lost" }, "trouble"));
  assert.ok(matchesText(run, "NIGHT first"));
  assert.ok(!matchesText(run, "night second"));
});

test("small facts", () => {
  assert.equal(datasetWord(run.dataset), "my.pairs");
  assert.equal(datasetWord("python_docs"), "python_docs");
  assert.deepEqual(latestLoss(run), { name: "train/loss", value: 0.5 });
  assert.equal(latestLoss({ latest: { "train/loss": null } }), null);
  assert.equal(runningSeconds(run, 1100), 100);
  assert.equal(runningSeconds({ ...run, state: "stopped", ended_at: 1040 }, 9999), 40);
});

test("a stall says what kind it is, and where the main thread stands until it gets going again", () => {
  assert.deepEqual(stallWords("deadlocked: no progress for 61 s"), { title: "Deadlocked: nothing moves any more", text: "no progress for 61 s" });
  assert.deepEqual(stallWords("something else"), { title: "Alive, but not advancing", text: "something else" });
  const began = { type: "stall", what: "began", attempt: 2, verdict: "deadlocked", text: "waits" };
  const stacks = { type: "stacks", attempt: 2, verdict: "deadlocked", frame: "wait (a.py:1)", caller: "step (b.py:2)", code: "lock", text: "Thread 1\n  beat\n\nCurrent thread 2\n  wait\n" };
  assert.deepEqual(stallStory([began, stacks], 2)?.threads, ["Current thread 2\n  wait", "Thread 1\n  beat"]);
  assert.equal(stallStory([began, stacks], 3), null);
  assert.equal(stallStory([began, stacks, { ...began, what: "ended" }], 2), null);
  assert.equal(eventWords(began), "deadlocked: waits");
  assert.equal(eventWords(stacks), "it stands in wait (a.py:1) (lock)");
});

test("events read like sentences, unknown ones show what they hold", () => {
  assert.equal(eventWords({ type: "attempt", what: "ended", attempt: 2, exit_signal: 11 }), "attempt 2 ended: killed by SIGSEGV (11)");
  assert.equal(eventWords({ type: "snapshot", summary: { accuracy: 0.5, avg_loss: 1.25 } }), "50.0 % correct, loss 1.25");
  assert.equal(eventWords({ type: "finding", t: 1, seq: 2, id: "disk_full", cause: "the disk is full" }), "disk_full: the disk is full");
  assert.equal(eventWords({ type: "novelty", t: 1, seq: 2, cause: "disk" }), '{"cause":"disk"}');
});

test("between two attempts the reason is told, and only Stop can be asked for", () => {
  const retrying = { ...run, state: "retrying", phase: null, reason: "attempt 2 of 3 in 4 s: the same again, because it was killed" };
  assert.deepEqual(keys(retrying), ["stop"]);
  assert.deepEqual(endWords(retrying), {
    tone: "warn", icon: "retrying", title: "Between two attempts",
    text: "Attempt 2 of 3 in 4 s: the same again, because it was killed.",
  });
});

test("events that say the same in a row are one line", () => {
  const phase = (/** @type {number} */ t, /** @type {string} */ detail) => ({ type: "phase", t, step: 0, name: "loading", detail });
  const rows = together([phase(1, "tokenising"), phase(2, "tokenising"), phase(5, "tokenising"), phase(6, "model")]);
  assert.deepEqual(rows.map(({ words, count, event, until }) => [words, count, event.t, until]), [["loading: model", 1, 6, 6], ["loading: tokenising", 3, 1, 5]]);
  assert.equal(eventWords({ type: "device", name: "cpu (2 threads)" }), "cpu (2 threads)");
});
