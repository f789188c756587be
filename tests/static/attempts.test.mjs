import assert from "node:assert/strict";
import { test } from "node:test";
import { replacedWords } from "../../static/js/lib/environment_view.js";
import { badgesOf, rungTone } from "../../static/js/lib/rungs.js";
import { changesOf, endOf, reachedBy } from "../../static/js/pages/run/attempts.js";
import { readRows, variableOf } from "../../static/js/pages/new_run/own_variables.js";
import { asParameter, policyFieldOf, policyOf } from "../../static/js/pages/new_run/policy.js";

const threads = { rung: "threads", title: "one thread", changes_numbers: false, is_unsafe: false };
const subset = { rung: "subset", title: "half of the pairs", changes_numbers: true, is_unsafe: false };
const openmp = { rung: "duplicate_openmp", title: "two runtimes", changes_numbers: false, is_unsafe: true };

test("a rung that may make results wrong is worse than one that makes them different", () => {
  assert.deepEqual([threads, subset, openmp, { ...subset, is_unsafe: true }].map(rungTone), ["plain", "numbers", "unsafe", "unsafe"]);
  assert.equal(rungTone({ rung: "new", title: "x" }), "plain");
});

test("a run has one badge per kind, worst first, and none for rungs that keep its numbers", () => {
  assert.deepEqual(badgesOf([threads, subset, { ...subset, title: "shorter" }, openmp]), [
    { tone: "unsafe", why: "two runtimes" },
    { tone: "numbers", why: "half of the pairs, shorter" },
  ]);
  assert.deepEqual(badgesOf([threads]), []);
  assert.deepEqual(badgesOf(undefined), []);
});

test("an attempt's end is told in words, and an unknown one as unknown", () => {
  const attempt = { attempt: 1, ended_at: 5, exit_code: null, exit_signal: null };
  assert.equal(endOf({ ...attempt, ended_at: null }), "running");
  assert.equal(endOf({ ...attempt, exit_code: 1 }), "exit code 1");
  assert.equal(endOf({ ...attempt, exit_signal: 9 }), "killed by SIGKILL (9)");
  assert.equal(endOf(attempt), "unknown");
});

test("how far an attempt came is its own report, or the run's while it is the newest", () => {
  const run = { attempt: 2, step: 70 };
  assert.equal(reachedBy({ attempt: 1, reached_step: 0 }, run), 0);
  assert.equal(reachedBy({ attempt: 2, reached_step: null }, run), 70);
  assert.equal(reachedBy({ attempt: 1, reached_step: null }, run), null);
  assert.equal(reachedBy({ attempt: 1 }, run), null);
});

test("changes are before and after, and what was not there is told so", () => {
  const changes = { OMP_NUM_THREADS: ["2", "1"], OMP_WAIT_POLICY: [null, "PASSIVE"], max_pairs: [8000, 4000], CUDA_VISIBLE_DEVICES: ["0", ""], flag: [true, false] };
  assert.deepEqual(changesOf({ ...threads, changes }).map(({ name, before, after }) => `${name} ${before} ${after}`), [
    "OMP_NUM_THREADS 2 1", "OMP_WAIT_POLICY not set PASSIVE", "max_pairs 8,000 4,000", "CUDA_VISIBLE_DEVICES 0 empty", "flag true false",
  ]);
  assert.deepEqual(changesOf(threads), []);
});

test("what a variable has replaced is said, and nothing where it replaced nothing", () => {
  const mine = { name: "A", value: "1", reason: "r", source: "yours" };
  assert.equal(replacedWords({ ...mine, replaced: { value: "4", source: "threads" } }), "instead of 4 (threads)");
  assert.equal(replacedWords({ ...mine, replaced: { value: "", source: "device" } }), "instead of nothing (device)");
  assert.equal(replacedWords({ ...mine, replaced: { value: "1", source: "threads" } }), "the same as before (threads)");
  assert.equal(replacedWords({ ...mine, replaced: null }), "");
  assert.equal(replacedWords(mine), "");
});

test("rows of variables: empty ones do not count, and each mistake is told at its row", () => {
  const read = readRows([{ name: " A ", value: "" }, { name: "", value: "" }, { name: "", value: "x" }, { name: "A", value: "2" }, { name: "__proto__", value: "p" }]);
  assert.deepEqual(Object.entries(read.environment), [["A", ""], ["__proto__", "p"]]);
  assert.deepEqual([...read.errors], [[2, "Give it a name."], [3, "It is set twice."]]);
  assert.deepEqual([variableOf("environment.A"), variableOf("environment"), variableOf("params.A"), variableOf(undefined)], ["A", null, null, null]);
});

test("a policy is what differs from the defaults", () => {
  const fields = [{ name: "max_attempts", default: 3 }, { name: "on_stall", default: "report" }];
  assert.deepEqual(policyOf(fields, { max_attempts: 3, on_stall: "retry" }), { on_stall: "retry" });
  assert.deepEqual(asParameter({ name: "on_stall", choices: { report: "say so", stop: "stop it" } }).choices, ["report", "stop"]);
  assert.deepEqual([policyFieldOf("policy.on_stall"), policyFieldOf("policy")], ["on_stall", null]);
});
