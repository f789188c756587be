// @ts-check
/** The curves of an example: its loss, and how near the right answer was. */
import { fill, h } from "../../lib/dom.js";
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";
import { LineChart } from "./line_chart.js";
import { probabilityOf } from "./reading.js";
import { linearScale, rankScale, shareScale } from "./scales.js";

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {import("./reading.js").Task} Task
 * @typedef {{key: string, title: string, name: string, help: string, values: (number | null)[], scale: import("./scales.js").Scale, write: (value: number) => string}} Quantity
 */

/** What there is to draw of an example; quantities that nobody reported are left out.  Pure. @param {Point[]} points @param {Task} task @returns {Quantity[]} */
export function quantitiesOf(points, task) {
  const losses = points.map((one) => one.loss);
  const shown = [{ key: "loss", title: "Loss", name: "Loss", help: "", values: losses, scale: linearScale(losses, (value) => formatNumber(value)), write: (/** @type {number} */ value) => formatNumber(value, 3) }, nearness(points, task)];
  return shown.filter(({ values }) => values.some((value) => value !== null));
}

/** @param {Point[]} points @param {Task} task @returns {Quantity} */
function nearness(points, task) {
  if (task === "retrieval") {
    const ranks = points.map((one) => one.rank);
    return { key: "rank", title: "Rank of the right document", name: "Rank", help: "1 is best", values: ranks, scale: rankScale(ranks), write: formatCount };
  }
  const write = (/** @type {number} */ value) => formatPercent(value, value < 0.1 ? 2 : 1);
  if (task === "text") return { key: "similarity", title: "Similarity to the expected answer", name: "Similarity", help: "", values: points.map((one) => one.similarity), scale: shareScale(), write };
  const values = points.map((one) => probabilityOf(one, task));
  if (task === "classification") return { key: "probability", title: "Probability of the right label", name: "Probability", help: "", values, scale: shareScale(), write };
  return { key: "probability", title: "Probability of the expected text", name: "Probability", help: "per token, geometric mean", values, scale: shareScale(), write };
}

export class Curves {
  /** @type {Map<string, {chart: LineChart, card: HTMLElement}>} */
  #charts = new Map();

  /** @param {HTMLElement} root @param {(index: number) => void} choose */
  constructor(root, choose) {
    this.root = root;
    this.choose = choose;
  }

  /** @param {Point[]} points @param {Task} task */
  show(points, task) {
    const quantities = quantitiesOf(points, task);
    if (quantities.length !== this.#charts.size || quantities.some(({ key }) => !this.#charts.has(key))) this.#build(quantities);
    for (const quantity of quantities) this.#charts.get(quantity.key)?.chart.show({ ...quantity, points });
  }

  /** @param {number} index */
  mark(index) {
    for (const { chart } of this.#charts.values()) chart.mark(index);
  }

  /** @param {Quantity[]} quantities */
  #build(quantities) {
    this.#charts = new Map(quantities.map(({ key, title, help }) => {
      const chart = new LineChart({ testid: `chart-${key}`, choose: this.choose });
      const head = h("div", { class: "card-head" }, h("h2", { text: title }), help ? h("span", { class: "small muted", text: help }) : null);
      return [key, { chart, card: h("section", { class: "card" }, head, chart.element) }];
    }));
    fill(this.root, [...this.#charts.values()].map(({ card }) => card));
    this.root.hidden = quantities.length === 0;
  }
}
