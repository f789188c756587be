// @ts-check
/**
 * The examples that match, in their order, fetched a page at a time as they come into sight.
 *
 * A new question replaces the rows at once, when its first answers are there; until then the old
 * ones stay.  An answer to a question that is no longer asked is dropped.
 *
 * @typedef {object} ExampleRow one example over the whole training
 * @property {string} example_id @property {number} index @property {string} input @property {string} expected_output
 * @property {string | null} group @property {string} category @property {number | null} learned_at
 * @property {number} flips @property {number} num_forgotten @property {number | null} [last_forgotten_at]
 * @property {string} right one character per step @property {(number | null)[]} trail loss per step
 *
 * @typedef {object} ExamplePage
 * @property {ExampleRow[]} examples @property {number} total @property {number[]} steps @property {string} run
 * @property {string} task @property {Record<string, number>} counts @property {{name: string, count: number}[]} groups
 */

export const PAGE_ROWS = 100;
const KEPT_PAGES = 60; // rows far from sight are forgotten

export class Listing {
  /** @type {Map<number, ExampleRow[]>} in the order of use */
  #pages = new Map();
  /** @type {Map<number, Promise<void>>} */
  #coming = new Map();
  #question = 0;
  /** @type {(offset: number, limit: number) => Promise<ExamplePage>} */
  #fetch = async () => {
    throw new Error("nothing has been asked");
  };
  /** @type {ExamplePage | null} what is true of all rows */
  facts = null;

  /** @param {() => void} onRows called when rows have come @param {(error: unknown) => void} onError */
  constructor(onRows, onError) {
    this.onRows = onRows;
    this.onError = onError;
  }

  get total() {
    return this.facts?.total ?? 0;
  }

  /**
   * Ask for other rows, or for the same ones again.
   * @param {(offset: number, limit: number) => Promise<ExamplePage>} fetchPage
   * @param {{first: number, last: number}} sight the rows that must be there before any is replaced
   * @returns {Promise<boolean>} false when something else was asked meanwhile
   */
  async ask(fetchPage, { first, last }) {
    const question = ++this.#question;
    const numbers = [];
    for (let number = pageOf(first); number <= pageOf(Math.max(first, last)); number += 1) numbers.push(number);
    let answers = await Promise.all(numbers.map((number) => fetchPage(number * PAGE_ROWS, PAGE_ROWS)));
    if (question !== this.#question) return false;
    const isBeyond = first > 0 && answers[0].examples.length === 0;
    if (isBeyond) {
      // there are fewer rows now: what is in sight is their end
      const end = pageOf(Math.max(0, answers[0].total - 1));
      [numbers.length, numbers[0]] = [1, end];
      answers = [await fetchPage(end * PAGE_ROWS, PAGE_ROWS)];
      if (question !== this.#question) return false;
    }
    this.#fetch = fetchPage;
    this.facts = answers[0];
    this.#coming.clear();
    this.#pages = new Map(numbers.map((number, index) => [number, answers[index].examples]));
    this.onRows();
    return true;
  }

  /** The row at a place of the list; null while it is on its way. @param {number} place */
  at(place) {
    const rows = this.#pages.get(pageOf(place));
    return rows?.[place % PAGE_ROWS] ?? null;
  }

  /** Fetch what is missing of these rows. @param {number} first @param {number} last */
  want(first, last) {
    for (let number = pageOf(first); number <= pageOf(Math.min(last, this.total - 1)); number += 1) {
      const rows = this.#pages.get(number);
      if (rows) {
        this.#pages.delete(number);
        this.#pages.set(number, rows); // used last
      } else if (number >= 0 && !this.#coming.has(number)) {
        this.#coming.set(number, this.#load(number, this.#question));
      }
    }
  }

  /** @param {number} number @param {number} question */
  async #load(number, question) {
    try {
      const { examples } = await this.#fetch(number * PAGE_ROWS, PAGE_ROWS);
      if (question !== this.#question) return;
      this.#pages.set(number, examples);
      for (const oldest of this.#pages.keys()) {
        if (this.#pages.size <= KEPT_PAGES) break;
        this.#pages.delete(oldest);
      }
      this.#coming.delete(number);
      this.onRows();
    } catch (error) {
      if (question !== this.#question) return;
      this.#coming.delete(number);
      this.onError(error);
    }
  }
}

/** @param {number} place */
function pageOf(place) {
  return Math.floor(place / PAGE_ROWS);
}
