// @ts-check
/** "Ask the model": draws itself from what the run's recipe says can be asked. */
import { ApiError, get, post } from "../../lib/api.js";
import { fill, h, icon, setText } from "../../lib/dom.js";
import { answerView, checkpointWords, originWords } from "./ask_answer.js";
import { cardOf } from "./finding_card.js";

/**
 * @typedef {{name: string, title: string, help: string, type: string, default: any, minimum: number | null, maximum: number | null, choices: string[], most_characters: number}} Part
 * @typedef {{why_not: string | null, question: Part[], checkpoints: {step: number, best: boolean, last: boolean}[], state: string, doing: {detail: string, fraction: number} | null, checkpoint: any}} Asking
 */

const LOOK_EVERY_MS = 600;

/** What the model's process is doing, in words; the empty text when it is not at work. Pure. @param {Asking} asking */
export function doingWords({ doing }) {
  if (!doing) return "";
  const share = doing.fraction > 0 && doing.fraction < 1 ? ` (${Math.round(doing.fraction * 100)} %)` : "";
  return `${doing.detail.charAt(0).toUpperCase()}${doing.detail.slice(1)}${share} …`;
}

/** The parts of a question as they are sent: numbers as numbers, untouched parts left out. Pure. @param {Part[]} parts @param {Record<string, string>} typed */
export function questionOf(parts, typed) {
  /** @type {Record<string, any>} */
  const question = {};
  for (const part of parts) {
    const raw = typed[part.name] ?? "";
    const isNumber = part.type === "int" || part.type === "float";
    if (raw.trim() === "" && part.default !== null) continue;
    if (isNumber) question[part.name] = raw.trim() === "" || Number.isNaN(Number(raw)) ? raw : Number(raw);
    else question[part.name] = part.type === "bool" ? raw === "true" : raw;
  }
  return question;
}

/** What is wrong with what was typed, before it is sent; null when nothing is. Pure. @param {Part[]} parts @param {Record<string, string>} typed */
export function problemOf(parts, typed) {
  for (const part of parts) {
    const raw = (typed[part.name] ?? "").trim();
    if (raw === "") {
      if (part.default === null) return { name: part.name, message: "write something first." };
      continue;
    }
    if (part.type !== "int" && part.type !== "float") continue;
    const number = Number(raw);
    if (Number.isNaN(number) || (part.type === "int" && !Number.isInteger(number))) return { name: part.name, message: part.type === "int" ? "must be a whole number." : "must be a number." };
    if (part.minimum !== null && number < part.minimum) return { name: part.name, message: `must be at least ${part.minimum}.` };
    if (part.maximum !== null && number > part.maximum) return { name: part.name, message: `must be at most ${part.maximum}.` };
  }
  return null;
}

export class AskPanel {
  #place;
  #path;
  #shown = "";
  #timer = /** @type {any} */ (null);
  /** @type {Part[]} */
  #parts = [];
  /** @type {Record<string, HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>} */
  #controls = {};
  #checkpoint = h("select", { class: "select", id: "ask-checkpoint", "aria-label": "Checkpoint", dataset: { testid: "ask-checkpoint" } });
  #button = h("button", { type: "submit", class: "button button-go", dataset: { testid: "ask-button" } }, "Ask");
  #doing = h("p", { class: "muted", role: "status", dataset: { testid: "ask-doing" } });
  #error = h("div", { role: "alert", dataset: { testid: "ask-error" } });
  #answer = h("div", { class: "ask-answer", "aria-live": "polite", dataset: { testid: "ask-answer" } });

  /** @param {HTMLElement} place @param {string} path of the run in the API */
  constructor(place, path) {
    this.#place = place;
    this.#path = path;
  }

  /** Look at what can be asked; what was typed and answered stays. */
  async show() {
    const asking = /** @type {Asking} */ (await get(`${this.#path}/ask`));
    const shape = asking.why_not ?? JSON.stringify(asking.question);
    if (shape !== this.#shown) {
      this.#shown = shape;
      if (asking.why_not) this.#refuse(asking.why_not);
      else this.#draw(asking);
    }
    this.#list(asking);
  }

  /** @param {string} why */
  #refuse(why) {
    fill(this.#place, h("div", { class: "card empty", dataset: { testid: "ask-refused" } }, h("h2", { text: "Not to be asked" }), h("p", { text: why })));
  }

