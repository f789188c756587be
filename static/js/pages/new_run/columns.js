// @ts-check
/** Which column of a file plays which role, for files nobody has registered: asked only where the names differ. */
import { post } from "../../lib/api.js";
import { debounce, fill, h, setText } from "../../lib/dom.js";
import { mappingOf, neededRoles } from "../datasets/mapping.js";
import { Field } from "./field.js";

/** @typedef {import("../datasets/mapping.js").Kind} Kind */

const TABLES = ["csv", "tsv"]; // their headers are compared without case and outer spaces, keys of JSON objects exactly
const EXAMPLE_CHARACTERS = 36;
const TYPING_MS = 500;

/** The kind a recipe reads a file as, by its ending. Pure. @param {Kind[]} kinds @param {string[]} names of the recipe's kinds @param {string} file */
export function kindOf(kinds, names, file) {
  const dot = file.lastIndexOf(".");
  const ending = dot < 0 ? "" : file.slice(dot).toLowerCase();
  return kinds.find((kind) => names.includes(kind.name) && kind.endings.includes(ending));
}

/**
 * The columns that suggest themselves, where they are called otherwise than their roles; null where nothing
 * has to be asked.  Pure.
 * @param {Kind} kind @param {any} report of an inspection @returns {Record<string, string> | null}
 */
export function suggested(kind, report) {
  const found = (report.kinds ?? []).find((/** @type {any} */ one) => one.name === kind.name);
  if (!found || !report.columns?.length) return null;
  const plain = (/** @type {string} */ name) => (TABLES.includes(report.format) ? name.trim().toLowerCase() : name);
  const isUsual = Object.entries(found.columns).every(([role, column]) => plain(String(column)) === role);
  return isUsual && found.missing.length === 0 ? null : found.columns;
}

/** The role that still needs a column, null where none does. Pure. @param {Kind} kind @param {Record<string, string>} chosen */
export function missingRole(kind, chosen) {
  if (kind.needs.some((need) => need.every((role) => chosen[role]))) return null;
  const begun = kind.needs.find((need) => need.some((role) => chosen[role])) ?? kind.needs[0];
  return begun.find((role) => !chosen[role]) ?? null;
}

/** The selects below the dataset. */
export class ColumnChoice {
  /** @type {Kind[]} */
  kinds = [];
  /** @type {Kind | null} */
  #kind = null;
  /** @type {Map<string, Field>} */
  #fields = new Map();
  #looked = "";
  #asked = 0;
  #lookSoon = debounce((/** @type {Kind} */ kind, /** @type {string} */ path) => void this.#look(kind, path), TYPING_MS);

  /** @param {() => void} onChange called when the columns of a file have to be chosen */
  constructor(onChange) {
    this.onChange = onChange;
    this.words = h("p", { class: "muted small", role: "status", dataset: { testid: "columns-words" } });
    this.place = h("div", { class: "fields" });
    this.element = h("fieldset", { class: "columns-choice", hidden: true, dataset: { testid: "columns-choice" } }, h("legend", { text: "Columns" }), this.words, this.place);
  }

  /** Show what there is to choose. @param {string[]} names of the recipe's kinds @param {string | null} path of a file; null for all else */
  show(names, path) {
    const kind = path === null ? undefined : kindOf(this.kinds, names, path);
    const wanted = kind && path ? `${kind.name} ${path}` : "";
    if (wanted === this.#looked) return;
    this.#looked = wanted;
    this.#asked += 1;
    this.#clear();
    if (kind && path) this.#lookSoon(kind, path);
  }

  #clear() {
    this.#kind = null;
    this.#fields = new Map();
    this.element.hidden = true;
    fill(this.place);
    setText(this.words, "");
  }

  /** @param {Kind} kind @param {string} path */
  async #look(kind, path) {
    if (`${kind.name} ${path}` !== this.#looked) return;
    const mine = ++this.#asked;
    this.element.hidden = false;
    setText(this.words, "Reading the columns…");
    try {
      const report = await post("/api/datasets/inspect", { path, quick: true, kind: kind.name });
      if (mine !== this.#asked) return;
      this.#draw(kind, report);
    } catch {
      if (mine === this.#asked) this.#clear(); // what is wrong with the file is said where it is named, and before the start
    }
    // where nothing has to be asked nothing has changed: a start that is being checked goes on
    if (mine === this.#asked && this.#kind !== null) this.onChange();
  }

  /** @param {Kind} kind @param {any} report */
  #draw(kind, report) {
    const columns = suggested(kind, report);
    if (columns === null) return this.#clear();
    this.#kind = kind;
    setText(this.words, `${report.name} calls its columns otherwise: say which is what.`);
    const options = () => [
      h("option", { value: "", text: "(none)" }),
      ...report.columns.filter((/** @type {any} */ one) => one.name).map((/** @type {any} */ one) => h("option", { value: one.name, text: described(one) })),
    ];
    const needed = neededRoles(kind, columns);
    for (const role of kind.roles) {
      const unit = needed.has(role.name) ? "needed" : "";
      const field = new Field({ id: `column-${role.name}`, label: role.name, unit, help: role.help }, h("select", { class: "select", dataset: { testid: `column-${role.name}` } }, options()));
      field.control.value = columns[role.name] ?? "";
      this.#fields.set(role.name, field);
    }
    fill(this.place, [...this.#fields.values()].map((field) => field.element));
  }

  /** What the request says of it; undefined after showing which role has no column. @returns {{columns?: Record<string, string>} | undefined} */
  read() {
    const kind = this.#kind;
    if (kind === null) return {};
    const chosen = Object.fromEntries([...this.#fields].map(([role, field]) => [role, field.control.value]));
    for (const field of this.#fields.values()) field.fail("");
    const missing = missingRole(kind, chosen);
    if (missing === null) return { columns: mappingOf(kind, chosen) };
    this.#fields.get(missing)?.fail("Choose a column.");
    return undefined;
  }

  /** Show an error next to the role it is about. @param {string} role @param {string} message @returns {boolean} whether there is such a role */
  fail(role, message) {
    this.#fields.get(role)?.fail(message);
    return this.#fields.has(role);
  }
}

/** A column with the first thing in it. @param {{name: string, examples?: string[]}} column */
function described({ name, examples }) {
  const [first = ""] = examples ?? [];
  const shown = first.length > EXAMPLE_CHARACTERS ? `${first.slice(0, EXAMPLE_CHARACTERS)}…` : first;
  return shown ? `${name}: ${shown}` : name;
}

/** Name of the role an API error is about; null for other fields. Pure. @param {string | undefined} field */
export function roleOf(field) {
  return field?.startsWith("columns.") ? field.slice("columns.".length) : null;
}
