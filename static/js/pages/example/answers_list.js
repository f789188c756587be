// @ts-check
import { fill, h, icon } from "../../lib/dom.js";
import { formatCount, formatPercent } from "../../lib/format.js";
import { segments } from "../../lib/shell.js";
import { differentBefore, foldAnswers, spanWords, timesWords } from "./answers.js";
import { diffView } from "../../lib/diff_view.js";
import { longText, visible } from "../../lib/long_text.js";
import { pointWords } from "./words.js";

const AT_ONCE = 40;

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {import("./reading.js").Task} Task
 * @typedef {import("./answers.js").Answer} Answer
 */

/** Every answer the example got, by step; new ones are added below, what is there stays. */
export class AnswersList {
  /** @type {Map<string, {element: HTMLElement, head: HTMLElement, answer: Answer}>} */
  #items = new Map();
  /** @type {Answer[]} */
  #answers = [];
  #task = /** @type {Task} */ ("text");
  #chosen = 0;
  #shown = AT_ONCE;
  #asChanges = true;
  #list = h("ol", { class: "answers", dataset: { testid: "answers" } });
  #more = h("button", { type: "button", class: "button" });

  /** @param {{choose: (index: number) => void, onCount: (words: string) => void}} options */
  constructor({ choose, onCount }) {
    this.choose = choose;
    this.onCount = onCount;
    this.element = h("div", {}, this.#list, this.#more);
    const button = (/** @type {string} */ view, /** @type {string} */ text) => h("button", { type: "button", dataset: { view, testid: `answers-${view}` }, "aria-pressed": String(view === "changes"), text });
    this.choice = h("div", { class: "segments end", role: "group", "aria-label": "How answers are shown" }, button("changes", "Changes"), button("plain", "Plain"));
    segments(this.choice, "view", (view) => {
      this.#asChanges = view === "changes";
      this.#items.clear();
      this.#draw();
    });
    this.#more.addEventListener("click", () => {
      this.#shown += AT_ONCE;
      this.#draw();
    });
  }

  /** @param {Point[]} points @param {Task} task */
  show(points, task) {
    this.#answers = foldAnswers(points);
    this.#task = task;
    this.choice.hidden = task === "retrieval" || task === "classification"; // names, not texts: nothing to compare
    this.onCount(`${formatCount(this.#answers.length)} ${this.#answers.length === 1 ? "answer" : "answers"} over ${formatCount(points.length)} ${points.length === 1 ? "snapshot" : "snapshots"}`);
    this.#draw();
  }

  /** @param {number} index of the chosen snapshot */
  mark(index) {
    this.#chosen = index;
    for (const { element, answer } of this.#items.values()) {
      const is = answer.from <= index && index <= answer.to;
      if (is) element.setAttribute("aria-current", "step");
      else element.removeAttribute("aria-current");
    }
  }

  #draw() {
    const shown = this.#answers.slice(0, this.#shown);
    const kept = new Map();
    for (const [number, answer] of shown.entries()) {
      const key = `${answer.firstStep} ${answer.right} ${answer.text.length} ${answer.text.slice(0, 200)}`;
      const item = this.#items.get(key) ?? this.#itemOf(number);
      item.answer = answer;
      this.#fillHead(item.head, answer);
      kept.set(key, item);
      if (this.#list.children[number] !== item.element) this.#list.insertBefore(item.element, this.#list.children[number] ?? null);
    }
    while (this.#list.children.length > shown.length) this.#list.lastElementChild?.remove();
    this.#items = kept;
    const left = this.#answers.length - shown.length;
    this.#more.hidden = left === 0;
    this.#more.textContent = `Show ${formatCount(Math.min(left, AT_ONCE))} of ${formatCount(left)} more`;
    this.mark(this.#chosen);
  }

  /** @param {number} number */
  #itemOf(number) {
    const answer = this.#answers[number];
    const head = h("div", { class: "answer-head" });
    const element = h("li", { class: "answer", dataset: { testid: "answer", right: String(answer.right), step: String(answer.firstStep) } }, head, bodyOf(answer, this.#asChanges ? differentBefore(this.#answers, number) : null, this.#task));
    return { element, head, answer };
  }

  /** @param {HTMLElement} head @param {Answer} answer */
  #fillHead(head, answer) {
    const place = document.activeElement && head.contains(document.activeElement);
    const go = h("button", { type: "button", class: "answer-step num", text: spanWords(answer), title: "Show this snapshot", onclick: () => this.choose(answer.to) });
    fill(
      head,
      h("span", { class: "verdict-mark", dataset: { right: String(answer.right) } }, icon(answer.right ? "check" : "cross", answer.right ? "right" : "wrong")),
      go,
      h("span", { class: "small muted num", text: [timesWords(answer), pointWords(answer.point, this.#task)].filter(Boolean).join(" · ") }),
    );
    if (place) go.focus({ preventScroll: true });
  }
}

/** @param {Answer} answer @param {Answer | null} before the different one before, where changes are to be seen @param {Task} task */
function bodyOf({ text, point }, before, task) {
  if (task === "classification") {
    const sure = point.labels?.find((one) => one.label === point.text)?.probability;
    return h("p", { class: "answer-label" }, h("bdi", { text: visible(text.slice(0, 2000)) || "(nothing)" }), sure === undefined ? null : h("span", { class: "muted num", text: formatPercent(sure) }));
  }
  if (task === "retrieval") {
    const first = point.top?.[0];
    if (!first) return h("p", { class: "muted", text: "Nothing was found." });
    return h("div", {}, h("p", { class: "answer-label" }, h("bdi", { text: visible(first.title.slice(0, 2000)) }), first.gold ? h("span", { class: "gold" }, icon("star"), "right") : null), point.text ? foldedText(point.text) : null);
  }
  const cut = point.isCut ? h("p", { class: "small muted", text: "Cut off: it would have gone on." }) : null;
  return h("div", {}, before ? diffView(before.text, text) : text === "" ? h("p", { class: "muted", text: "(nothing)" }) : longText(text), cut);
}

/** What stands in the first document, for who wants to know. @param {string} text */
function foldedText(text) {
  const place = h("div");
  const details = h("details", { class: "document-text" }, h("summary", { text: "What it says" }), place);
  details.addEventListener("toggle", () => details.open && place.children.length === 0 && place.append(longText(text)));
  return details;
}
