// @ts-check
/** The probes that people add to a run: which there are, one more, a file of them, one less. */
import { ApiError, get, post, request } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";

/**
 * @typedef {{example_id: string, input: string, expected_output: string, group: string}} Probe
 * @typedef {{probes: Probe[], dataset: string, expects: string, note: string, has_answers: boolean}} Added
 */

/** The objects of JSON lines, or the first line that is none. Pure. @param {string} text @returns {{rows: any[]} | {error: string}} */
export function rowsOf(text) {
  const rows = [];
  for (const [index, line] of text.replace(/^\ufeff/, "").split("\n").entries()) {
    if (!line.trim()) continue;
    try {
      rows.push(JSON.parse(line));
    } catch {
      return { error: `Line ${formatCount(index + 1)} of the file is not JSON: write one object per line.` };
    }
  }
  return rows.length ? { rows } : { error: "There is no probe in this file." };
}

/** How many there are, and what becomes of them. Pure. @param {Added} found */
export function addedWords({ probes, note }) {
  return `${probes.length ? `${formatCount(probes.length)} added so far.` : "None added yet."} ${note}`;
}

export class AddedProbes {
  #path;
  #guarded;
  #changed;
  #input = h("textarea", { class: "input", rows: "2", dataset: { testid: "probe-input" } });
  #expected = h("textarea", { class: "input", rows: "2", dataset: { testid: "probe-expected" } });
  #file = h("input", { type: "file", class: "visually-hidden", accept: ".jsonl,.ndjson", id: "probe-file", dataset: { testid: "probe-file" }, onchange: () => void this.#upload() });
  #words = h("p", { class: "small muted", role: "status", dataset: { testid: "probe-count" } });
  #list = h("ul", { class: "added-probes", "aria-label": "Added probes", dataset: { testid: "probe-list" } });
  #link = h("a", { text: "See what they were answered", dataset: { testid: "probe-answers" } });
  #expects = h("span", { class: "muted small" });

  /**
   * @param {string} path of the run in the API @param {string} address of their evolution
   * @param {{guarded: (work: () => Promise<void>) => Promise<void>, changed: () => Promise<void>}} panel
   */
  constructor(path, address, { guarded, changed }) {
    this.#path = path;
    this.#guarded = guarded;
    this.#changed = changed;
    this.#link.href = address;
    this.element = h("details", { class: "backfill-adding" },
      h("summary", { text: "Add a probe" }),
      h("label", { class: "field" }, "What is asked", this.#input),
      h("label", { class: "field" }, h("span", {}, "What is expected ", this.#expects), this.#expected),
      h("div", { class: "added-probes-buttons" },
        h("button", { type: "button", class: "button button-small", text: "Add", dataset: { testid: "probe-add" }, onclick: () => void this.#add() }),
        this.#file, h("label", { for: "probe-file", class: "button button-small", text: "Add a file of them", title: "JSON lines: input, expected_output, perhaps example_id and group" })),
      this.#words, this.#list, this.#link);
  }

  async show() {
    this.#tell(await get(`${this.#path}/probes`));
  }

  #add() {
    return this.#guarded(async () => {
      this.#tell(await post(`${this.#path}/probes`, [{ input: this.#input.value, expected_output: this.#expected.value }]));
      this.#input.value = this.#expected.value = "";
      await this.#changed();
    });
  }

  #upload() {
    return this.#guarded(async () => {
      const text = await this.#file.files?.[0]?.text();
      this.#file.value = ""; // the same file may be chosen again once it is put right
      if (text === undefined) return;
      const read = rowsOf(text);
      if ("error" in read) throw new ApiError(read.error, { status: 422 });
      this.#tell(await post(`${this.#path}/probes`, read.rows));
      await this.#changed();
    });
  }

  /** @param {Probe} probe */
  #remove(probe) {
    return this.#guarded(async () => {
      this.#tell(await request("DELETE", `${this.#path}/probes/${encodeURIComponent(probe.example_id)}`));
      await this.#changed();
    });
  }

  /** @param {Added} found */
  #tell(found) {
    this.#expects.textContent = `(${found.expects})`;
    this.#words.textContent = addedWords(found);
    this.#link.hidden = !found.has_answers;
    fill(this.#list, found.probes.map((probe) => h("li", {},
      h("span", { class: "added-probe", title: probe.example_id }, h("span", { text: probe.input }), " ", h("span", { class: "muted", text: `expects ${probe.expected_output}` })),
      h("button", { type: "button", class: "button button-small", text: "Remove", "aria-label": `Remove ${probe.example_id}`, dataset: { testid: "probe-remove" }, onclick: () => void this.#remove(probe) }))));
  }
}
