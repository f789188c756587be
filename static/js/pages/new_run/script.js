// @ts-check
/** Your own script in the form: which one, with its parameters in place of the recipe's. */
import { fill, h, setText } from "../../lib/dom.js";
import { Field } from "./field.js";

/**
 * @typedef {object} Script as GET /api/scripts describes it
 * @property {string} name @property {string} title @property {string} summary @property {any[]} parameters
 * @property {"none" | "optional" | "required"} [dataset] @property {string} [profile] @property {string} [entry]
 * @property {{place: string, message: string, remedy: string} | null} trouble
 */

export const RECIPE = "script";

/** The recipe as this script fills it; others stay as they are. Pure. @param {any} recipe @param {Script | undefined} script */
export function recipeOf(recipe, script) {
  if (recipe?.name !== RECIPE) return recipe;
  return { ...recipe, parameters: script?.parameters ?? [], presets: [] };
}

/** The words under the choice. Pure. @param {Script | undefined} script */
export function helpOf(script) {
  if (!script) return "No script can be used yet.";
  return [script.summary, script.entry ? `Starts ${script.entry}.` : ""].filter(Boolean).join(" ");
}

/** The field below the recipe; hidden for every recipe but one. */
export class ScriptChoice {
  /** @type {Script[]} */
  #scripts = [];
  #isOn = false;

  constructor() {
    this.field = new Field({ id: "script", label: "Script" }, h("select", { class: "select", dataset: { testid: "script" } }));
    this.field.element.append(h("p", { class: "field-help small" }, h("a", { href: "/scripts", text: "Your scripts" })));
    this.field.element.hidden = true;
  }

  /** @param {Script[]} scripts @param {string | null} wanted */
  load(scripts, wanted) {
    this.#scripts = scripts;
    fill(
      this.field.control,
      scripts.map((one) => h("option", { value: one.name, disabled: one.trouble !== null, text: one.trouble ? `${one.name} (cannot be used)` : one.title })),
    );
    const usable = scripts.filter((one) => !one.trouble);
    this.field.control.value = usable.find((one) => one.name === wanted)?.name ?? usable[0]?.name ?? "";
  }

  /** The chosen script; undefined for every other recipe, and where none can be used. */
  get chosen() {
    return this.#isOn ? this.#scripts.find((one) => one.name === this.field.control.value && !one.trouble) : undefined;
  }

  /** Show or hide the field, and return the recipe with the parameters of the script. @param {any} recipe */
  applied(recipe) {
    this.#isOn = recipe?.name === RECIPE;
    this.field.element.hidden = !this.#isOn;
    if (this.#isOn) setText(this.field.element.querySelector(".field-help"), helpOf(this.chosen));
    return recipeOf(recipe, this.chosen);
  }

  /** Whether a run may have no dataset. */
  get needsNoDataset() {
    return this.#isOn && this.chosen?.dataset !== "required";
  }

  /** Whether it takes no dataset at all. */
  get takesNoDataset() {
    return this.#isOn && (this.chosen?.dataset ?? "none") === "none";
  }

  /** What the request says of it; null while it is not clear which script is meant. */
  wish() {
    if (!this.#isOn) return {};
    return this.chosen ? { script: this.chosen.name } : null;
  }
}
