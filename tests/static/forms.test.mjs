import assert from "node:assert/strict";
import { test } from "node:test";
import { errorFrom, metricPath, newKey, query } from "../../static/js/lib/api.js";
import { shellWord } from "../../static/js/lib/environment_view.js";
import { codeFrom, safeNext } from "../../static/js/lib/next_address.js";
import { grouped, parameterOf, rangeWords, readParameter, spokenName } from "../../static/js/lib/parameters.js";
import { hasWords } from "../../static/js/pages/new_run/parameter_filter.js";
import { presetWords } from "../../static/js/pages/new_run/presets.js";

const epochs = { name: "num_epochs", type: "int", default: 3, minimum: 1, maximum: 10000, choices: null, help: "", group: "Length", advanced: false, unit: "epochs" };

test("numbers are read as people write them, and refused with what is allowed", () => {
  assert.deepEqual(readParameter(epochs, " 1,000 "), { value: 1000 });
  assert.deepEqual(readParameter(epochs, "2.5"), { error: "Enter a whole number." });
  assert.deepEqual(readParameter(epochs, "0"), { error: "Allowed: 1 to 10,000 epochs." });
  assert.deepEqual(readParameter({ ...epochs, type: "float", maximum: null }, "1e-3"), { error: "Allowed: at least 1 epochs." });
  assert.deepEqual(readParameter({ ...epochs, type: "float", minimum: 0 }, "1e-3"), { value: 0.001 });
  assert.deepEqual(readParameter(epochs, ""), { error: "Enter a number." });
  assert.deepEqual(readParameter({ ...epochs, type: "bool" }, "false"), { value: false });
  assert.equal(rangeWords({ ...epochs, type: "str" }), "");
});

test("groups keep the order of the declaration", () => {
  const names = grouped([epochs, { ...epochs, name: "b", group: "Model" }, { ...epochs, name: "c" }]).map(([group, members]) => [group, members.length]);
  assert.deepEqual(names, [["Length", 2], ["Model", 1]]);
  assert.equal(parameterOf("params.seed"), "seed");
  assert.equal(parameterOf("dataset"), null);
});

test("an error keeps its field and hint in both shapes of the API", () => {
  const plain = errorFrom(422, { error: { code: "invalid", message: "too small", field: "params.seed", hint: "0 or more" } });
  assert.deepEqual([plain.message, plain.field, plain.hint, plain.status], ["too small", "params.seed", "0 or more", 422]);
  const old = errorFrom(404, { error: "no such step", code: "not_found", hint: "0, 10" });
  assert.deepEqual([old.message, old.hint], ["no such step", "0, 10"]);
  assert.equal(errorFrom(502, null).message, "The server answered 502.");
});

test("addresses are written safely", () => {
  assert.equal(metricPath("eval/recall@10"), "eval/recall%4010");
  assert.equal(query({ a: 1, b: null, c: "", d: "x y" }), "?a=1&d=x+y");
  assert.match(newKey(), /^[0-9a-f]{32}$/);
  assert.notEqual(newKey(), newKey());
});

test("after the login only addresses of this site are followed", () => {
  const origin = "http://127.0.0.1:8421";
  assert.equal(safeNext("/runs/1?x=2#log", origin), "/runs/1?x=2#log");
  for (const hostile of ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "", null, "/login"]) {
    assert.equal(safeNext(hostile, origin), "/", String(hostile));
  }
});

test("a pasted link, its fragment or the bare code all give the code", () => {
  for (const text of ["http://127.0.0.1:8421/login#code=abc-1", "#code=abc-1", "code=abc-1", " abc-1 "]) assert.equal(codeFrom(text), "abc-1");
});

test("a command can be pasted into a shell", () => {
  assert.equal(shellWord("--attempt"), "--attempt");
  assert.equal(shellWord("it's here"), "'it'\\''s here'");
});

test("parameters are called by words a person would use", () => {
  const spoken = ["num_epochs", "hidden_dim", "max_grad_norm", "lora_rank", "gate_recall_5", "gate_p95_ms", "eval_every", "lr"].map(spokenName);
  assert.deepEqual(spoken, ["Epochs", "Hidden dimension", "Max gradient norm", "LoRA rank", "Gate recall@5", "Gate p95 (ms)", "Evaluate every", "Learning rate"]);
});

test("a preset says what it sets", () => {
  assert.equal(presetWords({ name: "a", title: "A", params: { num_epochs: 2, label_aliases: "", lora_rank: 8 } }), "Sets epochs 2, label aliases empty, LoRA rank 8; all else keeps its default.");
  assert.equal(presetWords({ name: "a", title: "A", params: {} }), "Every parameter has its default.");
  assert.equal(presetWords(undefined), "");
});

test("a parameter is found by the words of its name or help, in any order", () => {
  assert.ok(hasWords("max_grad_norm Max gradient norm Gradients are scaled down to this norm", "norm GRAD"));
  assert.ok(hasWords("max_grad_norm", "max_grad"));
  assert.ok(!hasWords("max_grad_norm", "grad rate"));
});
