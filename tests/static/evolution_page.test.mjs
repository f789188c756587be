import assert from "node:assert/strict";
import { test } from "node:test";
import { neighbourStep, readAddress, writeAddress } from "../../static/js/lib/evolution_address.js";
import { latestOnly } from "../../static/js/lib/latest_only.js";
import { datasetPage, examplePath } from "../../static/js/lib/run_choice.js";
import { shortText } from "../../static/js/lib/shown_text.js";
import { Answers } from "../../static/js/pages/evolution/answers.js";
import { fateWords } from "../../static/js/pages/evolution/categories.js";
import { askedAlike, chosenStep } from "../../static/js/pages/evolution/chosen_step.js";
import { Listing } from "../../static/js/pages/evolution/listing.js";
import { chanceOf, changeOf, costOf, measuresOf, othersWords, skippedByReason } from "../../static/js/pages/evolution/overview_words.js";
import { Player } from "../../static/js/pages/evolution/player.js";
import { answerWords } from "../../static/js/pages/evolution/row.js";
import { spoken } from "../../static/js/pages/evolution/timeline.js";
import { lossLine, placeOf, strip } from "../../static/js/pages/evolution/trail.js";

test("every evolution view has an address, and odd addresses give the default view", () => {
  const view = { run: "r1", step: "500", filter: "incorrect", category: "forgotten", group: "a/b&c", q: "open file", sort: "-loss", play: 2 };
  assert.deepEqual(readAddress(writeAddress(/** @type {any} */ (view))), view);
  assert.equal(writeAddress(readAddress("")), "");
  const odd = readAddress("?step=<b>&filter=x&category=lost&play=1e9&page=-3");
  assert.deepEqual(odd, { run: null, step: "latest", filter: "all", category: "", group: "", q: "", sort: "", play: 0 });
});

test("any name of a dataset and any id of an example survive in an address", () => {
  assert.equal(datasetPage("a b<i>?#"), "/evolution/a%20b%3Ci%3E%3F%23");
  assert.equal(examplePath("d", "x/y?z", { run: "r", step: 0 }), "/evolution/d/examples/x%2Fy%3Fz?run=r&step=0");
  assert.equal(examplePath("d", "x", { run: null, step: null }), "/evolution/d/examples/x");
});

test("the arrow keys stop at the ends of the timeline", () => {
  assert.equal(neighbourStep([0, 10, 25], 10, 1), 25);
  assert.equal(neighbourStep([0, 10, 25], 25, 1), 25);
  assert.equal(neighbourStep([0, 10, 25], 0, -3), 0);
  assert.equal(neighbourStep([0, 10, 25], 7, 1), 25);
});

test("only those that asked what the newest one asked are compared, and the others are counted", () => {
  const taken = [["p", 0], ["p", 10], ["q", 25], ["q", 50]].map(([probe_set, step]) => ({ probe_set, step }));
  assert.deepEqual(askedAlike(taken).map((one) => one.step), [25, 50]);
  assert.deepEqual(askedAlike([]), []);
  assert.equal(othersWords(2).text, "2 more asked other probes");
});

test("a step of an address means its own snapshot, the nearest one, or the one it names", () => {
  const taken = [[0, 0.1, 3], [10, 0.6, 2], [25, 0.6, 1], [50, 0.2, 9]].map(([step, accuracy, loss]) => ({ step, summary: { accuracy, avg_loss: loss } }));
  assert.deepEqual(["latest", "first", "best", "25", "30", "999999"].map((step) => chosenStep(taken, step)), [50, 0, 25, 25, 25, 50]);
  assert.equal(chosenStep([], "latest"), null);
  assert.equal(chosenStep([{ step: 3, summary: { accuracy: null, avg_loss: null } }], "best"), 3);
});

test("hostile texts fit in a row: short, on one line, control characters as pictures, no half characters", () => {
  assert.equal(shortText("a\n\n  b\tc "), "a b c");
  assert.equal(shortText("\u001b[31mred\u0000\u007f"), "␛[31mred␀␡");
  assert.equal(shortText("x".repeat(1e6), 5), "xxxxx…");
  assert.equal(shortText("😀😀😀", 2), "😀😀…");
  assert.equal(shortText(null), "");
  assert.equal(shortText("<b>&amp;</b>"), "<b>&amp;</b>");
});

