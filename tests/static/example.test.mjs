import assert from "node:assert/strict";
import { test } from "node:test";
import { exampleAddress, indexOfStep, listAddress, readView, writeView } from "../../static/js/lib/example_address.js";
import { differentBefore, foldAnswers, saidWhen, spanWords, timesWords } from "../../static/js/pages/example/answers.js";
import { listAsked, readAddress } from "../../static/js/lib/evolution_address.js";
import { bumpLines, exchange } from "../../static/js/pages/example/bump_lines.js";
import { condensed, kept } from "../../static/js/lib/diff_view.js";
import { beginning, visible } from "../../static/js/lib/long_text.js";
import { probabilityOf, readTrajectory, taskOf } from "../../static/js/pages/example/reading.js";
import { ribbonBands } from "../../static/js/pages/example/ribbon_bands.js";
import { indexAt, labelled, linearScale, rankScale, shortStep } from "../../static/js/pages/example/scales.js";
import { changeLevel, mostChanged, tokenChanges } from "../../static/js/pages/example/token_changes.js";
import { categoryWord, whatBecame } from "../../static/js/pages/example/words.js";

/** A trajectory as the API sends it. @param {any[]} entries */
const read = (entries) => readTrajectory(entries.map((one, index) => ({ step: index * 10, exact_match: false, loss: 1, model_output: "", ...one })));
const top = (/** @type {string} */ ids) => ({ top: [...ids].map((id) => ({ document_id: id, title: `title ${id}`, score: 0.5, gold: id === "g" })) });

test("whatever an output holds, a point is whole", () => {
  const [point] = read([{ loss: "NaN", top: [null, { document_id: 3, score: "Infinity" }, { document_id: "3" }], probabilities: {}, tokens: ["a", ["b", "x"], null] }]);
  assert.deepEqual(point.top?.map(({ id, score }) => [id, score]), [["", null], ["3", null]]);
  assert.deepEqual([point.loss, point.labels], [null, null]);
  assert.deepEqual(point.tokens, [{ piece: "a", value: null }, { piece: "b", value: null }, { piece: "", value: null }]);
});

test("the task is told by the answers, and the probability by the task", () => {
  assert.equal(taskOf(read([top("ab")])), "retrieval");
  assert.equal(taskOf(read([{ probabilities: [{ label: "a", probability: 1 }] }])), "classification");
  assert.equal(taskOf(read([{ tokens: [["a", -1]] }, {}])), "language");
  assert.equal(taskOf(read([{}])), "text");
  const [sure, empty] = read([{ probabilities: [{ label: "a", probability: 0.25, gold: true }], loss: 9 }, { loss: Math.log(2), similarity: 0.1 }]);
  assert.equal(probabilityOf(sure, "classification"), 0.25);
  assert.equal(probabilityOf(empty, "classification"), 0.1);
  assert.ok(Math.abs((probabilityOf(empty, "language") ?? 0) - 0.5) < 1e-12);
});

test("equal answers that follow each other are one, until right turns wrong or the text differs", () => {
  const points = read([{ model_output: "a" }, { model_output: "a" }, { model_output: "b" }, { model_output: "b", exact_match: true }, { model_output: "a" }]);
  const answers = foldAnswers(points);
  assert.deepEqual(answers.map(({ firstStep, lastStep, text, right }) => [firstStep, lastStep, text, right]), [[0, 10, "a", false], [20, 20, "b", false], [30, 30, "b", true], [40, 40, "a", false]]);
  assert.equal(spanWords(answers[0]), "Steps 0–10");
  assert.equal(timesWords(answers[0]), "the same answer 2 times");
  assert.equal(timesWords(answers[1]), "");
  assert.equal(differentBefore(answers, 0), null);
  assert.equal(differentBefore(answers, 2)?.text, "a"); // the one before was the same text
});

test("of a retriever the first document is the answer, whatever its text", () => {
  const answers = foldAnswers(read([{ ...top("ab"), model_output: "t" }, { ...top("ba"), model_output: "t" }]));
  assert.deepEqual(answers.map(({ text }) => text), ["title a", "title b"]);
});

test("what a classifier said is told with its stretches", () => {
  const said = saidWhen(read(["x", "x", "y", "x"].map((model_output) => ({ model_output }))));
  assert.deepEqual(said.map(({ label, times }) => [label, times]), [["x", 3], ["y", 1]]);
  assert.deepEqual(said[0].spans, [{ firstStep: 0, lastStep: 10 }, { firstStep: 30, lastStep: 30 }]);
});

