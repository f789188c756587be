// @ts-check
import { fill, h } from "../../lib/dom.js";
import { formatClock, formatCount, formatDuration, formatNumber } from "../../lib/format.js";
import { chanceOf, costOf, measuresOf, othersWords, skippedByReason } from "./overview_words.js";

/**
 * The chosen snapshot in numbers, each beside what it was in the first one and in the one before.
 * @param {HTMLElement} root @param {any[]} snapshots @param {number} step @param {Record<string, number | null>} latest of the run
 */
export function drawMeasures(root, snapshots, step, latest) {
  const index = snapshots.findIndex((one) => one.step === step);
  if (index === -1) return;
  const snapshot = snapshots[index];
  const first = index > 0 ? snapshots[0] : null;
  const previous = index > 1 ? snapshots[index - 1] : null; // of the second one, the first is the one before
  const chance = /** @type {Record<string, string | undefined>} */ (chanceOf({ task: snapshot.task, summary: snapshot.summary, latest }));
  fill(
    root,
    measuresOf(snapshot.summary, first?.summary, previous?.summary).map((measure) =>
      h(
        "div",
        { class: "measure", dataset: { testid: `measure-${measure.name}` } },
        h("dt", { text: measure.word }),
        h("dd", {}, h("strong", { text: measure.value }), measure.note ? h("span", { class: "muted small", text: measure.note }) : null),
        changeLine(measure.first, "since the first"),
        changeLine(measure.previous, `since step ${formatCount(previous?.step)}`),
        chance[measure.name] ? h("dd", { class: "measure-chance", text: chance[measure.name] }) : null,
      ),
    ),
  );
}

/** Its place is kept where there is no change to tell: nothing below may jump. @param {import("./overview_words.js").Change | null} change @param {string} since */
function changeLine(change, since) {
  if (!change) return h("dd", { class: "measure-change", "aria-hidden": "true" });
  return h("dd", { class: "measure-change" }, h("span", { class: "change", dataset: { tone: change.tone }, text: change.text }), h("span", { class: "since", text: ` ${since}` }));
}

/**
 * When the snapshot was taken, and what all of them have cost.
 * @param {HTMLElement} root
 * @param {{snapshots: any[], taken: any[], step: number, skipped: any[], attempts: any[], now: number}} facts `taken` are also those of other probes
 */
export function drawCapture(root, { snapshots, taken: all, step, skipped, attempts, now }) {
  const snapshot = snapshots.find((one) => one.step === step);
  if (!snapshot) return;
  const cost = costOf(all, attempts, now);
  const taken = [`Taken ${formatClock(Date.parse(snapshot.timestamp) / 1000, now)}`];
  if (snapshot.epoch !== null && snapshot.epoch !== undefined) taken.push(`epoch ${formatNumber(snapshot.epoch, 3)}`);
  if (snapshot.cost_s !== null && snapshot.cost_s !== undefined) taken.push(`took ${formatDuration(snapshot.cost_s)}`);
  const isOpen = root.querySelector("details")?.open ?? false;
  fill(
    root,
    h("span", { text: taken.join(" · ") }),
    cost ? h("span", { title: cost.title, dataset: { testid: "capture-cost" }, text: `${formatCount(all.length)} snapshots cost ${cost.text}` }) : null,
    all.length > snapshots.length ? h("span", { dataset: { testid: "capture-others" }, ...othersWords(all.length - snapshots.length) }) : null,
    skipped.length > 0 ? skippedList(skipped, isOpen) : null,
  );
}

/** @param {any[]} skipped @param {boolean} isOpen */
function skippedList(skipped, isOpen) {
  return h(
    "details",
    { class: "skipped", dataset: { testid: "skipped" }, open: isOpen },
    h("summary", { text: `${formatCount(skipped.length)} skipped` }),
    h(
      "ul",
      {},
      skippedByReason(skipped).map(({ steps, reason }) =>
        h("li", {}, h("strong", { class: "num", text: `Step ${steps.map((one) => formatCount(one)).join(", ")}: ` }), reason)),
    ),
  );
}