test("a change says by how much, in which direction, and whether that is good", () => {
  assert.deepEqual(changeOf("accuracy", 0.41, 0.1), { text: "+31.0 points, better", tone: "good" });
  assert.deepEqual(changeOf("avg_loss", 1, 2.5), { text: "−1.5, better", tone: "good" });
  assert.deepEqual(changeOf("median_rank", 9, 4), { text: "+5, worse", tone: "bad" });
  assert.deepEqual(changeOf("accuracy", 0.5, 0.50001), { text: "unchanged", tone: "same" });
  assert.equal(changeOf("avg_loss", null, 2), null);
  assert.equal(changeOf("avg_loss", 2, undefined), null);
});

test("measures of a snapshot stand in the order they matter, the known ones first", () => {
  const summary = { "recall@10": 0.5, num_candidates: 200, avg_loss: null, accuracy: 0.25, total_examples: 8, correct: 2, incorrect: 6 };
  const measures = measuresOf(summary, { accuracy: 0 }, null);
  assert.deepEqual(measures.map((one) => [one.word, one.value, one.note]), [["Correct", "25.0 %", "2 of 8"], ["Loss", "–", ""], ["Recall@10", "50.0 %", ""]]);
  assert.equal(measures[0].first?.text, "+25.0 points, better");
  assert.equal(measures[0].previous, null);
});

test("what guessing would give is said where it is known, and nowhere else", () => {
  assert.match(chanceOf({ task: "retrieval", summary: { num_candidates: 200 }, latest: {} }).accuracy ?? "", /0\.50 %.*200/);
  assert.match(chanceOf({ task: "classification", summary: {}, latest: { "eval/chance_accuracy": 0.4 } }).accuracy ?? "", /40\.0 %/);
  assert.match(chanceOf({ task: "language_model", summary: {}, latest: { "train/chance_loss": 5.5 } }).avg_loss ?? "", /5\.5/);
  for (const task of ["retrieval", "classification", "language_model", "other"]) assert.deepEqual(chanceOf({ task, summary: {}, latest: {} }), {});
});

test("the cost of snapshots is a share of the time all attempts have run", () => {
  const attempts = [{ started_at: 100, ended_at: 150 }, { started_at: 1000, ended_at: null }];
  const cost = costOf([{ cost_s: 1 }, { cost_s: null }, { cost_s: 2 }], attempts, 1050);
  assert.equal(cost?.text, "3.0 % of the run's time");
  assert.match(cost?.title ?? "", /3\.0 s for 2 snapshots, of 1 m 40 s/);
  assert.equal(costOf([{ cost_s: null }], attempts, 1050), null);
  assert.equal(costOf([{ cost_s: 3 }], [], 0)?.text, "3.0 s");
});

test("skipped snapshots of one reason stand together, whatever numbers it holds", () => {
  const reason = (/** @type {number} */ spent) => `Snapshots have cost ${spent} s; the budget is 5%.`;
  const grouped = skippedByReason([{ step: 10, reason: reason(0.5) }, { step: 25, reason: reason(0.7) }, { step: 50, reason: null }]);
  assert.deepEqual(grouped, [{ steps: [10, 25], reason: reason(0.5) }, { steps: [50], reason: "No reason was given." }]);
});

test("what became of an example is said in few words", () => {
  const example = { category: "learned", learned_at: 1500, flips: 1, num_forgotten: 0, last_forgotten_at: null };
  assert.equal(fateWords(example), "learned at step 1,500");
  assert.equal(fateWords({ ...example, learned_at: 0 }), "right from the start");
  assert.equal(fateWords({ ...example, category: "forgotten", learned_at: null, last_forgotten_at: 250 }), "forgotten at step 250");
  assert.equal(fateWords({ ...example, category: "flip_flopping", flips: 4 }), "changed 4 times");
  assert.equal(fateWords({ ...example, category: "not_learned", learned_at: null }), "not learned");
});

test("an answer is worded by its kind of task, and says so when there is none", () => {
  assert.deepEqual(answerWords({ top: [{ title: "open", gold: true }], rank: 1 }), { text: "open", note: "right one at rank 1", gold: true });
  assert.deepEqual(answerWords({ top: [], rank: null }), { text: "(nothing found)", note: "right one not found", gold: false });
  assert.deepEqual(answerWords({ probabilities: [], model_output: "spam", confidence: 0.9 }), { text: "spam", note: "90.0 % sure", gold: false });
  assert.deepEqual(answerWords({ model_output: "", similarity: null }), { text: "(nothing)", note: "", gold: false });
  assert.deepEqual(answerWords({ model_output: "yes", similarity: 0.5, exact_match: false }), { text: "yes", note: "50 % alike", gold: false });
});

