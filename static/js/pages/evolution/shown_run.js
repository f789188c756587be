// @ts-check
import { get } from "../../lib/api.js";
import { carryRun, fillRuns, runsOf } from "../../lib/run_choice.js";

/** The run whose snapshots are shown: the choice of another one, and what is known of it. */
export class ShownRun {
  /** @type {Record<string, number | null>} newest values of its series */
  latest = {};
  /** @type {any[]} launches of its trainer */
  attempts = [];
  #run = "";
  #known = "";

  /** @param {HTMLSelectElement} select @param {string} dataset */
  constructor(select, dataset) {
    this.select = select;
    this.dataset = dataset;
    /** @type {(run: string) => void} */
    this.onChoose = () => {};
    select.addEventListener("change", () => this.onChoose(select.value));
  }

  /** Offer the runs there are; without them the page still works. */
  async load() {
    const runs = await runsOf(this.dataset).catch(() => null);
    const known = JSON.stringify(runs);
    if (runs === null || known === this.#known) return; // an open choice is left alone
    this.#known = known;
    fillRuns(this.select, runs, this.#run || null);
  }

  /** Fetch what is known of a run, which is shown from now on. @param {string} run */
  async know(run) {
    if (run !== this.#run) [this.latest, this.attempts] = [{}, []];
    this.#run = run;
    this.select.value = run;
    carryRun(run);
    const answers = await Promise.all([get(`/api/runs/${run}`), get(`/api/runs/${run}/attempts`)]).catch(() => null);
    if (answers === null || run !== this.#run) return;
    [this.latest, this.attempts] = [answers[0].latest, answers[1].attempts];
  }
}
