import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAnsi, stripAnsi } from "../../static/js/lib/ansi.js";
import { LogText } from "../../static/js/pages/run/log_text.js";

test("colours become classes of an allow-list", () => {
  assert.deepEqual(parseAnsi("\u001b[1;31mbad\u001b[0m ok"), [
    { text: "bad", classes: ["ansi-red", "ansi-bold"] },
    { text: " ok", classes: [] },
  ]);
  assert.deepEqual(parseAnsi("\u001b[92mgo")[0].classes, ["ansi-green"]);
});

test("palette and true colours are skipped with their operands", () => {
  assert.deepEqual(parseAnsi("\u001b[38;5;31mx\u001b[38;2;1;31;4my"), [
    { text: "x", classes: [] },
    { text: "y", classes: [] },
  ]);
});

test("everything else a terminal would obey is dropped", () => {
  const hostile = "a\u001b]0;title\u0007b\u001b[2Jc\u001b]8;;http://x\u001b\\d\u0000e\u009bf";
  assert.equal(parseAnsi(hostile).map((piece) => piece.text).join(""), "abcdef");
  assert.equal(stripAnsi("\u001b[31mred\u001b[0m"), "red");
});

test("markup stays text", () => {
  assert.equal(parseAnsi("<img src=x onerror=alert(1)>")[0].text, "<img src=x onerror=alert(1)>");
});

test("of a line that overwrites itself the last state is shown", () => {
  assert.equal(parseAnsi("10%\r50%\r99%")[0].text, "99%");
  assert.equal(parseAnsi("done\r")[0].text, "done");
});

test("pieces are cut into lines, and an unfinished line is replaced later", () => {
  const text = new LogText();
  assert.deepEqual(text.append(0, "one\ntw"), [{ text: "one", whole: true }, { text: "tw", whole: false }]);
  assert.deepEqual(text.append(6, "o\n"), [{ text: "two", whole: true }]);
});

test("repeats are dropped by their bytes, also inside a character's neighbourhood", () => {
  const text = new LogText();
  text.append(0, "é1\n"); // é is two bytes
  assert.equal(text.end, 4);
  assert.deepEqual(text.append(0, "é1\n"), []);
  assert.deepEqual(text.append(2, "1\nnew\n"), [{ text: "new", whole: true }]);
});

test("a hole is told, and fills from the outside", () => {
  const text = new LogText();
  text.start(100);
  assert.equal(text.append(120, "x"), null);
  assert.deepEqual(text.append(100, "y\n"), [{ text: "y", whole: true }]);
  assert.deepEqual(text.prepend(96, "a\nb\n"), ["a", "b"]);
  assert.equal(text.begin, 96);
});