test("lines of a bump chart are broken where a document was not among the first", () => {
  const { lines, depth, hasBelow } = bumpLines(read([{ ...top("ab"), rank: 7 }, { ...top("bg"), rank: 2 }, { ...top("ga"), rank: 1 }]));
  assert.deepEqual([depth, hasBelow], [2, true]);
  assert.deepEqual(lines.map(({ id }) => id), ["a", "b", "g"]); // the right one is drawn last
  assert.deepEqual(lines[0].stretches, [[{ index: 0, place: 1 }], [{ index: 2, place: 2 }]]);
  assert.deepEqual(lines[2].stretches, [[{ index: 0, place: 3 }, { index: 1, place: 2 }, { index: 2, place: 1 }]]); // 3 is "later"
  assert.equal(lines[2].title, "title g");
});

test("a right document that was never found has a line of its own below", () => {
  const { lines, hasBelow } = bumpLines(read([{ ...top("ab"), rank: 30 }, { ...top("ab"), rank: 20 }]));
  assert.ok(hasBelow);
  assert.deepEqual([lines[2].gold, lines[2].title, lines[2].stretches[0].length], [true, "the right document", 2]);
});

test("what entered, left and climbed is told against the snapshot before", () => {
  const points = read([top("abc"), top("cad")]);
  const { entered, left, climbed } = exchange(points, 1);
  assert.deepEqual([...entered], ["d"]);
  assert.deepEqual(left.map(({ id }) => id), ["b"]);
  assert.deepEqual([...climbed], [["c", 2], ["a", -1]]);
  assert.equal(exchange(points, 0).entered.size, 0);
});

test("bands of a ribbon begin with the right label and add up to one", () => {
  const shares = (/** @type {[string, number][]} */ ...pairs) => ({ probabilities: pairs.map(([label, probability]) => ({ label, probability, gold: label === "g" })) });
  const bands = ribbonBands(read([shares(["a", 0.5], ["b", 0.3], ["g", 0.1]), shares(["g", 0.6], ["b", 0.2], ["c", 0.1])]), 3);
  assert.deepEqual(bands.map(({ label, kind }) => [label, kind]), [["g", "right"], ["a", "label"], ["b", "label"], ["all others", "others"]]);
  assert.deepEqual(bands[0].values, [0.1, 0.6]);
  assert.deepEqual(bands.at(-1)?.tops.map((top) => Number(top.toFixed(9))), [1, 1]);
});

test("tokens are compared only where the reference was cut the same way", () => {
  const tokens = (/** @type {(number | null)[]} */ ...values) => values.map((value, place) => ({ piece: `t${place}`, value }));
  assert.equal(tokenChanges(tokens(-1), null), null);
  assert.equal(tokenChanges(tokens(-1), tokens(-1, -2)), null);
  const changes = tokenChanges(tokens(-1, -4, null, -30), tokens(-3, -1, -1, -20)) ?? [];
  assert.deepEqual(changes.map((one) => one && one.change), [2, -3, null, 0]); // both of the last are impossible
  const { gained, lost } = mostChanged(changes, 5);
  assert.deepEqual([gained.map(({ piece }) => piece), lost.map(({ piece }) => piece)], [["t0"], ["t1"]]);
  assert.deepEqual([2, 0.7, 0.1, 0.01, 0, -0.1, -5].map(changeLevel), [3, 2, 1, 0, 0, -1, -3]);
});

test("what became of an example is a sentence", () => {
  const points = read([{ loss: 2 }, { exact_match: true, loss: 1 }, { loss: 1.5 }]);
  const base = { learned_at: null, flips: 2, num_forgotten: 1 };
  assert.equal(whatBecame({ ...base, category: "forgotten" }, points), "Right at step 10 only, wrong ever since.");
  const longer = read([{ exact_match: true }, { exact_match: true }, {}]);
  assert.equal(whatBecame({ ...base, category: "forgotten" }, longer), "Right until step 10, forgotten at step 20 and wrong ever since.");
  const right = read([{}, { exact_match: true }]);
  assert.equal(whatBecame({ category: "learned", learned_at: 10, flips: 1, num_forgotten: 0 }, right), "Learned at step 10 and right ever since.");
  assert.equal(whatBecame({ category: "learned", learned_at: 10, flips: 1, num_forgotten: 2 }, right), "Learned at step 10 and right ever since, after having been forgotten twice.");
  assert.equal(whatBecame({ category: "learned", learned_at: 0, flips: 0 }, read([{ exact_match: true }, { exact_match: true }])), "Right from the first snapshot on.");
  assert.equal(whatBecame({ category: "flip_flopping", learned_at: 1500, flips: 3 }, right), "Changed between right and wrong 3 times; right since step 1,500.");
  assert.equal(whatBecame({ ...base, category: "struggling" }, read([{ loss: 2 }, { loss: 1 }])), "Never right so far, but its loss has fallen by 50 %.");
  assert.equal(whatBecame({ ...base, category: "not_learned" }, read([{ loss: 1 }, { loss: 1.5 }])), "Never right so far; its loss has risen by 50 %.");
  assert.equal(whatBecame({ ...base, category: "not_learned" }, read([{ loss: null }, { loss: 1.5 }])), "Never right so far.");
  assert.equal(categoryWord("something_new"), "something new");
});

