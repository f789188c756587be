// @ts-check
import { get, metricPath, query } from "../../lib/api.js";
import { LiveSeries } from "../../lib/series.js";

const REFETCH_PAUSE_MS = 1000;
const inOrder = new Intl.Collator("en", { numeric: true });

/** All series of one run: history from the API, then what is pushed, then exactly what was missed. */
export class SeriesStore {
  /** @type {Map<string, LiveSeries>} */
  #series = new Map();
  /** @type {Map<string, {again: boolean}>} */
  #fetching = new Map();
  /** @type {Map<string, number>} */
  #fetchedAt = new Map();
  /** @type {Set<(name: string) => void>} */
  #listeners = new Set();
  /** @type {Map<string, import("../../lib/series.js").Columns>} */
  #windows = new Map();
  #windowKey = "";
  /** @type {string[]} */
  #names = [];

  /** @param {string} runId @param {() => number} budget points that a chart has pixels for */
  constructor(runId, budget) {
    this.path = `/api/runs/${encodeURIComponent(runId)}/metrics`;
    this.budget = budget;
  }

  /** @param {(name: string) => void} listener called with the name of each series that changed */
  onChange(listener) {
    this.#listeners.add(listener);
  }

  /** All series, recall@5 before recall@10; asked for by every chart at every push, so sorted once. */
  get names() {
    if (this.#names.length !== this.#series.size) this.#names = [...this.#series.keys()].sort(inOrder.compare);
    return this.#names;
  }

  /** Points to draw: the zoomed stretch where one was fetched, followed by what came since. @param {string} name */
  columns(name) {
    const series = this.#series.get(name);
    if (!series) return { steps: [], times: [], values: [] };
    const window = this.#windows.get(name);
    if (!window || window.steps.length === 0) return series.columns;
    return joined(window, series.columns);
  }

  /** Fetch what there is, or what came since the last time. */
  async catchUp() {
    const { metrics } = await get(this.path);
    const names = metrics.map((/** @type {any} */ one) => (typeof one === "string" ? one : one.name));
    await Promise.all(names.map((/** @type {string} */ name) => this.#catchUpOne(name)));
  }

  /** Forget the points and fetch them anew: a further attempt has superseded some. */
  async reload() {
    await Promise.all(this.names.map((name) => this.#fetch(name, { whole: true })));
  }

  /** @param {{series: any[]}} push */
  take({ series }) {
    for (const batch of series) {
      const known = this.#series.get(batch.name);
      const outcome = known && batch.steps ? known.append(batch) : "gap";
      if (outcome === "added") this.#changed(batch.name);
      if (outcome === "gap" || known?.crowded) this.#refetchSoon(batch.name, { whole: !batch.steps || !known || known.crowded });
    }
  }

  /**
   * Fetch a stretch at full detail.
   * @param {string[]} names @param {"step" | "time"} field @param {[number, number] | null} range
   */
  async zoom(names, field, range) {
    const key = range ? `${field}:${range[0]}:${range[1]}` : "";
    if (key !== this.#windowKey) {
      this.#windowKey = key;
      this.#windows.clear();
    }
    if (!range) return;
    const missing = names.filter((name) => !this.#windows.has(name));
    await Promise.all(missing.map(async (name) => {
      const [from, to] = field === "step" ? [Math.floor(range[0]), Math.ceil(range[1])] : range;
      const answer = await get(`${this.path}/${metricPath(name)}${query({ x: field, from, to, points: this.budget() })}`);
      if (this.#windowKey !== key) return;
      this.#windows.set(name, answer);
      this.#changed(name);
    }));
  }

  /** @param {string} name */
  async #catchUpOne(name) {
    await this.#fetch(name, { whole: !this.#series.has(name) });
  }

  /** @param {string} name @param {{whole: boolean}} how */
  #refetchSoon(name, how) {
    if (this.#fetching.has(name)) {
      this.#fetching.set(name, { again: true });
      return;
    }
    const wait = Math.max(0, (this.#fetchedAt.get(name) ?? 0) + REFETCH_PAUSE_MS - performance.now());
    this.#fetching.set(name, { again: false });
    setTimeout(() => {
      this.#fetching.delete(name);
      this.#fetch(name, how).catch(() => {}); // the link is down; the next connect catches up
    }, wait);
  }

  /** @param {string} name @param {{whole: boolean}} how */
  async #fetch(name, { whole }) {
    if (this.#fetching.has(name)) {
      this.#fetching.set(name, { again: true });
      return;
    }
    this.#fetching.set(name, { again: false });
    try {
      const known = this.#series.get(name);
      if (whole || !known) await this.#fetchWhole(name);
      else await this.#fetchMissed(name, known);
      this.#changed(name);
    } finally {
      const again = this.#fetching.get(name)?.again;
      this.#fetching.delete(name);
      this.#fetchedAt.set(name, performance.now());
      if (again) this.#refetchSoon(name, { whole: false });
    }
  }

  /** @param {string} name */
  async #fetchWhole(name) {
    const points = this.budget();
    const answer = await get(`${this.path}/${metricPath(name)}${query({ points })}`);
    const series = this.#series.get(name) ?? new LiveSeries(name, points);
    series.budget = points;
    series.reset(answer);
    this.#series.set(name, series);
  }

  /** @param {string} name @param {LiveSeries} known */
  async #fetchMissed(name, known) {
    const answer = await get(`${this.path}/${metricPath(name)}${query({ after: known.count, points: this.budget() })}`);
    const start = answer.start ?? known.count;
    const whole = !answer.downsampled && start + answer.steps.length === answer.total_points;
    if (!whole || known.append({ ...answer, start }) === "gap" || known.crowded) await this.#fetchWhole(name);
  }

  /** @param {string} name */
  #changed(name) {
    for (const listener of this.#listeners) listener(name);
  }
}

/** @param {import("../../lib/series.js").Columns} window @param {import("../../lib/series.js").Columns} whole */
function joined(window, whole) {
  const [first, last] = [window.steps[0], window.steps[window.steps.length - 1]];
  const before = whole.steps.findIndex((step) => step >= first);
  const after = whole.steps.findIndex((step) => step > last);
  const head = before === -1 ? whole.steps.length : before;
  const tail = after === -1 ? whole.steps.length : after;
  const join = (/** @type {any[]} */ all, /** @type {any[]} */ part) => [...all.slice(0, head), ...part, ...all.slice(tail)];
  return {
    steps: join(whole.steps, window.steps),
    times: join(whole.times, window.times),
    values: join(whole.values, window.values),
  };
}
