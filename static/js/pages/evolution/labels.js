// @ts-check
import { h, icon } from "../../lib/dom.js";
import { formatPercent } from "../../lib/format.js";

const SHOWN = 5;

/**
 * The most probable labels, and the right one at its own place however far down it is.  Pure.
 * @param {any} example @returns {{label: string, probability: number, gold: boolean, place: number}[]}
 */
export function shownLabels({ probabilities, rank }) {
  return probabilities
    .map((/** @type {any} */ one, /** @type {number} */ index) => ({ ...one, place: one.gold && index >= SHOWN && rank ? rank : index + 1 }))
    .filter((/** @type {any} */ one, /** @type {number} */ index) => index < SHOWN || one.gold);
}

/** How probable the labels were, most probable first, the right one marked. @param {any} example */
export function labelled(example) {
  return h(
    "div",
    { class: "passage retrieved" },
    h("h3", { text: "Probabilities" }),
    h(
      "ol",
      { class: "hits" },
      shownLabels(example).map((one) => {
        const bar = h("span", { class: "hit-bar" });
        bar.style.setProperty("--score", `${(one.probability * 100).toFixed(1)}%`);
        return h(
          "li",
          { class: "hit", dataset: { gold: String(one.gold), testid: one.gold ? "gold-label" : "label" } },
          bar,
          h("span", { class: "hit-rank num muted", text: one.place }),
          h("span", { class: "hit-title", text: one.label }),
          one.gold ? h("span", { class: "gold" }, icon("star"), "right") : null,
          h("span", { class: "hit-score num muted", text: formatPercent(one.probability) }),
        );
      }),
    ),
  );
}
