// @ts-check
/** What becomes of an example over training: the words of each category, and the chips that choose one. */
import { h } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";

/** @typedef {{key: string, word: string, help: string}} Category */

/** @type {Category[]} */
export const CATEGORY_WORDS = [
  { key: "learned", word: "Learned", help: "Right in the newest snapshot." },
  { key: "struggling", word: "Struggling", help: "Never right so far, but its loss has fallen by a tenth or more." },
  { key: "not_learned", word: "Not learned", help: "Never right, and its loss has hardly fallen." },
  { key: "forgotten", word: "Forgotten", help: "Wrong now, although it was right before." },
  { key: "flip_flopping", word: "Flip-flopping", help: "Changed between right and wrong three times or more." },
];

/** @param {string} key */
export function categoryWord(key) {
  return CATEGORY_WORDS.find((one) => one.key === key)?.word ?? key.replaceAll("_", " ");
}

/**
 * What became of one example, in a few words.  Pure.
 * @param {{category: string, learned_at: number | null, flips: number, num_forgotten: number, last_forgotten_at?: number | null}} example
 */
export function fateWords({ category, learned_at: learnedAt, flips, last_forgotten_at: forgottenAt }) {
  if (category === "learned" && learnedAt !== null) return learnedAt === 0 ? "right from the start" : `learned at step ${formatCount(learnedAt)}`;
  if (category === "forgotten") return forgottenAt === null || forgottenAt === undefined ? "forgotten" : `forgotten at step ${formatCount(forgottenAt)}`;
  if (category === "flip_flopping") return `changed ${formatCount(flips)} times`;
  return categoryWord(category).toLowerCase();
}

/** The chips above the list; one of them, or none, is pressed. */
export class CategoryChips {
  /** @type {Map<string, {button: HTMLButtonElement, count: HTMLElement}>} */
  #chips = new Map();

  /** @param {HTMLElement} root @param {HTMLElement} explanation @param {(category: string) => void} choose empty for all */
  constructor(root, explanation, choose) {
    this.explanation = explanation;
    this.pressed = "";
    for (const { key, word, help } of CATEGORY_WORDS) {
      const count = h("strong", { class: "num", text: "–" });
      const button = h(
        "button",
        {
          type: "button", class: "category-chip", title: help, "aria-pressed": "false", "aria-description": help,
          dataset: { category: key, testid: `category-${key}` }, onclick: () => choose(this.pressed === key ? "" : key),
        },
        h("span", { class: "category-dot", "aria-hidden": "true" }), word, " ", count,
      );
      this.#chips.set(key, { button, count });
      root.append(button);
    }
  }

  /** @param {string} category */
  press(category) {
    this.pressed = category;
    for (const [key, { button }] of this.#chips) button.setAttribute("aria-pressed", String(key === category));
    this.explanation.textContent = CATEGORY_WORDS.find((one) => one.key === category)?.help ?? "";
  }

  /** @param {Record<string, number>} counts */
  count(counts) {
    for (const [key, { count, button }] of this.#chips) {
      count.textContent = formatCount(counts[key] ?? 0);
      button.dataset.empty = String(!counts[key]);
    }
  }
}
