// @ts-check
/** Who the example is and what became of it. */
import { fill, find, h, setText } from "../../lib/dom.js";
import { exampleAddress, listAddress } from "../../lib/example_address.js";
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";
import { longText } from "../../lib/long_text.js";
import { categoryWord, whatBecame } from "./words.js";

/** @typedef {import("./reading.js").Point} Point */

/** The texts never change: they are drawn once, so that an unfolded one stays so. @param {any} example */
export function drawTexts({ input, expected_output: expected }) {
  fill(find("#input"), longText(String(input), "example-input"));
  fill(find("#expected"), longText(String(expected), "example-expected"));
}

/** @param {any} example @param {Point[]} points */
export function drawVerdict(example, points) {
  setText(find("#verdict"), whatBecame(example, points));
  const badge = find("#category", HTMLElement);
  badge.dataset.category = example.category;
  setText(badge, categoryWord(example.category));
  const group = find("#group", HTMLElement);
  group.hidden = !example.group;
  setText(group, example.group ? String(example.group) : "");
  fill(find("#example-facts"), factsOf(example, points).map(([word, value, help]) => h("div", { title: help }, h("dt", { text: word }), h("dd", { text: value }))));
}

/** @param {any} example @param {Point[]} points @returns {[string, string, string][]} */
function factsOf({ flips, num_forgotten: forgotten, confidence, variability }, points) {
  const [first, last] = [points[0].loss, points[points.length - 1].loss];
  /** @type {[string, string, string][]} */
  const facts = [["Right", `${formatCount(points.filter((one) => one.right).length)} of ${formatCount(points.length)} snapshots`, "How many snapshots answered it right"]];
  if (first !== null || last !== null) facts.push(["Loss", points.length === 1 ? formatNumber(last, 3) : `${formatNumber(first, 3)} → ${formatNumber(last, 3)}`, "At the first and at the newest snapshot"]);
  facts.push(["Changes", formatCount(flips), "How often it went from right to wrong or back"]);
  if (typeof forgotten === "number") facts.push(["Forgotten", formatCount(forgotten), "How often right turned wrong"]);
  if (typeof confidence === "number") facts.push(["Confidence", formatPercent(confidence), "Mean probability of the right answer over the snapshots"]);
  if (typeof variability === "number") facts.push(["Variability", formatNumber(variability, 2), "Standard deviation of that probability"]);
  return facts;
}

/** Back to the list and on to the neighbours in it, at the same step. @param {string} dataset @param {any} example @param {import("../../lib/example_address.js").ExampleView} view */
export function drawLinks(dataset, { previous, next, place, total }, view) {
  find("#back", HTMLAnchorElement).href = listAddress(dataset, view);
  setText(find("#example-place"), `${formatCount(place + 1)} of ${formatCount(total)}`);
  for (const [selector, id] of /** @type {[string, string | null][]} */ ([["#previous-example", previous], ["#next-example", next]])) {
    const link = find(selector, HTMLAnchorElement);
    if (id === null || id === undefined) {
      link.removeAttribute("href");
      link.setAttribute("aria-disabled", "true");
    } else {
      link.href = exampleAddress(dataset, id, view);
      link.removeAttribute("aria-disabled");
    }
  }
}
