// @ts-check
import { h } from "../../lib/dom.js";
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";

const LABEL_WIDTH = 44; // pixels a step's label needs

/**
 * A slider over the snapshots, equally far apart: each a bar as tall as it was right, beside the
 * best of them.  Pointers click and drag; the keyboard moves it from anywhere on the page.
 */
export class Timeline {
  /** @type {Map<number, HTMLElement>} */
  #marks = new Map();
  /** @type {any[]} */
  #snapshots = [];
  #step = -1;
  #held = false;

  /** @param {HTMLElement} root @param {(step: number) => void} choose */
  constructor(root, choose) {
    this.root = root;
    this.choose = choose;
    root.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.#held = true;
      root.setPointerCapture(event.pointerId);
      this.#chooseAt(event.clientX);
    });
    root.addEventListener("pointermove", (event) => this.#held && this.#chooseAt(event.clientX));
    for (const end of ["pointerup", "pointercancel"]) root.addEventListener(end, () => (this.#held = false));
    new ResizeObserver(() => this.#label()).observe(root);
  }

  /** @param {any[]} snapshots by step */
  show(snapshots) {
    this.#snapshots = snapshots;
    const steps = new Set(snapshots.map((one) => one.step));
    for (const [step, mark] of this.#marks) {
      if (steps.has(step)) continue;
      mark.remove();
      this.#marks.delete(step);
    }
    const best = Math.max(0.01, ...snapshots.map((one) => heightOf(one.summary)));
    for (const [index, snapshot] of snapshots.entries()) {
      const mark = this.#marks.get(snapshot.step) ?? this.#add(snapshot.step);
      mark.style.setProperty("--height", `${Math.max(4, (heightOf(snapshot.summary) / best) * 100).toFixed(1)}%`);
      mark.title = `Step ${formatCount(snapshot.step)}: ${formatPercent(snapshot.summary.accuracy)} correct, loss ${formatNumber(snapshot.summary.avg_loss)}`;
      if (this.root.children[index] !== mark) this.root.insertBefore(mark, this.root.children[index] ?? null);
    }
    this.root.setAttribute("aria-valuemin", "0");
    this.root.setAttribute("aria-valuemax", String(Math.max(0, snapshots.length - 1)));
    this.#label();
  }

  /** @param {number} step */
  mark(step) {
    this.#marks.get(this.#step)?.removeAttribute("data-chosen");
    this.#step = step;
    const index = this.#snapshots.findIndex((one) => one.step === step);
    if (index === -1) return;
    this.#marks.get(step)?.setAttribute("data-chosen", "true");
    this.root.setAttribute("aria-valuenow", String(index));
    this.root.setAttribute("aria-valuetext", spoken(this.#snapshots[index]));
  }

  /** @param {number} clientX */
  #chooseAt(clientX) {
    const first = this.root.firstElementChild?.getBoundingClientRect();
    const last = this.root.lastElementChild?.getBoundingClientRect();
    if (!first || !last) return;
    const share = (clientX - first.left) / Math.max(1, last.right - first.left);
    const index = Math.min(this.#snapshots.length - 1, Math.max(0, Math.floor(share * this.#snapshots.length)));
    this.choose(this.#snapshots[index].step);
  }

  /** Of many snapshots only as many are labelled as there is room for, the newest among them. */
  #label() {
    const count = this.#snapshots.length;
    if (count === 0) return;
    this.root.style.setProperty("--gap", count > 120 ? "0px" : count > 60 ? "1px" : "2px");
    const every = Math.max(1, Math.ceil((count * LABEL_WIDTH) / Math.max(1, this.root.clientWidth)));
    for (const [index, { step }] of this.#snapshots.entries()) {
      const isShown = (count - 1 - index) % every === 0;
      this.#marks.get(step)?.toggleAttribute("data-labelled", isShown);
    }
  }

  /** @param {number} step */
  #add(step) {
    const mark = h(
      "span",
      { class: "timeline-mark", dataset: { step: String(step), testid: `snapshot-${step}` } },
      h("span", { class: "timeline-bar" }),
      h("span", { class: "timeline-step num", text: shortStep(step) }),
    );
    this.#marks.set(step, mark);
    return mark;
  }
}

/** What a screen reader says of a snapshot.  Pure. @param {any} snapshot */
export function spoken({ step, summary }) {
  return `step ${formatCount(step)}, ${formatPercent(summary.accuracy, 0)} correct`;
}

/** How right it was: whole answers, or where hardly any is right word for word, the tokens. @param {any} summary */
function heightOf(summary) {
  return Math.max(summary.accuracy ?? 0, summary.token_accuracy ?? 0);
}

/** 1,500 as 1.5k: the row is narrow. @param {number} step */
export function shortStep(step) {
  if (step < 1000) return String(step);
  const [size, unit] = step < 1e6 ? [step / 1000, "k"] : step < 1e9 ? [step / 1e6, "M"] : [step / 1e9, "G"];
  return `${Number.isInteger(size) ? size : size.toFixed(1)}${unit}`;
}
