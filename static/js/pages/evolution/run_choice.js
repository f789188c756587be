// @ts-check
import { get, query } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";

/** The runs that have snapshots of a dataset: a choice of them, and what is known of the chosen one. */
export class RunChoice {
  /** @type {Record<string, number | null>} newest values of the chosen run's series */
  latest = {};
  /** @type {any[]} launches of the chosen run's trainer */
  attempts = [];
  #run = "";
  #known = "";

  /** @param {HTMLSelectElement} select @param {HTMLElement} tabs @param {string} dataset */
  constructor(select, tabs, dataset) {
    this.select = select;
    this.tabs = tabs;
    this.dataset = dataset;
    /** @type {(run: string) => void} */
    this.onChoose = () => {};
    select.addEventListener("change", () => this.onChoose(select.value));
  }

  /** Offer the runs there are; without them the page still works. */
  async load() {
    const answers = await Promise.all([get("/api/evolution/datasets"), get(`/api/runs${query({ limit: 1000 })}`)]).catch(() => null);
    if (answers === null) return;
    const [{ datasets }, { runs }] = answers;
    const ids = datasets.find((/** @type {any} */ one) => one.name === this.dataset)?.runs ?? [];
    const names = new Map(runs.map((/** @type {any} */ run) => [run.id, run.name]));
    const options = ids.map((/** @type {string} */ id, /** @type {number} */ index) => ({ id, text: `${names.get(id) ?? id}${index === 0 ? " (newest)" : ""}` }));
    const known = JSON.stringify(options);
    if (known === this.#known) return;
    this.#known = known;
    fill(this.select, options.map(({ id, text }) => h("option", { value: id, text })));
    this.select.hidden = ids.length < 1;
    this.select.value = this.#run || ids[0] || "";
  }

  /** The run whose snapshots are shown: fetch what is known of it. @param {string} run */
  async know(run) {
    if (run !== this.#run) [this.latest, this.attempts] = [{}, []];
    this.#run = run;
    this.select.value = run;
    for (const tab of this.tabs.querySelectorAll("a")) tab.search = query({ run });
    const answers = await Promise.all([get(`/api/runs/${run}`), get(`/api/runs/${run}/attempts`)]).catch(() => null);
    if (answers === null || run !== this.#run) return;
    [this.latest, this.attempts] = [answers[0].latest, answers[1].attempts];
  }
}
