import assert from "node:assert/strict";
import test from "node:test";
import { helpOf, recipeOf } from "../../static/js/pages/new_run/script.js";
import { actionsFor } from "../../static/js/pages/run/header.js";
import { subjectOf } from "../../static/js/pages/run/subject.js";
import { parameterWords, sentence, summaryWords } from "../../static/js/pages/scripts/words.js";

const script = { name: "mine", title: "Mine", summary: "Learns.", entry: "train.py", interpreter: "python", resumes: false, dataset: "none", parameters: [{ name: "lr" }], trouble: null };

test("a script lends its parameters to the recipe of scripts, and to no other", () => {
  const own = { name: "script", parameters: [], presets: [1] };
  assert.deepEqual(recipeOf(own, script), { name: "script", parameters: [{ name: "lr" }], presets: [] });
  assert.deepEqual(recipeOf(own, undefined).parameters, []);
  const other = { name: "two_tower", parameters: [2] };
  assert.equal(recipeOf(other, script), other);
});

test("the words under the choice say what is started", () => {
  assert.equal(helpOf(script), "Learns. Starts train.py.");
  assert.equal(helpOf(undefined), "No script can be used yet.");
});

test("the page of scripts counts what cannot be used", () => {
  assert.equal(summaryWords([script]), "1 script");
  assert.equal(summaryWords([script, { ...script, trouble: {} }]), "2 scripts, 1 cannot be used");
  assert.equal(parameterWords(script), "train.py under python · chosen on the form: lr · begins anew after a death");
  assert.match(parameterWords({ ...script, parameters: [], dataset: "required", resumes: true }), /nothing to choose · needs a file · goes on/);
  assert.equal(sentence("check the name"), "Check the name.");
  assert.equal(sentence("did you mean entry?"), "Did you mean entry?");
});

test("a script without a file stands in the place of its dataset", () => {
  assert.deepEqual(subjectOf({ recipe: "script", script: "mine", dataset: "mine" }), { subject: "script", hasDataset: false });
  assert.deepEqual(subjectOf({ recipe: "script", script: "mine", dataset: "/d/x.csv" }), { subject: "script mine", hasDataset: true });
  assert.deepEqual(subjectOf({ recipe: "two_tower", script: "", dataset: "python_docs" }), { subject: "two_tower", hasDataset: true });
});

test("a script that only prints can be stopped, one that reports can be asked for more, none can be paused", () => {
  const keys = (one) => actionsFor({ state: "running", script: "mine", ...one }).map((action) => action.key);
  assert.deepEqual(keys({ heartbeat_at: null }), ["stop"]);
  assert.deepEqual(keys({ heartbeat_at: 1 }), ["stop", "checkpoint", "snapshot"]);
  assert.deepEqual(keys({ script: "", heartbeat_at: 1 }), ["stop", "pause", "checkpoint", "snapshot"]);
});
