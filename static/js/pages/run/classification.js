// @ts-check
/** What a classifier mixes up, evaluation by evaluation: confusion matrix, labels, calibration. */
import { get } from "../../lib/api.js";
import { calibrationWords, matrixOf, mistakesOf, MOST_IN_MATRIX, sortedLabels } from "../../lib/classification.js";
import { debounce, fill, find, h, setText } from "../../lib/dom.js";
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";
import { segments, toastError } from "../../lib/shell.js";

/** @typedef {import("../../lib/classification.js").Evaluation} Evaluation */
/** @typedef {import("../../lib/classification.js").LabelMeasures} LabelMeasures */

const MISTAKES = 8;
/** @type {[keyof LabelMeasures, string][]} */
const COLUMNS = [["name", "Label"], ["support", "Texts"], ["precision", "Precision"], ["recall", "Recall"], ["f1", "F1"]];

/** The section below the charts; hidden for runs without such evaluations. */
export class ClassificationPanel {
  /** @type {number[]} */
  #steps = [];
  /** @type {Evaluation | null} */
  #shown = null;
  #follows = true;
  #asked = 0;
  /** @type {"share" | "count"} */
  #unit = "share";
  /** @type {{column: keyof LabelMeasures, falling: boolean}} */
  #order = { column: "f1", falling: false };

