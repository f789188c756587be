// @ts-check
import { fill, h } from "../../lib/dom.js";

/**
 * @typedef {{name: string, help: string, is_label: boolean}} Role
 * @typedef {{name: string, title: string, help: string, endings: string[], needs: string[][], roles: Role[]}} Kind
 */

/** Roles that are needed by every way of using a kind, or by the ways that a mapping has begun. @param {Kind} kind @param {Record<string, string>} columns */
export function neededRoles(kind, columns) {
  const begun = kind.needs.filter((need) => need.some((role) => columns[role]));
  const ways = begun.length ? begun : kind.needs;
  return new Set(ways.length === 1 ? ways[0] : ways[0].filter((role) => ways.every((way) => way.includes(role))));
}

/** The columns that are mapped: a role that no column plays is told so. @param {Kind} kind @param {Record<string, string>} chosen */
export function mappingOf(kind, chosen) {
  const columns = Object.fromEntries(kind.roles.map((role) => [role.name, chosen[role.name] ?? ""]));
  const needed = new Set(kind.needs.flat());
  return Object.fromEntries(Object.entries(columns).filter(([role, column]) => column !== "" || !needed.has(role)));
}

/** Which kind a file is, and which of its columns plays which role. */
export class MappingForm {
  /** @param {HTMLElement} place @param {Kind[]} kinds @param {() => void} onChange */
  constructor(place, kinds, onChange) {
    this.place = place;
    this.kinds = kinds;
    /** Tokenizers of trained models, by which lengths can be counted. @type {{run: string, name: string, path: string}[]} */
    this.tokenizers = [];
    place.addEventListener("change", onChange);
  }

  /** @param {any} report of an inspection */
  show(report) {
    const possible = this.kinds.filter((kind) => kind.endings.includes(`.${report.format}`));
    const chosen = possible.find((kind) => kind.name === report.kind);
    this.kind = h(
      "select",
      { class: "select", id: "kind", dataset: { testid: "dataset-kind" } },
      chosen ? null : h("option", { value: "", text: "Choose…" }),
      possible.map((kind) => h("option", { value: kind.name, text: kind.title, selected: kind.name === report.kind })),
    );
    const names = (report.columns ?? []).map((/** @type {{name: string}} */ column) => column.name).filter(Boolean);
    const isPlain = report.format === "txt";
    fill(
      this.place,
      field("Holds", this.kind, chosen?.help ?? "Say what the file holds."),
      chosen && !isPlain ? this.#roles(chosen, report.mapping ?? {}, names) : null,
      report.format !== "npz" ? this.#counting() : null,
    );
  }

  /** By what lengths are counted in tokens; nothing where no trained model has a tokenizer. */
  #counting() {
    if (this.tokenizers.length === 0) return null;
    const before = this.counter?.value ?? "";
    this.counter = h(
      "select",
      { class: "select", dataset: { testid: "dataset-tokenizer" } },
      h("option", { value: "", text: "(not counted)" }),
      this.tokenizers.map((one) => h("option", { value: one.path, text: one.name, selected: one.path === before })),
    );
    return field("Lengths in tokens", this.counter, "Counted with the tokenizer of a model trained here; says how much a max_length would cut.");
  }

  /** The tokenizer that is chosen; empty for none. */
  get tokenizer() {
    return this.counter?.isConnected ? this.counter.value : "";
  }

  /** @param {Kind} kind @param {Record<string, string>} mapping @param {string[]} names */
  #roles(kind, mapping, names) {
    const needed = neededRoles(kind, mapping);
    return kind.roles.map((role) => {
      const current = names.find((name) => name.trim().toLowerCase() === (mapping[role.name] ?? "").trim().toLowerCase()) ?? "";
      const select = h(
        "select",
        { class: "select", dataset: { role: role.name, testid: `role-${role.name}` } },
        h("option", { value: "", text: "(none)" }),
        names.map((name) => h("option", { value: name, text: name, selected: name === current })),
      );
      return field(role.name, select, role.help, needed.has(role.name) ? "needed" : "");
    });
  }

  /** What is chosen: kind and columns; columns are null while the kind has just been changed. @param {any} report */
  read(report) {
    const kind = this.kinds.find((one) => one.name === this.kind?.value);
    if (!kind || kind.name !== report.kind) return { kind: kind?.name ?? "", columns: null };
    const selects = /** @type {HTMLSelectElement[]} */ ([...this.place.querySelectorAll("select[data-role]")]);
    return { kind: kind.name, columns: mappingOf(kind, Object.fromEntries(selects.map((select) => [select.dataset.role ?? "", select.value]))) };
  }
}

/** @param {string} label @param {HTMLElement} control @param {string} help @param {string} [note] */
function field(label, control, help, note = "") {
  return h(
    "label",
    { class: "field" },
    h("span", { class: "field-label" }, label, note ? h("span", { class: "muted", text: note }) : null),
    control,
    h("span", { class: "field-help muted small", text: help }),
  );
}
