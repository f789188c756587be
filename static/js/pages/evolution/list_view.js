// @ts-check
import { get, query } from "../../lib/api.js";
import { listAsked } from "../../lib/evolution_address.js";
import { latestOnly } from "../../lib/latest_only.js";
import { Answers } from "./answers.js";
import { Listing } from "./listing.js";
import { ExampleRowView } from "./row.js";
import { RowWindow } from "./row_window.js";

const FIRST_SIGHT = 19; // rows asked for before anybody knows how many fit

/** @typedef {import("../../lib/evolution_address.js").EvolutionView} EvolutionView */

/** The list of examples: asks for what is in sight, shows it at the chosen step, and is driven by the keyboard. */
export class ListView {
  /** @type {string} what the rows are the answer to */
  #question = "";
  #step = 0;
  #run = "";
  /** @type {import("../../lib/evolution_address.js").ListAsked | null} which examples, in which order */
  #list = null;
  #current = 0;
  #range = { first: 0, last: 0 }; // rows there are: those in sight and a few more

  /**
   * @param {HTMLElement} root
   * @param {{dataset: string, path: string, coveredTop: () => number, onFacts: (facts: import("./listing.js").ExamplePage) => void, onError: (error: unknown) => void}} owner
   */
  constructor(root, owner) {
    this.root = root;
    this.owner = owner;
    this.listing = new Listing(() => this.#onRows(), owner.onError);
    this.answers = new Answers((step, indices) => this.#fetchAnswers(step, indices), owner.onError);
    this.answers.onAnswers = (step) => step === this.#step && this.rows.refresh();
    this.#fill = latestOnly(() => this.#fillOnce());
    this.rows = new RowWindow(root, {
      create: () => new ExampleRowView(),
      show: (row, place) => this.#showRow(row, place),
      onSight: (first, last) => {
        this.#range = { first, last };
        void this.#fill();
      },
      coveredTop: owner.coveredTop,
    });
    root.addEventListener("keydown", (event) => this.#onKey(event));
    root.addEventListener("focusin", (event) => {
      const place = this.rows.placeOf(/** @type {Node} */ (event.target));
      if (place !== -1) this.#setCurrent(place);
    });
  }

  /**
   * Show what a view asks for at a step.  Rows that are there already only change their answers.
   * @param {EvolutionView} view @param {{run: string, step: number}} at
   * @param {{afresh?: boolean, position?: import("./address_bar.js").Position | null}} [how]
   *   `afresh`: the same question may have another answer now; `position`: scroll there once the rows are there
   * @returns {Promise<void>} once the answers in sight are shown
   */
  async show(view, { run, step }, { afresh = false, position = null } = {}) {
    if (run !== this.#run) this.answers.forget();
    [this.#run, this.#step, this.#list] = [run, step, listAsked(view, step)];
    if (afresh) this.#question = "";
    this.#position = position ?? this.#position;
    this.rows.refresh();
    await this.#fill();
  }

  /** Have the answers of another step at hand. @param {number} step */
  prefetch(step) {
    void this.answers.want(step, this.#indices());
  }

  /** Move into the list with the keyboard. */
  enter() {
    this.#focus(Math.max(this.#current, this.rows.sight.first));
  }

  /** @type {import("./address_bar.js").Position | null} */
  #position = null;
  /** @type {() => Promise<void>} */
  #fill;

  async #fillOnce() {
    const fields = this.#fields();
    if (fields === null) return;
    const question = JSON.stringify(fields);
    if (question !== this.#question) await this.#ask(fields, question);
    this.listing.want(this.#range.first, this.#range.last);
    await this.answers.want(this.#step, this.#indices());
  }

  /** @param {Record<string, string | number | null>} fields @param {string} question */
  async #ask(fields, question) {
    const isFirst = this.listing.facts === null;
    const isOther = !isFirst && withoutStep(question) !== withoutStep(this.#question) && this.#question !== "";
    const start = this.#position?.place ?? (isOther ? 0 : this.rows.sight.first);
    const sight = isFirst || isOther ? { first: start, last: start + FIRST_SIGHT } : this.rows.sight;
    this.#question = question;
    try {
      const isCurrent = await this.listing.ask(
        (offset, limit) => get(`${this.owner.path}/examples${query({ ...fields, offset, limit })}`),
        sight,
      );
      if (!isCurrent) return;
    } catch (error) {
      this.#question = "";
      this.owner.onError(error);
      return;
    }
    if (this.#position !== null) this.rows.scrollTo(this.#position.place, this.#position.shift);
    else if (isOther && this.rows.sight.first > 0) this.rows.scrollTo(0); // other rows: from their beginning
    this.#position = null;
  }

  /** What is asked of the server. */
  #fields() {
    return this.#list === null ? null : { run: this.#run, texts: "short", ...this.#list };
  }

  /** @param {number} step @param {number[]} indices */
  async #fetchAnswers(step, indices) {
    const fields = { run: this.#run, rows: indices.join(","), texts: "short" };
    return (await get(`${this.owner.path}/snapshot/${step}${query(fields)}`)).examples;
  }

  /** The examples of the rows there are, by their place among the probes. */
  #indices() {
    const indices = [];
    for (let place = this.#range.first; place <= this.#range.last; place += 1) {
      const example = this.listing.at(place);
      if (example) indices.push(example.index);
    }
    return indices;
  }

  #onRows() {
    if (this.listing.facts) this.owner.onFacts(this.listing.facts);
    this.rows.total = this.listing.total;
    this.rows.refresh();
  }

  /** @param {ExampleRowView} row @param {number} place */
  #showRow(row, place) {
    row.link.tabIndex = place === this.#current ? 0 : -1;
    const example = this.listing.at(place);
    if (example === null) {
      row.wait();
      return;
    }
    const steps = this.listing.facts?.steps ?? [];
    row.show(example, {
      dataset: this.owner.dataset, run: this.#run, step: this.#step, list: this.#list,
      place: steps.indexOf(this.#step), answer: this.answers.at(this.#step, example.index),
    });
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.#focus(this.#current + by);
  }

  /** @param {number} place */
  #focus(place) {
    if (this.listing.total === 0) return;
    this.#setCurrent(Math.min(this.listing.total - 1, Math.max(0, place)));
    this.rows.reveal(this.#current);
    this.rows.at(this.#current)?.link.focus({ preventScroll: true });
  }

  /** @param {number} place */
  #setCurrent(place) {
    const before = this.rows.at(this.#current);
    if (before) before.link.tabIndex = -1;
    this.#current = place;
    const now = this.rows.at(place);
    if (now) now.link.tabIndex = 0;
  }
}

/** @param {string} question */
function withoutStep(question) {
  return question.replace(/"step":(\d+|null)/, "");
}
