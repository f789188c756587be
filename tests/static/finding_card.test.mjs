// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { bestFinding, exitInWords, rungWords, startWords, sureness } from "../../static/js/pages/run/finding_card.js";
import { bothEndsOf, readBothEnds } from "../../static/js/lib/log_ends.js";

const finding = (/** @type {object} */ more) => ({ id: "cuda_oom", attempt: 2, cause: "", remedy: "", confidence: 0.95, lines: [], source: "", rungs: [], rungs_in_words: [], ...more });

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

test("how it ended is told in words a tired person understands", () => {
  assert.equal(exitInWords(null, 9), "It was killed by SIGKILL (9): ended at once from outside, without a chance to say why.");
  assert.equal(exitInWords(1, null), "It ended with exit code 1: an error nobody caught.");
  assert.equal(exitInWords(7, null), "It ended with exit code 7.");
  assert.equal(exitInWords(null, null), "");
});

test("what may be tried is named with what it costs", () => {
  const rung = (/** @type {object} */ more) => ({ rung: "x", title: "t", changes_numbers: false, is_unsafe: false, ...more });
  assert.deepEqual(rungWords([rung({ title: "no workers" }), rung({ changes_numbers: true }), rung({ changes_numbers: true, is_unsafe: true })]), [
    { words: "no workers", badge: "" },
    { words: "t", badge: "changes numbers" },
    { words: "t", badge: "unsafe" },
  ]);
});

test("start says from which step it goes on", () => {
  assert.equal(startWords([]), "Start begins again from step 0: there is no checkpoint yet.");
  assert.equal(startWords([{ step: 100 }, { step: 2500 }]), "Start goes on from the checkpoint of step 2,500.");
});

test("a log of any size is read at both ends only", async () => {
  assert.equal(bothEndsOf("short"), "short");
  const small = new Blob(["line one\nline two\n"]);
  assert.deepEqual(await readBothEnds(small), { text: "line one\nline two\n", isCut: false });
  const huge = new Blob(["first\n", "x".repeat(2_000_000), "\nlast"]);
  const { text, isCut } = await readBothEnds(huge);
  assert.ok(isCut && text.startsWith("first\n") && text.endsWith("\nlast") && text.length < 310_000);
  const wide = new Blob([new Uint8Array([0xff, 0xfe, 0x4b, 0x00, 0x0a, 0x00])]);
  assert.equal((await readBothEnds(wide)).text, "K\n");
});
