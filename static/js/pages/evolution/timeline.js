// @ts-check
import { h } from "../../lib/dom.js";
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";

/** The snapshots in a row, each as tall as it was right, beside the best of them; one is chosen. */
export class Timeline {
  /** @type {Map<number, HTMLButtonElement>} */
  #marks = new Map();

  /** @param {HTMLElement} root @param {(step: number) => void} choose */
  constructor(root, choose) {
    this.root = root;
    root.addEventListener("click", (event) => {
      const mark = /** @type {HTMLElement} */ (event.target).closest("button");
      if (mark) choose(Number(mark.dataset.step));
    });
  }

  /** @param {any[]} snapshots by step */
  show(snapshots) {
    const steps = new Set(snapshots.map((one) => one.step));
    for (const [step, mark] of this.#marks) {
      if (steps.has(step)) continue;
      mark.remove();
      this.#marks.delete(step);
    }
    const best = Math.max(0.01, ...snapshots.map((one) => heightOf(one.summary)));
    for (const [index, snapshot] of snapshots.entries()) {
      const mark = this.#marks.get(snapshot.step) ?? this.#add(snapshot.step);
      const { accuracy, avg_loss: loss } = snapshot.summary;
      mark.style.setProperty("--height", `${Math.max(4, (heightOf(snapshot.summary) / best) * 100).toFixed(1)}%`);
      mark.setAttribute("aria-label", `Step ${formatCount(snapshot.step)}, ${formatPercent(accuracy)} correct`);
      mark.title = `Step ${formatCount(snapshot.step)}: ${formatPercent(accuracy)} correct, loss ${formatNumber(loss)}`;
      if (this.root.children[index] !== mark) this.root.insertBefore(mark, this.root.children[index] ?? null);
    }
  }

  /** @param {number} step @param {{reveal: boolean}} how `reveal` scrolls the row, never the page */
  mark(step, { reveal }) {
    for (const [one, mark] of this.#marks) {
      const chosen = one === step;
      mark.setAttribute("aria-selected", String(chosen));
      mark.tabIndex = chosen ? 0 : -1;
      if (!chosen) continue;
      if (this.root.contains(document.activeElement)) mark.focus({ preventScroll: true });
      if (reveal) this.root.scrollLeft = mark.offsetLeft - this.root.clientWidth / 2;
    }
  }

  /** @param {number} step */
  #add(step) {
    const mark = h(
      "button",
      { type: "button", role: "option", class: "timeline-mark", tabindex: -1, dataset: { step: String(step), testid: `snapshot-${step}` } },
      h("span", { class: "timeline-bar" }, h("span")),
      h("span", { class: "timeline-step num", text: shortStep(step) }),
    );
    this.#marks.set(step, mark);
    return mark;
  }
}

/** How right it was: whole answers, or where hardly any is right word for word, the tokens. @param {any} summary */
function heightOf(summary) {
  return Math.max(summary.accuracy ?? 0, summary.token_accuracy ?? 0);
}

/** 1,500 as 1.5k: the row is narrow. @param {number} step */
export function shortStep(step) {
  if (step < 1000) return String(step);
  const thousands = step / 1000;
  return `${Number.isInteger(thousands) ? thousands : thousands.toFixed(1)}k`;
}