test("a trail has gaps where the loss is missing, and right and wrong below it", () => {
  assert.equal(lossLine([1, null, 3]).path.match(/M/g)?.length, 2);
  assert.equal(lossLine([null, null]).path, "");
  const { y } = lossLine([3, 1]);
  assert.ok(/** @type {number} */ (y(0)) < /** @type {number} */ (y(1)), "more loss is higher up");
  assert.equal(lossLine([2, 2]).y(0), lossLine([2, 2]).y(1));
  assert.equal(strip("0110", "1"), "M30.0 26h60.0v4h-60.0z");
  assert.equal(strip("0000", "1"), "");
  assert.equal(placeOf(0, 1), placeOf(1, 3));
});

test("a screen reader hears the step and how much is right", () => {
  assert.equal(spoken({ step: 500, summary: { accuracy: 0.412 } }), "step 500, 41 % correct");
});

/** A page as the server gives it. @param {number} offset @param {number} total @param {string} name */
function page(offset, total, name) {
  const examples = Array.from({ length: Math.max(0, Math.min(100, total - offset)) }, (_, index) => ({ example_id: `${name}${offset + index}` }));
  return /** @type {any} */ ({ examples, total, steps: [], counts: {}, groups: [] });
}

test("rows come page by page, and those of an older question never replace newer ones", async () => {
  let called = 0;
  const listing = new Listing(() => (called += 1), (error) => { throw error; });
  await listing.ask(async (offset) => page(offset, 250, "a"), { first: 0, last: 19 });
  assert.deepEqual([listing.total, listing.at(0)?.example_id, listing.at(100)], [250, "a0", null]);
  listing.want(90, 260);
  await new Promise((settled) => setImmediate(settled));
  assert.deepEqual([listing.at(249)?.example_id, listing.at(250)], ["a249", null]);

  let release = () => {};
  const slow = listing.ask(() => new Promise((resolve) => (release = () => resolve(page(0, 9, "old")))), { first: 0, last: 0 });
  const fast = listing.ask(async (offset) => page(offset, 5, "new"), { first: 0, last: 0 });
  assert.equal(await fast, true);
  release();
  assert.equal(await slow, false);
  assert.equal(listing.at(0)?.example_id, "new0");
  assert.ok(called >= 3);
});

test("when fewer rows match than were scrolled past, their end is shown", async () => {
  const listing = new Listing(() => {}, () => {});
  assert.equal(await listing.ask(async (offset) => page(offset, 120, "x"), { first: 5000, last: 5019 }), true);
  assert.deepEqual([listing.total, listing.at(119)?.example_id], [120, "x119"]);
});

test("answers are asked for once, kept for the way back, and forgotten with their run", async () => {
  /** @type {[number, number[]][]} */
  const asked = [];
  const answers = new Answers(async (step, indices) => {
    asked.push([step, indices]);
    return indices.map((index) => ({ index, step }));
  }, () => {});
  await answers.want(10, [1, 2]);
  await answers.want(10, [2, 3]);
  await answers.want(25, [1]);
  await answers.want(10, [1, 2, 3]);
  assert.deepEqual(asked, [[10, [1, 2]], [10, [3]], [25, [1]]]);
  assert.deepEqual(answers.at(10, 3), { index: 3, step: 10 });
  answers.forget();
  assert.equal(answers.at(10, 3), null);
});

test("of many calls only the first and the newest are made", async () => {
  /** @type {number[]} */
  const made = [];
  const work = latestOnly(async (/** @type {number} */ number) => {
    made.push(number);
    await new Promise((settled) => setImmediate(settled));
  });
  void work(1);
  void work(2);
  await work(3);
  assert.deepEqual(made, [1, 3]);
  await work(4);
  assert.deepEqual(made, [1, 3, 4]);
});

test("the player stops at the end, and a pause stays a pause", async () => {
  globalThis.window = /** @type {any} */ (globalThis);
  let left = 3;
  const states = [];
  const player = new Player(async () => (left -= 1) > 0);
  const done = new Promise((resolve) => {
    player.onChange = (speed) => {
      states.push(speed);
      if (speed === 0) resolve(null);
    };
  });
  player.play(1000);
  await done;
  assert.deepEqual([left, states, player.speed], [0, [1000, 0], 0]);
  player.pause();
  assert.deepEqual(states, [1000, 0]);
});
