// @ts-check
/** The user's own variables: rows of name and value, with errors and warnings next to them. */
import { fill, find, h, icon, setText } from "../../lib/dom.js";

/** @typedef {{name: string, value: string}} Assignment */

/** Name of the variable an API error is about; null for other fields. Pure. @param {string | undefined} field */
export function variableOf(field) {
  return field?.startsWith("environment.") ? field.slice("environment.".length) : null;
}

/**
 * The rows as an object for the API, or what is wrong with which row; empty rows do not count. Pure.
 * @param {Assignment[]} rows
 * @returns {{environment: Record<string, string>, errors: Map<number, string>}}
 */
export function readRows(rows) {
  /** @type {Map<number, string>} */
  const errors = new Map();
  /** @type {Map<string, string>} */
  const found = new Map();
  rows.forEach(({ name, value }, index) => {
    const cleaned = name.trim();
    if (cleaned === "" && value === "") return;
    if (cleaned === "") errors.set(index, "Give it a name.");
    else if (found.has(cleaned)) errors.set(index, "It is set twice.");
    else found.set(cleaned, value);
  });
  return { environment: Object.fromEntries(found), errors };
}

class Row {
  /** @param {Assignment} assignment @param {(row: Row) => void} onRemove */
  constructor({ name, value }, onRemove) {
    const plain = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };
    this.name = h("input", { class: "input mono", placeholder: "NAME", maxlength: 128, "aria-label": "Name of the variable", dataset: { testid: "variable-name" }, ...plain });
    this.value = h("input", { class: "input mono", placeholder: "value", maxlength: 8192, "aria-label": "Value of the variable", dataset: { testid: "variable-value" }, ...plain });
    this.name.value = name;
    this.value.value = value;
    this.error = h("p", { class: "field-error", role: "alert" });
    this.warning = h("p", { class: "field-warning", role: "status", dataset: { testid: "variable-warning" } });
    this.element = h(
      "div",
      { class: "own-variable", dataset: { testid: "own-variable" } },
      this.name,
      h("span", { class: "muted", "aria-hidden": "true", text: "=" }),
      this.value,
      h("button", { type: "button", class: "button button-quiet button-icon", title: "Remove this variable", "aria-label": "Remove this variable", onclick: () => onRemove(this) }, icon("cross")),
      this.error,
      this.warning,
    );
  }

  /** @param {string} message empty for none */
  fail(message) {
    setText(this.error, message);
    if (message) this.name.setAttribute("aria-invalid", "true");
    else this.name.removeAttribute("aria-invalid");
  }
}

/** The list below the preview. */
export class OwnVariables {
  /** @type {Row[]} */
  #rows = [];
  #place = find("#own-variable-rows");
  #error = find("#own-variables-error");

  /** @param {() => void} onChange called when a row came or went; typing is heard by the form */
  constructor(onChange) {
    this.onChange = onChange;
    find("#add-variable").addEventListener("click", () => {
      this.add({ name: "", value: "" });
      this.#rows.at(-1)?.name.focus();
    });
  }

  /** @param {Assignment} assignment */
  add(assignment) {
    this.#rows.push(
      new Row(assignment, (row) => {
        this.#rows = this.#rows.filter((one) => one !== row);
        this.#draw();
        this.onChange();
      }),
    );
    this.#draw();
  }

  #draw() {
    fill(this.#place, this.#rows.map((row) => row.element));
  }

  /** The variables, or undefined after showing what is wrong with them. @returns {Record<string, string> | undefined} */
  read() {
    const { environment, errors } = readRows(this.#rows.map((row) => ({ name: row.name.value, value: row.value.value })));
    this.#rows.forEach((row, index) => row.fail(errors.get(index) ?? ""));
    setText(this.#error, "");
    return errors.size ? undefined : environment;
  }

  /** Show an error next to the variable it is about. @param {string} name @param {string} message */
  fail(name, message) {
    const row = this.#rows.find((one) => one.name.value.trim() === name);
    if (row) row.fail(message);
    else setText(this.#error, message);
  }

  /** @param {{name: string, message: string}[]} warnings */
  warn(warnings) {
    for (const row of this.#rows) {
      setText(row.warning, warnings.filter((one) => one.name === row.name.value.trim()).map((one) => one.message).join(" "));
    }
  }
}
