// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { alertMarks, alertSpan, sorted } from "../../static/js/lib/alert_words.js";
import { markNotes, markShapes, markToken } from "../../static/js/lib/chart_marks.js";
import { News, isFirst } from "../../static/js/lib/news.js";

const alert = (/** @type {object} */ more) => /** @type {any} */ ({
  id: 1, run: "r", run_name: "a run", attempt: 1, category: "loss-spike", level: "warning", title: "The loss has jumped", text: "", raised_step: 40,
  raised_at: 1000, resolved_step: null, resolved_at: null, outcome: null, dismissed_at: null, active: true, ...more,
});
const run = (/** @type {object} */ more) => /** @type {any} */ ({ id: "r", name: "a run", state: "running", reason: null, attempt: 1, step: 7, ended_at: null, ...more });

test("active alerts come first, the most urgent in front; the others are newest first", () => {
  const alerts = [alert({ id: 1, level: "info" }), alert({ id: 2, level: "error" }), alert({ id: 3, active: false, raised_at: 5 }), alert({ id: 4, active: false, raised_at: 9 })];
  const { active, over } = sorted(alerts);
  assert.deepEqual(active.map((one) => one.id), [2, 1]);
  assert.deepEqual(over.map((one) => one.id), [4, 3]);
});

test("an alert says since when, or from when to when", () => {
  assert.equal(alertSpan(alert({}), 1000), "since step 40, now");
  assert.equal(alertSpan(alert({ active: false, resolved_at: 1100, resolved_step: 1234, attempt: 2 }), 1200), "steps 40 to 1,234, attempt 2");
  assert.equal(alertSpan(alert({ active: false, dismissed_at: 1100 }), 1200), "since step 40, dismissed");
});

test("alerts with a step are marked, mere remarks are not", () => {
  const marks = alertMarks([alert({}), alert({ raised_step: null }), alert({ category: null, level: "info" }), alert({ category: null, level: "error", resolved_at: 1 })]);
  assert.deepEqual(marks.map((mark) => [mark.step, mark.level, mark.label]), [
    [40, "warning", "The loss has jumped, step 40"],
    [40, "error", "The loss has jumped, step 40 (over)"],
  ]);
});

const marks = /** @type {any} */ ([
  { kind: "alert", level: "error", step: 100, time: 10, label: "<b>NaN</b> & more" },
  { kind: "attempt", step: 50, time: 20, label: "attempt 2, from step 50" },
  { kind: "checkpoint", step: 60, time: 30, label: "checkpoint 60" },
]);

test("lines are as tall as what they mark is important", () => {
  const shapes = markShapes(marks, { x: (mark) => mark.step, log: false, range: [0, 200] }, (name) => name);
  assert.deepEqual(shapes.map((shape) => [shape.x0, shape.y1, shape.line.color]), [[100, 1, "--red"], [50, 1, "--violet"], [60, 0.045, "--chart-muted"]]);
  assert.equal(markToken({ kind: "alert", level: "info", step: 0, time: 0, label: "" }), "--blue");
});

test("signs have words to point at, as text, and only those in view are drawn", () => {
  const notes = markNotes(marks, { x: (mark) => mark.step, log: false, range: [0, 99], width: 400 }, (name) => name);
  assert.deepEqual(notes.map((note) => [note.x, note.hovertext]), [[50, "attempt 2, from step 50"]]);
  const all = markNotes(marks, { x: (mark) => mark.step, log: true, range: [0, 3], width: 400 }, (name) => name)[1];
  assert.equal(all.x, 2); // powers of ten
  assert.equal(all.hovertext, "&lt;b&gt;NaN&lt;/b&gt; &amp; more");
  assert.equal(markNotes(marks, { x: (mark) => mark.time, log: false, range: [15, 25], width: 400 }, (name) => name).length, 1);
});

test("lines that are nearly at one place share a sign that tells all of them, the worst first", () => {
  const at = (/** @type {number} */ step, /** @type {string} */ kind, /** @type {string} */ label, /** @type {string} */ level = "") => ({ step, time: step, kind, label, level });
  const near = /** @type {any} */ ([at(300, "attempt", "attempt 2, from step 300"), at(301, "alert", "a < b", "error"), at(302, "alert", "slow", "warning"), at(400, "alert", "later", "info")]);
  const view = { x: (/** @type {any} */ mark) => mark.step, log: false, range: [0, 1000], width: 500 };
  const notes = markNotes(near, view, (name) => name);
  assert.deepEqual(notes.map((note) => [note.x, note.text, note.hovertext]), [
    [301, "▲▸", "▲ a &lt; b<br>▲ slow<br>▸ attempt 2, from step 300"],
    [400, "▲", "later"],
  ]);
  assert.equal(notes[0].font.color, "--red");
  assert.equal(markNotes(near, { ...view, width: 50_000 }, (name) => name).length, 4); // zoomed in they come apart
  const many = Array.from({ length: 20 }, (_, index) => at(5, "alert", `alert ${index}`));
  assert.match(markNotes(/** @type {any} */ (many), view, (name) => name)[0].hovertext, /alert 7<br>and 12 more$/);
});

test("a change of state is news once; what was so before is none", () => {
  const news = new News();
  assert.equal(news.takeRun(run({ state: "failed", ended_at: 10 }), 1000), null); // long ago
  assert.equal(news.takeRun(run({ id: "x", state: "running" }), 1000), null);
  const notice = news.takeRun(run({ id: "x", state: "failed", reason: "exit code 1", ended_at: 1000 }), 1000);
  assert.deepEqual([notice?.title, notice?.body, notice?.url], ["a run has crashed", "Exit code 1.", "/runs/x"]);
  assert.equal(news.takeRun(run({ id: "x", state: "failed", ended_at: 1000 }), 1001), null);
  assert.equal(news.takeRun(run({ id: "x", state: "queued" }), 1002), null);
  assert.equal(news.takeRun(run({ id: "x", state: "stopped", ended_at: 1003 }), 1003), null);
  assert.ok(news.takeRun(run({ id: "x", state: "stalled" }), 1004)?.title.includes("does not advance"));
  assert.ok(news.takeRun(run({ id: "x", state: "finished", ended_at: 1005 }), 1005)?.title.includes("has finished"));
});

test("a run that ended while the page was changing is still told", () => {
  assert.ok(new News().takeRun(run({ state: "finished", ended_at: 995 }), 1000));
});

test("only fresh alerts of level error are told, and a crash or a stall as the state it is", () => {
  const news = new News();
  news.takeRun(run({}), 1000);
  const event = { type: "alert", run: "r", stream: "supervisor", seq: 4, t: 990, level: "error", category: "loss-not-finite", what: "raised", title: "The loss is NaN", text: "words" };
  assert.equal(news.takeAlert(event, 1000)?.title, "a run: The loss is NaN");
  for (const change of [{ level: "warning" }, { what: "resolved" }, { category: "crash" }, { category: "stall" }, { t: 100 }]) {
    assert.equal(news.takeAlert({ ...event, ...change }, 1000), null);
  }
});

test("what was told is remembered for all tabs, the newest hundred of it", () => {
  /** @type {Record<string, string>} */
  const kept = { told: "no JSON" };
  const storage = { getItem: (/** @type {string} */ name) => kept[name] ?? null, setItem: (/** @type {string} */ name, /** @type {string} */ value) => void (kept[name] = value) };
  assert.equal(isFirst(storage, "told", "a"), true);
  assert.equal(isFirst(storage, "told", "a"), false);
  for (let index = 0; index < 150; index++) isFirst(storage, "told", `k${index}`);
  assert.equal(JSON.parse(kept.told).length, 100);
});
