// @ts-check
import { h, setText } from "../../lib/dom.js";
import { rangeWords, readParameter, spokenName, writeParameter } from "../../lib/parameters.js";

/** @typedef {import("../../lib/parameters.js").Parameter} Parameter */

/** One labelled control with its unit, help and error. */
export class Field {
  #serverError = "";

  /**
   * @param {object} words
   * @param {string} words.id @param {string} words.label @param {string} [words.help] @param {string} [words.unit]
   * @param {HTMLInputElement | HTMLSelectElement} control
   */
  constructor({ id, label, help = "", unit = "" }, control) {
    this.control = control;
    control.id = id;
    control.setAttribute("aria-describedby", `${id}-help ${id}-error`);
    this.error = h("p", { class: "field-error", id: `${id}-error`, role: "alert" });
    this.element = h(
      "div",
      { class: "field" },
      h("label", { for: id, class: "field-label" }, label, unit ? h("span", { class: "muted", text: unit }) : null),
      control,
      this.error,
      h("p", { class: "field-help muted small", id: `${id}-help`, text: help }),
    );
  }

  /** @param {string} message empty for none */
  fail(message) {
    setText(this.error, message);
    this.control.toggleAttribute("aria-invalid", false);
    if (message) this.control.setAttribute("aria-invalid", "true");
  }

  get failed() {
    return this.error.textContent !== "";
  }
}

/** A field of a recipe's declaration. */
export class ParameterField extends Field {
  /** @param {Parameter} parameter */
  constructor(parameter) {
    const range = rangeWords(parameter);
    super(
      {
        id: `param-${parameter.name}`,
        label: spokenName(parameter.name),
        unit: parameter.unit === spokenName(parameter.name).toLowerCase() ? "" : parameter.unit,
        help: [parameter.help, range && !range.includes("e") ? `${range}.` : ""].filter(Boolean).join(" "),
      },
      controlFor(parameter),
    );
    this.parameter = parameter;
    this.element.dataset.parameter = parameter.name;
    this.element.querySelector("label")?.setAttribute("title", parameter.name); // as terminals and the API call it
    this.control.dataset.testid = `param-${parameter.name}`;
    this.set(parameter.default);
  }

  /** @param {unknown} value */
  set(value) {
    this.control.value = writeParameter(value);
    this.mark();
    this.fail("");
  }

  /** Show whether it differs from its default. */
  mark() {
    this.element.classList.toggle("is-changed", this.control.value !== writeParameter(this.parameter.default));
  }

  /** The value, or undefined after showing what is wrong with it. */
  read() {
    const outcome = readParameter(this.parameter, this.control.value);
    this.fail("error" in outcome ? outcome.error : "");
    return "error" in outcome ? undefined : outcome.value;
  }
}

/** @param {Parameter} parameter */
function controlFor({ type, choices }) {
  if (type === "bool") {
    return h("select", { class: "select" }, h("option", { value: "true", text: "yes" }), h("option", { value: "false", text: "no" }));
  }
  if (choices) return h("select", { class: "select" }, choices.map((choice) => h("option", { value: choice, text: choice })));
  const numeric = type === "int" || type === "float";
  return h("input", {
    class: numeric ? "input num" : "input",
    inputmode: type === "int" ? "numeric" : numeric ? "decimal" : "text",
    autocomplete: "off",
    spellcheck: "false",
  });
}
