// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { bestFinding, sureness } from "../../static/js/pages/run/banner.js";

const finding = (/** @type {object} */ more) => ({ id: "cuda_oom", attempt: 2, cause: "", remedy: "", confidence: 0.95, lines: [], source: "", ...more });

test("a finding is shown for the attempt that failed, and only then", () => {
  const findings = [finding({}), finding({ id: "dl_killed" }), finding({ attempt: 1, id: "disk_full" })];
  const run = /** @type {any} */ ({ state: "failed", attempt: 2 });
  assert.equal(bestFinding(run, findings)?.id, "cuda_oom");
  assert.equal(bestFinding({ ...run, attempt: 3 }, findings), undefined);
  assert.equal(bestFinding({ ...run, state: "running" }, findings), undefined);
});

test("confidence is a word", () => {
  assert.deepEqual(
    [finding({}), finding({ confidence: 0.5 }), finding({ confidence: 0.2 }), finding({ id: "unknown", confidence: 0 })].map(sureness),
    ["almost certain", "likely", "a guess", "no known cause fits"],
  );
});
