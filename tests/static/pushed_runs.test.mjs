import assert from "node:assert/strict";
import { test } from "node:test";
import { PushedRuns } from "../../static/js/lib/pushed_runs.js";

test("an answer is overtaken by a push of its own run that came after the question", () => {
  const pushed = new PushedRuns();
  pushed.note("a");
  const asked = pushed.now;
  assert.equal(pushed.cameSince(asked, "a"), false);
  pushed.note("b");
  assert.equal(pushed.cameSince(asked, "a"), false);
  pushed.note("a");
  assert.equal(pushed.cameSince(asked, "a"), true);
  assert.equal(pushed.cameSince(pushed.now, "a"), false);
});
