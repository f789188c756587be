import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOf, missingRole, roleOf, suggested } from "../../static/js/pages/new_run/columns.js";

const role = (/** @type {string} */ name) => ({ name, help: "", is_label: false });
const labelled = { name: "labelled", title: "", help: "", endings: [".csv", ".jsonl"], needs: [["text", "label"]], roles: ["text", "label", "group"].map(role) };
const vectors = { ...labelled, name: "vectors", endings: [".npz"] };
const talks = { ...labelled, name: "conversations", needs: [["instruction", "output"], ["text"]], roles: ["instruction", "output", "text"].map(role) };
const report = (/** @type {any} */ columns, /** @type {string[]} */ missing = [], format = "csv") => ({ format, columns: [{ name: "x" }], kinds: [{ name: "labelled", columns, missing }] });

test("the ending of a file says as what its recipe reads it", () => {
  assert.equal(kindOf([labelled, vectors], ["vectors", "labelled"], "a.b/mail.CSV")?.name, "labelled");
  assert.equal(kindOf([labelled, vectors], ["vectors"], "mail.csv"), undefined);
  assert.equal(kindOf([labelled], ["labelled"], "mail"), undefined);
});

test("columns are asked for only where they are called otherwise", () => {
  assert.equal(suggested(labelled, report({ text: " Text ", label: "label" })), null);
  assert.deepEqual(suggested(labelled, report({ text: "Text", label: "label" }, [], "jsonl")), { text: "Text", label: "label" }); // keys are compared exactly
  assert.deepEqual(suggested(labelled, report({ text: "Body" }, ["label"])), { text: "Body" });
  assert.equal(suggested(labelled, { ...report({}, ["text"]), columns: [] }), null); // nothing to choose from
  assert.equal(suggested(talks, report({}, ["text"])), null);
});

test("one way of using a kind must be whole", () => {
  assert.equal(missingRole(labelled, { text: "Body", label: "" }), "label");
  assert.equal(missingRole(labelled, { text: "Body", label: "Verdict" }), null);
  assert.equal(missingRole(talks, { text: "Body" }), null);
  assert.equal(missingRole(talks, { output: "Answer" }), "instruction");
  assert.equal(missingRole(talks, {}), "instruction");
});

test("a refusal names its role", () => {
  assert.equal(roleOf("columns.text"), "text");
  assert.equal(roleOf("dataset"), null);
});