test("long texts begin without cutting a character in two, and nothing invisible stays invisible", () => {
  assert.equal(beginning("short"), "short");
  assert.equal(beginning("x".repeat(1_000_000)).length, 600);
  assert.equal(beginning(`${"x".repeat(599)}😀${"x".repeat(9000)}`).length, 599);
  assert.equal(beginning("line\n".repeat(400)).split("\n").length, 14);
  assert.equal(visible("\u202egnp.exe"), "[U+202E]gnp.exe");
  assert.equal(visible("a\u0000\u001b[31m\tb\n\u007f"), "a␀␛[31m\tb\n␡");
});

test("a change far from all that stayed is shown without it", () => {
  const pieces = condensed([{ kind: "same", text: "a".repeat(1000) }, { kind: "added", text: "b" }, { kind: "same", text: "c".repeat(1000) }]);
  assert.deepEqual(pieces.map(({ text }) => text.length), [163, 1, 163]);
  assert.equal(kept([{ kind: "same", text: "aaa" }, { kind: "removed", text: "b" }]), 0.75);
});

test("an address says which snapshot of which run", () => {
  assert.deepEqual(readView("?run=r1&step=50"), { run: "r1", step: 50, list: null });
  assert.deepEqual(readView("?step=-1&run="), { run: null, step: null, list: null });
  assert.equal(writeView({ run: "r 1", step: 0, list: null }), "?run=r+1&step=0");
  assert.deepEqual([null, 0, 15, 20, 99, 5].map((step) => indexOfStep([10, 20, 30], step)), [2, 0, 0, 1, 2, 0]);
});

test("an address carries the list one came from, and leads back to it at the step on screen", () => {
  const list = { category: "forgotten", group: "a/b&c", q: "open file", sort: "-loss", filter: "incorrect", step: 100 };
  const view = { run: "r1", step: 250, list };
  const address = exampleAddress("a b", "x/y", view);
  assert.match(address, /^\/evolution\/a%20b\/examples\/x%2Fy\?run=r1&step=250&.*at=100$/);
  assert.deepEqual(readView(address.slice(address.indexOf("?"))), view);
  assert.equal(listAddress("a b", view), "/evolution/a%20b?run=r1&step=250&filter=incorrect&category=forgotten&group=a%2Fb%26c&q=open+file&sort=-loss");
  assert.equal(listAddress("d", { run: null, step: null, list: null }), "/evolution/d");
});

test("a list is of a step where its examples or their order depend on one", () => {
  const view = readAddress("?run=r");
  assert.equal(listAsked(view, 50).step, null);
  for (const part of [{ q: "x" }, { filter: /** @type {const} */ ("correct") }, { sort: "-rank" }]) assert.equal(listAsked({ ...view, ...part }, 50).step, 50);
  assert.deepEqual(listAsked({ ...view, sort: "learned_at" }, 50), { category: "", group: "", q: "", sort: "learned_at", filter: null, step: null });
});

test("axes have round ticks and never more labels than fit", () => {
  assert.deepEqual(linearScale([0.3, 4.7], String).ticks.map(({ value }) => value), [0, 2, 4, 6]);
  assert.deepEqual(linearScale([null], String).ticks.length > 1, true);
  assert.equal(linearScale([2, 2], String).at(0), 0);
  const ranks = rankScale([1, 100]);
  assert.deepEqual([ranks.at(1), ranks.at(10), ranks.at(100)].map((share) => Number(share.toFixed(6))), [1, 0.5, 0]);
  assert.deepEqual(labelled(1, 5), [0]);
  for (const count of [2, 7, 30, 500]) {
    const places = labelled(count, 8);
    assert.ok(places.length <= 9 && places[0] === 0 && places.at(-1) === count - 1);
  }
  assert.deepEqual([0, 0.49, 1].map((share) => indexAt(share, 5)), [0, 2, 4]);
  assert.deepEqual([999, 1500, 20000, 2_500_000].map(shortStep), ["999", "1.5k", "20k", "2.5M"]);
});
