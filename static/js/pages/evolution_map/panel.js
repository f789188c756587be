// @ts-check
import { fill, h, icon } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";

const LONG_TEXT = 280;

/**
 * What is known of the chosen example at this step: its texts, its neighbours, who came and who went.
 *
 * @typedef {object} Links
 * @property {(exampleId: string) => void} choose @property {() => void} close @property {(exampleId: string) => string} address
 */
export class Panel {
  /** @param {HTMLElement} root @param {Links} links */
  constructor(root, links) {
    this.root = root;
    this.links = links;
  }

  /** Nothing is chosen. */
  rest() {
    this.root.dataset.example = "";
    fill(this.root, h("div", { class: "map-rest" }, h("h2", { text: "Point at an example" }), h("p", { class: "muted", text: "Choose one to see which examples the model holds for alike, and who came and went since the step before." })));
  }

  /** @param {any} error */
  fail(error) {
    fill(this.root, h("div", { class: "map-rest" }, h("h2", { text: error.message }), h("p", { class: "muted", text: error.hint ?? "" })));
  }

  /** @param {any} found the neighbours of an example, and itself */
  show(found) {
    const { example } = found;
    this.root.dataset.example = example.example_id;
    fill(
      this.root,
      h(
        "header",
        { class: "map-panel-head" },
        answered(example.exact_match),
        example.group ? h("span", { class: "chip map-group", text: example.group }) : null,
        h("button", { type: "button", class: "button button-quiet button-icon button-small end", "aria-label": "Choose no example", onclick: this.links.close }, icon("cross")),
      ),
      h("p", { class: "muted small mono map-id", text: example.example_id }),
      passage("Input", example.input),
      passage("Expected", example.expected_output),
      h("p", {}, h("a", { class: "map-open", href: this.links.address(example.example_id), dataset: { testid: "map-open-example" } }, "All its answers, step by step", icon("right"))),
      this.#neighbours(found),
    );
  }

  /** @param {any} found */
  #neighbours({ neighbors, entered, left, churn, previous_step: before, step }) {
    const came = new Set(entered);
    return h(
      "section",
      { class: "map-neighbours" },
      h("h3", { text: `Nearest at step ${formatCount(step)}` }),
      before === null
        ? h("p", { class: "small muted", text: "There is no step before to compare with." })
        : h("p", { class: "small muted", dataset: { testid: "map-churn" }, text: churnWords(churn, neighbors.length, before) }),
      h("ol", { class: "map-near", dataset: { testid: "map-neighbours" } }, neighbors.map((/** @type {any} */ one) => this.#neighbour(one, came.has(one.example_id)))),
      left.length === 0
        ? null
        : h("details", { class: "map-left" }, h("summary", { text: `${formatCount(left.length)} no longer among them` }), h("ul", { dataset: { testid: "map-left" } }, left.map((/** @type {string} */ id) => h("li", {}, h("button", { type: "button", class: "map-link mono small", text: id, onclick: () => this.links.choose(id) }))))),
    );
  }

  /** @param {any} one @param {boolean} isNew */
  #neighbour({ example_id: id, input, group, similarity, exact_match: right }, isNew) {
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "map-neighbour", title: id, dataset: { example: id, new: String(isNew) }, onclick: () => this.links.choose(id) },
        h("span", { class: "map-right", dataset: { right: String(right) } }, icon(right ? "check" : "cross", right ? "right" : "wrong")),
        h("span", { class: "map-neighbour-text" }, h("span", { class: "map-neighbour-input", text: shortened(input) || id }), h("span", { class: "muted small", text: [group, isNew ? "new here" : ""].filter(Boolean).join(" · ") })),
        h("span", { class: "num muted small", text: similarity.toFixed(3) }),
      ),
    );
  }
}

/** @param {number} churn @param {number} count @param {number} before */
export function churnWords(churn, count, before) {
  const came = Math.round(churn * count);
  if (came === 0) return `The same ${formatCount(count)} as at step ${formatCount(before)}.`;
  if (came === count) return `None of these was among the nearest at step ${formatCount(before)}.`;
  return `${formatCount(came)} of ${formatCount(count)} ${came === 1 ? "was" : "were"} not among the nearest at step ${formatCount(before)}.`;
}

/** @param {boolean} right */
function answered(right) {
  return h("span", { class: "badge", dataset: { state: right ? "correct" : "failed" } }, icon(right ? "check" : "cross"), right ? "Right at this step" : "Wrong at this step");
}

/** @param {string} word @param {string} text */
function passage(word, text) {
  return h("div", { class: "map-passage" }, h("h3", { text: word }), h("p", { class: "passage-text", text: shortened(text) || "(nothing)" }));
}

/** @param {string} text */
function shortened(text) {
  return text.length > LONG_TEXT ? `${text.slice(0, LONG_TEXT)}…` : text;
}
