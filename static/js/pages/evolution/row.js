// @ts-check
import { h, icon, setText } from "../../lib/dom.js";
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";
import { exampleAddress } from "../../lib/example_address.js";
import { shortText } from "../../lib/shown_text.js";
import { fateWords } from "./categories.js";
import { Trail } from "./trail.js";

const CHARACTERS = 240; // more than two lines hold

/**
 * What was answered, in one line, by the kind of task.  Pure.
 * @param {any} answer @returns {{text: string, note: string, gold: boolean}}
 */
export function answerWords(answer) {
  if (answer.top) {
    const [best] = answer.top;
    return { text: best ? best.title || best.document_id : "(nothing found)", note: answer.rank ? `right one at rank ${formatCount(answer.rank)}` : "right one not found", gold: best?.gold ?? false };
  }
  if (answer.probabilities) return { text: answer.model_output, note: answer.confidence === null ? "" : `${formatPercent(answer.confidence)} sure`, gold: false };
  const similarity = answer.similarity ?? null;
  return { text: answer.model_output || "(nothing)", note: similarity === null || answer.exact_match ? "" : `${formatPercent(similarity, 0)} alike`, gold: false };
}

/** One example of the list: a link to its page.  Made once, shown for many examples one after the other. */
export class ExampleRowView {
  #mark = h("span", { class: "row-mark" });
  #input = text("row-text");
  #id = h("span", { class: "mono" });
  #group = h("span", { class: "chip row-group" });
  #answer = text("row-text");
  #note = h("span", { class: "row-note" });
  #expected = text("row-text");
  #loss = h("span", { class: "num row-loss" });
  #fate = h("span", { class: "row-fate" });
  #trail = new Trail();
  /** @type {any} */
  #shown = null;
  /** @type {unknown[]} what the rest says: a row in sight is shown again at each answer to another one */
  #said = [];
  /** @type {string | null} */
  #state = null;

  constructor() {
    this.link = h(
      "a",
      { class: "row", tabindex: -1, draggable: "false" },
      this.#mark,
      h("span", { class: "row-input" }, this.#input, h("span", { class: "row-small" }, this.#id, this.#group)),
      h("span", { class: "row-answer", dataset: { label: "Answer" } }, this.#answer, h("span", { class: "row-small" }, this.#note)),
      h("span", { class: "row-expected", dataset: { label: "Expected" } }, this.#expected),
      h("span", { class: "row-way" }, this.#trail.element, h("span", { class: "row-small" }, this.#loss)),
      this.#fate,
    );
    this.element = h("li", { class: "row-place", dataset: { testid: "example-row" } }, this.link);
  }

  /** A place whose example is on its way. */
  wait() {
    [this.#shown, this.#said] = [null, []];
    this.element.dataset.waits = "true";
    this.link.removeAttribute("href");
  }

  /**
   * @param {import("./listing.js").ExampleRow} example
   * @param {{dataset: string, run: string, step: number, list: import("../../lib/evolution_address.js").ListAsked | null, place: number, answer: any}} at
   *   `place` of the step among the steps of the trail; `answer` null while it is on its way
   */
  show(example, { dataset, run, step, list, place, answer }) {
    const said = [example, run, step, list, place, answer];
    if (said.every((one, index) => one === this.#said[index])) return;
    this.#said = said;
    if (example !== this.#shown) this.#showExample(example);
    this.link.setAttribute("href", exampleAddress(dataset, example.example_id, { run, step, list }));
    this.#trail.mark(place);
    const loss = answer ? answer.loss : (example.trail[place] ?? null);
    setText(this.#loss, `loss ${formatNumber(loss, 3)}`);
    this.#showState(answer ? (answer.exact_match ? "right" : "wrong") : stateOf(example.right[place]));
    this.#showAnswer(answer);
  }

  /** @param {import("./listing.js").ExampleRow} example */
  #showExample(example) {
    this.#shown = example;
    delete this.element.dataset.waits;
    this.element.dataset.example = example.example_id;
    this.element.dataset.category = example.category;
    setText(this.#input, shortText(example.input, CHARACTERS));
    setText(this.#id, shortText(example.example_id, 40));
    const group = shortText(example.group, 40);
    setText(this.#group, group);
    this.#group.hidden = group === "";
    setText(this.#expected, shortText(example.expected_output, CHARACTERS));
    setText(this.#fate, fateWords(example));
    this.#trail.show(example.trail, example.right);
  }

  /** @param {any} answer */
  #showAnswer(answer) {
    this.element.toggleAttribute("data-asking", answer === null);
    if (answer === null) return; // the last one stays, paler, until the new one is there
    const { text: words, note, gold } = answerWords(answer);
    setText(this.#answer, shortText(words, CHARACTERS));
    this.#answer.toggleAttribute("data-gold", gold);
    setText(this.#note, note);
    this.element.dataset.step = String(answer.step);
  }

  /** @param {"right" | "wrong" | "unknown"} state */
  #showState(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.element.dataset.state = state;
    const [name, word] = { right: ["check", "Right"], wrong: ["cross", "Wrong"], unknown: ["info", "Not asked"] }[state];
    this.#mark.replaceChildren(icon(name, word));
  }
}

/** @param {string | undefined} mark of `right` */
function stateOf(mark) {
  return mark === "1" ? "right" : mark === "0" ? "wrong" : "unknown";
}

/** Where a text of somebody else is shown: its direction is its own and stays inside. @param {string} name */
function text(name) {
  return h("span", { class: name, dir: "auto" });
}
