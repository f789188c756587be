// @ts-check
/** "Ask all checkpoints": a job that asks each kept checkpoint its probes, its own or those that people have added. */
import { ApiError, get, post } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";
import { datasetWord } from "../../lib/run_facts.js";
import { AddedProbes } from "./added_probes.js";

/**
 * @typedef {{step: number, result: string, summary?: Record<string, number | null>}} Asked
 * @typedef {{checkpoint: string, probes: string, doing: {detail: string, fraction: number} | null, snapshots: Asked[], words: string | null, trouble: string | null}} Job
 * @typedef {{why_not: string | null, num_checkpoints: number, has_added: boolean, running: boolean, job: Job | null}} Backfill
 */

const LOOK_EVERY_MS = 700;
const RESULTS = { asked: "asked", known: "known already", gone: "gone or damaged", undelivered: "not delivered; ask again" };

/** What became of one checkpoint. Pure. @param {Asked} one */
export function askedWords({ step, result, summary }) {
  const words = RESULTS[/** @type {keyof typeof RESULTS} */ (result)] ?? result;
  const total = summary?.total_examples;
  const right = total ? `: ${formatCount(summary.correct ?? 0)} of ${formatCount(total)} right` : "";
  return `Step ${formatCount(step)}: ${words}${right}`;
}

/** What the job is at, or how it ended. Pure. @param {Job} job */
export function jobWords({ doing, words, trouble }) {
  if (!doing) return trouble ?? words ?? "";
  return `${doing.detail.charAt(0).toUpperCase()}${doing.detail.slice(1)} …`;
}

/** What the button says. Pure. @param {Backfill} found */
export function buttonWords({ num_checkpoints: count }) {
  return count === 1 ? "Ask the checkpoint" : `Ask all ${formatCount(count)} checkpoints`;
}

export class BackfillPanel {
  #place;
  #path;
  #run;
  #timer = /** @type {any} */ (null);
  #words = h("p", { class: "backfill-words", role: "status", dataset: { testid: "backfill-words" } });
  #bar = h("div", { class: "progress", role: "progressbar", "aria-label": "Checkpoints asked", "aria-valuemin": "0", "aria-valuemax": "100" }, h("span"));
  #list = h("ul", { class: "backfill-list small muted", dataset: { testid: "backfill-list" } });
  #error = h("p", { class: "field-error", role: "alert", dataset: { testid: "backfill-error" } });
  #start = h("button", { type: "button", class: "button button-primary", dataset: { testid: "backfill-start" }, onclick: () => void this.#launch() });
  #cancel = h("button", { type: "button", class: "button", text: "Cancel", dataset: { testid: "backfill-cancel" }, onclick: () => void this.#order("snapshots/cancel") });
  #which = h("select", { class: "select", dataset: { testid: "backfill-probes" } },
    h("option", { value: "own", text: "the run's own probes" }), h("option", { value: "added", text: "the added probes" }));
  #link = h("a", { text: "See the answers" });
  #adding;

  /** @param {HTMLElement} place @param {string} path of the run in the API @param {{id: string, dataset: string}} run */
  constructor(place, path, run) {
    this.#place = place;
    this.#path = path;
    this.#run = run;
    this.#adding = new AddedProbes(path, this.#address(true), {
      guarded: (work) => this.#guarded(work),
      changed: async () => {
        this.#which.value = "added";
        this.#update(await get(`${this.#path}/snapshots`));
      },
    });
  }

  async show() {
    const [found] = await Promise.all([get(`${this.#path}/snapshots`), this.#adding.show()]);
    if (!this.#place.childElementCount) this.#draw();
    this.#update(found);
  }

  #draw() {
    fill(this.#place, h("section", { class: "card backfill" },
      h("div", { class: "card-head" }, h("h2", { text: "Ask the checkpoints" })),
      h("div", { class: "card-body" },
        h("p", { class: "muted", text: "What would each kept checkpoint have answered? Their answers join the run's evolution. The training, if it goes on, is not disturbed." }),
        h("div", { class: "backfill-controls" }, h("label", {}, "Ask ", this.#which), this.#start, this.#cancel),
        this.#error, this.#bar, this.#words, this.#list, this.#link, this.#adding.element)));
  }

  /** @param {Backfill} found */
  #update(found) {
    const { job, running, why_not: whyNot } = found;
    this.#start.textContent = buttonWords(found);
    this.#start.hidden = running;
    this.#start.disabled = whyNot !== null;
    this.#cancel.hidden = !running;
    this.#which.disabled = running;
    const added = /** @type {HTMLOptionElement} */ (this.#which.options[1]);
    added.disabled = !found.has_added;
    if (added.disabled) this.#which.value = "own";
    const percent = Math.round(100 * (job?.doing?.fraction ?? 0));
    this.#bar.hidden = !running;
    this.#bar.setAttribute("aria-valuenow", String(percent));
    /** @type {HTMLElement} */ (this.#bar.firstElementChild).style.width = `${percent}%`;
    this.#words.textContent = job ? jobWords(job) : whyNot ?? "";
    fill(this.#list, (job?.snapshots ?? []).map((one) => h("li", { text: askedWords(one) })));
    this.#link.hidden = !job?.snapshots.length;
    this.#link.href = this.#address(job?.probes === "added");
    clearTimeout(this.#timer);
    if (running) this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS);
  }

  /** @param {boolean} isAdded */
  #address(isAdded) {
    const dataset = datasetWord(this.#run.dataset) + (isAdded ? " (added probes)" : "");
    return `/evolution/${encodeURIComponent(dataset)}?run=${encodeURIComponent(this.#run.id)}`;
  }

  async #look() {
    try {
      this.#update(await get(`${this.#path}/snapshots`));
    } catch {
      this.#timer = setTimeout(() => void this.#look(), 5 * LOOK_EVERY_MS); // the server may be back soon
    }
  }

  #launch() {
    return this.#order("snapshots", { checkpoint: "all", probes: this.#which.value });
  }

  /** @param {string} address @param {object} [body] */
  async #order(address, body = {}) {
    await this.#guarded(async () => this.#update(await post(`${this.#path}/${address}`, body)));
  }

  /** @param {() => Promise<void>} work */
  async #guarded(work) {
    this.#error.textContent = "";
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#error.textContent = [error.message, error.hint].filter(Boolean).join(" ");
    }
  }
}