  /** @param {Asking} asking */
  #draw({ question }) {
    this.#parts = question;
    this.#controls = Object.fromEntries(question.map((part) => [part.name, control(part)]));
    const [first, ...others] = question;
    const form = h(
      "form",
      { class: "card-body ask-form", novalidate: true },
      h("div", { class: "ask-main" }, main(first, this.#controls[first.name]), this.#button),
      h("p", { class: "muted small", id: `ask-${first.name}-help`, text: first.help }),
      others.length ? h("div", { class: "ask-others" }, others.map((part) => labelled(part, this.#controls[part.name]))) : null,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#ask();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    fill(
      this.#place,
      h(
        "section",
        { class: "card", "aria-label": "Ask the model" },
        h("div", { class: "card-head" }, h("h2", { text: "Ask the model" }), h("span", { class: "end ask-checkpoint" }, this.#checkpoint)),
        form,
        h("div", { class: "card-body ask-below" }, this.#doing, this.#error, this.#answer),
      ),
    );
    setText(this.#doing, "The first question opens the model, in a process of its own; that takes a few seconds.");
  }

  /** @param {Asking} asking */
  #list({ checkpoints }) {
    const chosen = this.#checkpoint.value;
    const options = [...checkpoints].reverse().map((one) => h("option", { value: String(one.step), text: spoken(checkpointWords(one)) }));
    fill(this.#checkpoint, h("option", { value: "", text: "Best checkpoint, else the last" }), options);
    if (checkpoints.some((one) => String(one.step) === chosen)) this.#checkpoint.value = chosen;
  }

  async #ask() {
    const typed = Object.fromEntries(Object.entries(this.#controls).map(([name, one]) => [name, one.value]));
    const problem = problemOf(this.#parts, typed);
    if (problem) {
      this.#fail(new ApiError(problem.message, { status: 0, field: `question.${problem.name}` }));
      return;
    }
    fill(this.#error);
    this.#mark(null);
    this.#busy(true);
    try {
      const result = await post(`${this.#path}/ask`, { question: questionOf(this.#parts, typed), checkpoint: this.#checkpoint.value || null });
      fill(this.#answer, answerView(result.answer), result.answer.note ? h("p", { class: "small ask-note", text: result.answer.note }) : null, h("p", { class: "muted small num", dataset: { testid: "ask-origin" }, text: originWords(result) }));
    } catch (error) {
      fill(this.#answer);
      this.#fail(/** @type {any} */ (error));
    } finally {
      this.#busy(false);
    }
  }

  /** @param {boolean} isBusy */
  #busy(isBusy) {
    this.#button.disabled = isBusy;
    this.#place.setAttribute("aria-busy", String(isBusy));
    clearTimeout(this.#timer);
    setText(this.#doing, isBusy ? "Asking …" : "");
    if (isBusy) this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS);
  }

  /** How far it is, until there is an answer. */
  async #look() {
    try {
      const words = doingWords(await get(`${this.#path}/ask`));
      if (this.#button.disabled && words) setText(this.#doing, words);
    } catch {
      // the question itself will tell
    }
    if (this.#button.disabled) this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS);
  }

  /** @param {import("../../lib/api.js").ApiError} error */
  #fail(error) {
    const part = error.field?.startsWith("question.") ? error.field.slice("question.".length) : null;
    this.#mark(part);
    const where = this.#parts.find((one) => one.name === part)?.title;
    const findings = error.facts?.findings ?? [];
    const lines = error.facts?.lines ?? [];
    fill(
      this.#error,
      h("div", { class: "banner", dataset: { tone: "bad" } }, icon("failed"),
        h("div", { class: "banner-text" }, h("p", { class: "title", text: where ? `${where}: ${error.message}` : error.message }), error.hint ? h("p", { text: error.hint }) : null)),
      findings.slice(0, 1).map((/** @type {any} */ finding) => cardOf({ rungs_in_words: [], ...finding })),
      lines.length && !findings.length ? h("pre", { class: "ask-text", text: lines.join("\n") }) : null,
    );
  }

  /** @param {string | null} name of the part that is wrong */
  #mark(name) {
    for (const [key, one] of Object.entries(this.#controls)) {
      one.toggleAttribute("aria-invalid", false);
      if (key === name) {
        one.setAttribute("aria-invalid", "true");
        one.focus();
      }
    }
  }
}

/** @param {Part} part */
function control(part) {
  const props = { id: `ask-${part.name}`, dataset: { testid: `ask-${part.name}` }, "aria-describedby": `ask-${part.name}-help` };
  if (part.type === "bool") {
    return picked(h("select", { class: "select", ...props }, h("option", { value: "true", text: "yes" }), h("option", { value: "false", text: "no" })), part.default);
  }
  if (part.type === "choice") return picked(h("select", { class: "select", ...props }, part.choices.map((one) => h("option", { value: one, text: one }))), part.default);
  if (part.type === "text") return picked(h("textarea", { class: "input ask-textarea", rows: 4, maxlength: part.most_characters, spellcheck: "false", ...props }), part.default);
  const isNumber = part.type === "int" || part.type === "float";
  return picked(h("input", { class: isNumber ? "input num" : "input", inputmode: part.type === "int" ? "numeric" : isNumber ? "decimal" : "text", maxlength: part.most_characters, autocomplete: "off", spellcheck: "false", ...props }), part.default);
}

/** @template {{value: string}} T @param {T} one @param {any} value @returns {T} */
function picked(one, value) {
  if (value !== null) one.value = String(value);
  return one;
}

/** @param {Part} part @param {HTMLElement} one */
function main(part, one) {
  const label = h("label", { class: part.type === "line" ? "visually-hidden" : "field-label", for: one.id, text: part.title });
  if (part.type !== "line") return h("div", { class: "ask-box" }, label, one);
  one.setAttribute("placeholder", part.title);
  return h("div", { class: "search ask-box" }, label, icon("search"), one);
}

/** @param {Part} part @param {HTMLElement} one */
function labelled(part, one) {
  return h("div", { class: "ask-other" }, h("label", { class: "ask-label-of", for: one.id, text: part.title }), one, h("p", { class: "muted small", id: `${one.id}-help`, text: part.help }));
}

/** @param {string} words */
function spoken(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
