// @ts-check
/** Finding one parameter among many: only fields whose name or help has the words stay in sight. */
import { find } from "../../lib/dom.js";

/** Whether every word is somewhere in the text. Pure. @param {string} text @param {string} words */
export function hasWords(text, words) {
  const plain = text.toLowerCase().replaceAll("_", " ");
  return words.toLowerCase().replaceAll("_", " ").split(/\s+/).every((word) => plain.includes(word));
}

/** The search box in the head of the parameters. */
export class ParameterFilter {
  constructor() {
    this.place = find("#parameters", HTMLElement);
    this.box = find("#find-parameter", HTMLInputElement);
    this.none = find("#no-parameter", HTMLElement);
    this.box.addEventListener("input", (event) => {
      event.stopPropagation(); // it changes what is seen, not what is trained
      this.apply();
    });
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault();
    });
  }

  /** Show what fits: after typing, and after the fields have been drawn anew. */
  apply() {
    const words = this.box.value.trim();
    let found = 0;
    for (const group of /** @type {NodeListOf<HTMLElement>} */ (this.place.querySelectorAll(".group"))) {
      const fields = /** @type {HTMLElement[]} */ ([...group.querySelectorAll(".field")]);
      for (const field of fields) field.hidden = words !== "" && !hasWords(`${field.dataset.parameter} ${field.textContent}`, words);
      const shown = fields.filter((field) => !field.hidden);
      group.hidden = shown.length === 0;
      found += shown.length;
      for (const more of group.querySelectorAll("details")) {
        more.hidden = words !== "" && more.querySelector(".field:not([hidden])") === null;
        if (words !== "" && !more.hidden) more.open = true;
        else if (words === "") more.open = more.querySelector(".is-changed") !== null;
      }
    }
    this.none.hidden = words === "" || found > 0;
  }
}