  /** @param {HTMLElement} root @param {string} path of the run in the API */
  constructor(root, path) {
    this.root = root;
    this.path = path;
    this.slider = find("#evaluation-slider", HTMLInputElement);
    this.soon = debounce(() => this.load().catch(toastError), 300);
    this.slider.addEventListener("input", () => this.#go(Number(this.slider.value)));
    find("#evaluation-previous").addEventListener("click", () => this.#go(this.#place() - 1));
    find("#evaluation-next").addEventListener("click", () => this.#go(this.#place() + 1));
    find("#evaluation-latest").addEventListener("click", () => {
      this.#follows = !this.#follows;
      if (this.#follows) this.#show(this.#steps.length - 1);
      this.#drawSteps();
    });
    const press = segments(find("#confusion-unit", HTMLElement), "unit", (unit) => {
      this.#unit = unit === "count" ? "count" : "share";
      if (this.#shown) this.#drawMatrix(this.#shown);
    });
    press(this.#unit);
  }

  /** New points of a metric may mean a new evaluation. @param {{name?: string}} push */
  take(push) {
    if (push.name === "eval/macro_f1") this.soon();
  }

  async load() {
    const { steps } = await get(`${this.path}/evaluations`);
    this.#steps = steps;
    this.root.hidden = steps.length === 0;
    const learning = document.querySelector("#chart-sections .chart-section");
    if (learning && learning.nextElementSibling !== this.root) learning.after(this.root); // beside the curves it explains
    if (steps.length === 0) return;
    const place = this.#follows ? steps.length - 1 : Math.max(0, this.#place());
    this.#drawSteps();
    await this.#load(steps[place]);
  }

  #place() {
    return this.#steps.indexOf(this.#shown?.step ?? -1);
  }

  /** @param {number} place */
  #go(place) {
    if (place < 0 || place >= this.#steps.length) return;
    this.#follows = place === this.#steps.length - 1;
    this.#show(place);
  }

  /** @param {number} place */
  #show(place) {
    setText(find("#evaluation-step"), formatCount(this.#steps[place]));
    this.#load(this.#steps[place]).catch(toastError);
  }

  /** @param {number} step */
  async #load(step) {
    const mine = ++this.#asked;
    const evaluation = await get(`${this.path}/evaluations/${step}`);
    if (mine !== this.#asked) return;
    this.#shown = evaluation;
    this.#drawSteps();
    this.#drawFacts(evaluation);
    this.#drawMatrix(evaluation);
    this.#drawMistakes(evaluation);
    this.#drawCalibration(evaluation);
    this.#drawLabels(evaluation);
  }

  #drawSteps() {
    const place = this.#place();
    this.slider.max = String(Math.max(0, this.#steps.length - 1));
    if (place >= 0) {
      this.slider.value = String(place);
      this.slider.setAttribute("aria-valuetext", `Step ${this.#steps[place]}`);
      setText(find("#evaluation-step"), formatCount(this.#steps[place]));
    }
    find("#evaluation-previous", HTMLButtonElement).disabled = place <= 0;
    find("#evaluation-next", HTMLButtonElement).disabled = place >= this.#steps.length - 1;
    find("#evaluation-latest").setAttribute("aria-pressed", String(this.#follows));
  }

  /** @param {Evaluation} evaluation */
  #drawFacts({ accuracy, macro_f1: f1, ece, loss, chance }) {
    /** @type {[string, string][]} */
    const facts = [["Accuracy", formatPercent(accuracy)], ["Macro-F1", formatPercent(f1)], ["Calibration error", formatPercent(ece)], ["Loss", formatNumber(loss)]];
    if (chance) facts.push(["Guessing the most frequent", formatPercent(chance.majority)]);
    fill(find("#classification-facts"), facts.map(([word, value]) => h("div", {}, h("dt", { text: word }), h("dd", { text: value }))));
  }

  /** @param {Evaluation} evaluation */
  #drawMatrix(evaluation) {
    const rows = matrixOf(evaluation);
    const cut = evaluation.labels.length - rows.length;
    fill(
      find("#confusion"),
      h(
        "table",
        { class: "confusion num" },
        h("caption", { class: "visually-hidden", text: "How often each label (row) was called which (column)" }),
        h("thead", {}, h("tr", {}, h("td", { class: "confusion-corner", text: "truth \\ called" }), rows.map(({ name }) => h("th", { scope: "col", title: name }, h("span", { text: name }))))),
        h("tbody", {}, rows.map(({ name, cells }) => h("tr", {}, h("th", { scope: "row", title: name, text: name }), cells.map((cell) => this.#cell(cell))))),
      ),
      cut > 0 ? h("p", { class: "small muted", text: `The ${MOST_IN_MATRIX} most frequent labels; ${formatCount(cut)} more are in the table below.` }) : null,
    );
  }

  /** @param {{truth: string, prediction: string, right: boolean, count: number, share: number}} cell */
  #cell({ truth, prediction, right, count, share }) {
    const said = this.#unit === "count" ? formatCount(count) : String(Math.round(share * 100));
    const cell = h("td", { class: right ? "cell is-right" : "cell", title: `${truth} called ${prediction}: ${formatCount(count)} (${formatPercent(share)})`, text: count ? said : "" });
    cell.style.setProperty("--share", `${(count ? 8 + share * 92 : 0).toFixed(1)}%`);
    cell.dataset.strong = String(share > 0.55);
    return cell;
  }

  /** @param {Evaluation} evaluation */
  #drawMistakes(evaluation) {
    const mistakes = mistakesOf(evaluation, MISTAKES);
    fill(
      find("#mistakes"),
      mistakes.length === 0
        ? h("li", { class: "muted", text: "None: every held-out text was told right." })
        : mistakes.map(({ truth, prediction, count, share }) =>
            h("li", {}, h("span", { class: "mistake" }, h("strong", { text: truth }), h("span", { class: "muted", text: " called " }), h("strong", { text: prediction })), h("span", { class: "muted", text: `${formatCount(count)} (${formatPercent(share)})` })),
          ),
    );
  }

  /** @param {Evaluation} evaluation */
  #drawCalibration(evaluation) {
    const most = Math.max(1, ...evaluation.bins.map((one) => one.count));
    const bars = evaluation.bins.map((one) => {
      const words = `Confidence ${formatPercent(one.lower, 0)} to ${formatPercent(one.upper, 0)}: ${formatCount(one.count)} texts, right in ${formatPercent(one.accuracy)}, says ${formatPercent(one.confidence)}`;
      const bar = h("li", { class: "bin", title: words, dataset: { empty: String(one.count === 0) } }, h("span", { class: "visually-hidden", text: words }), h("span", { class: "bin-right" }), h("span", { class: "bin-said" }));
      bar.style.setProperty("--right", `${(one.accuracy * 100).toFixed(1)}%`);
      bar.style.setProperty("--said", `${(one.confidence * 100).toFixed(1)}%`);
      bar.style.setProperty("--weight", (0.35 + 0.65 * (one.count / most)).toFixed(2));
      return bar;
    });
    fill(
      find("#calibration"),
      h("p", { class: "small", text: calibrationWords(evaluation) }),
      h("ol", { class: "bins", "aria-label": "Share that is right, by confidence" }, bars),
      h("div", { class: "bins-axis small muted num" }, h("span", { text: "0 %" }), h("span", { text: "confidence" }), h("span", { text: "100 %" })),
      h("p", { class: "small muted", text: "Bar: how often it is right. Line: how sure it is. Pale: few texts." }),
    );
  }

  /** @param {Evaluation} evaluation */
  #drawLabels(evaluation) {
    const { column, falling } = this.#order;
    const head = COLUMNS.map(([key, word]) => {
      const sort = key === column ? (falling ? "descending" : "ascending") : "none";
      return h("th", { scope: "col", "aria-sort": sort }, h("button", { type: "button", class: "sort-button", text: word, onclick: () => this.#sort(key) }));
    });
    const rows = sortedLabels(evaluation.labels, column, falling).map((one) =>
      h("tr", {}, h("th", { scope: "row", text: one.name }), h("td", { text: formatCount(one.support) }), [one.precision, one.recall, one.f1].map(meter)),
    );
    fill(find("#label-measures"), h("table", { class: "table num" }, h("caption", { class: "visually-hidden", text: "Measures of every label" }), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
  }

  /** @param {keyof LabelMeasures} column */
  #sort(column) {
    this.#order = { column, falling: this.#order.column === column ? !this.#order.falling : column !== "name" };
    if (this.#shown) this.#drawLabels(this.#shown);
  }
}

/** @param {number} value */
function meter(value) {
  const cell = h("td", { class: "meter" }, h("span", { class: "meter-bar" }), h("span", { class: "meter-value", text: formatPercent(value) }));
  cell.style.setProperty("--value", `${(value * 100).toFixed(1)}%`);
  return cell;
}
