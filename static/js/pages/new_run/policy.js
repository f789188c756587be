// @ts-check
/** What happens when the run dies or hangs: fields drawn from the server's declaration. */
import { fill, find, h } from "../../lib/dom.js";
import { rangeWords, readParameter, writeParameter } from "../../lib/parameters.js";
import { Field } from "./field.js";

/**
 * @typedef {object} Declared as GET /api/recipes describes a field of the policy
 * @property {string} name @property {string} label @property {"int" | "float" | "choice"} type @property {any} default
 * @property {string} help @property {number | null} minimum @property {number | null} maximum
 * @property {Record<string, string> | null} choices @property {string} unit
 */

/** Name of the policy field an API error is about; null for other fields. Pure. @param {string | undefined} field */
export function policyFieldOf(field) {
  return field?.startsWith("policy.") ? field.slice("policy.".length) : null;
}

/** A declared field as the parameter it reads like. Pure. @param {Declared} declared */
export function asParameter({ choices, ...declared }) {
  return { ...declared, choices: choices ? Object.keys(choices) : null, group: "", advanced: false };
}

/** What differs from the defaults, which is all the server needs. Pure.
 * @param {Declared[]} fields @param {Record<string, unknown>} values @returns {Record<string, unknown>} */
export function policyOf(fields, values) {
  return Object.fromEntries(fields.filter(({ name, default: standard }) => values[name] !== standard).map(({ name }) => [name, values[name]]));
}

class PolicyField extends Field {
  /** @param {Declared} declared */
  constructor(declared) {
    const parameter = asParameter(declared);
    const range = rangeWords(parameter);
    super(
      { id: `policy-${declared.name}`, label: declared.label, unit: declared.unit, help: [declared.help, range && `${range}.`].filter(Boolean).join(" ") },
      declared.choices
        ? h("select", { class: "select" }, Object.entries(declared.choices).map(([value, text]) => h("option", { value, text })))
        : h("input", { class: "input num", inputmode: declared.type === "int" ? "numeric" : "decimal", autocomplete: "off" }),
    );
    this.declared = declared;
    this.parameter = parameter;
    this.control.dataset.testid = `policy-${declared.name}`;
    this.control.value = writeParameter(declared.default);
  }

  /** The value, or undefined after showing what is wrong with it. */
  read() {
    this.element.classList.toggle("is-changed", this.control.value !== writeParameter(this.declared.default));
    const outcome = readParameter(this.parameter, this.control.value);
    this.fail("error" in outcome ? outcome.error : "");
    return "error" in outcome ? undefined : outcome.value;
  }
}

/** The section of the form. */
export class PolicyForm {
  /** @type {PolicyField[]} */
  #fields = [];

  /** @param {Declared[]} declared */
  draw(declared) {
    this.#fields = declared.map((one) => new PolicyField(one));
    fill(find("#policy"), this.#fields.map((field) => field.element));
    this.#showWhatCounts();
  }

  /** The policy, or undefined after showing what is wrong with it. @returns {Record<string, unknown> | undefined} */
  read() {
    this.#showWhatCounts();
    const values = Object.fromEntries(this.#fields.filter((field) => !field.element.hidden).map((field) => [field.declared.name, field.read()]));
    if (Object.values(values).includes(undefined)) return undefined;
    return policyOf(this.#fields.filter((field) => !field.element.hidden).map((field) => field.declared), values);
  }

  /** Show an error next to the field it is about. @param {string} name @param {string} message @returns {boolean} whether there is one */
  fail(name, message) {
    const field = this.#fields.find((one) => one.declared.name === name);
    field?.fail(message);
    return field !== undefined;
  }

  /** How long a hang lasts before a new start matters only where it leads to one. */
  #showWhatCounts() {
    const onStall = this.#fields.find((one) => one.declared.name === "on_stall")?.control.value;
    const after = this.#fields.find((one) => one.declared.name === "retry_after_s");
    if (after) after.element.hidden = onStall !== "retry";
  }
}
