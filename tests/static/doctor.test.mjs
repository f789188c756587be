import assert from "node:assert/strict";
import { test } from "node:test";
import { detailText, endWord, leftoversOf, summaryOf, worstFirst } from "../../static/js/pages/doctor/findings.js";

const check = (id, verdict, details = {}) => ({ id, title: id, verdict, found: "", remedy: "", details });

test("the worst comes first, and equals keep their order", () => {
  const checks = [check("a", "ok"), check("b", "note"), check("c", "problem"), check("d", "ok"), check("e", "warning")];
  assert.deepEqual(worstFirst(checks).map((one) => one.id), ["c", "e", "b", "a", "d"]);
  assert.equal(summaryOf([...checks, check("f", "note")]), "1 problem, 1 warning, 2 notes, 2 fine");
});

test("only leftover processes can be ended, by pid and creation time", () => {
  const processes = [{ pid: 5, create_time: 1.5, command: "python" }];
  assert.deepEqual(leftoversOf(check("leftovers", "warning", { processes })), [{ pid: 5, create_time: 1.5 }]);
  assert.deepEqual(leftoversOf(check("openmp", "warning", { processes })), []);
  assert.deepEqual([endWord(1), endWord(19)], ["End this process", "End these 19 processes"]);
});

test("stacks are shown as lines, the rest as JSON", () => {
  assert.equal(detailText({}), "");
  assert.equal(detailText({ lines: ["a", "b"] }), "a\nb");
  assert.match(detailText({ lines: ["a"], signal: 11 }), /^a\n\n\{\n {2}"signal": 11/);
});
