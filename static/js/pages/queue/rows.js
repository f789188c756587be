// @ts-check
import { h, icon, setText } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";
import { datasetWord } from "../../lib/run_facts.js";
import { stateBadge } from "../../lib/states.js";
import { PRIORITIES, endWords, leftWords, startWords } from "./order.js";

/** @typedef {import("./order.js").Waiting} Waiting */
/** @typedef {import("../../lib/run_facts.js").Run} Run */

/** @param {Run} run */
function name(run) {
  return h(
    "div",
    { class: "queue-name" },
    h("a", { href: `/runs/${encodeURIComponent(run.id)}`, text: run.name }),
    h("div", { class: "muted small", text: `${run.recipe} · ${datasetWord(run.dataset)}` }),
  );
}

/** @param {Run} run */
function stepWords(run) {
  return `step ${formatCount(run.step)}${run.total_steps ? ` / ${formatCount(run.total_steps)}` : ""}`;
}

/** @param {string} word @param {string} iconName @param {string} action @param {Record<string, any>} [props] */
function iconButton(word, iconName, action, props = {}) {
  return h("button", { type: "button", class: "button button-quiet button-icon", title: word, "aria-label": word, dataset: { action }, ...props }, icon(iconName));
}

/**
 * An active run with what is left of it, and the button that makes room.
 * @param {any} one @param {string | null} next name of the run that would start @param {number} now
 */
export function activeRow(one, next, now) {
  const { run } = one;
  return h(
    "li",
    { class: "queue-row", dataset: { run: run.id, testid: "active-row" } },
    h("span", { class: "queue-state" }, stateBadge(run.state, { paused: run.phase === "paused" })),
    name(run),
    h("div", { class: "queue-when num small" }, h("div", { dataset: { when: "left" }, title: one.basis, text: leftWords(one, now) }), h("div", { class: "muted", dataset: { when: "step" }, text: stepWords(run) })),
    h(
      "div",
      { class: "queue-actions" },
      next && run.state !== "stopping"
        ? h("button", { type: "button", class: "button button-small", dataset: { action: "skip", testid: "skip" }, title: `Save a checkpoint, end it, and start “${next}”` }, icon("right"), "Skip to next")
        : null,
    ),
  );
}

/** @param {Waiting} one @param {number} count @param {number} now */
export function waitingRow(one, count, now) {
  const { run, position } = one;
  const choice = h(
    "select",
    { class: "select queue-priority", "aria-label": `Priority of ${run.name}`, dataset: { action: "priority", testid: "queue-priority" } },
    PRIORITIES.map((word) => h("option", { value: word, text: word.charAt(0).toUpperCase() + word.slice(1), selected: word === one.priority })),
  );
  return h(
    "li",
    { class: "queue-row", dataset: { run: run.id, priority: one.priority, testid: "waiting-row" } },
    h("button", { type: "button", class: "queue-handle", draggable: "true", title: "Drag, or press the arrow keys", "aria-label": `Move ${run.name}, place ${position} of ${count}`, dataset: { action: "handle" } }, h("span", { class: "num", text: String(position) }), h("span", { class: "grip", "aria-hidden": "true" })),
    name(run),
    h(
      "div",
      { class: "queue-when num small", title: one.basis },
      h("div", { dataset: { when: "start" }, text: startWords(one, now) }),
      h("div", { class: "muted", dataset: { when: "end" }, text: endWords(one, now) }),
    ),
    h(
      "div",
      { class: "queue-actions" },
      choice,
      iconButton(`Move ${run.name} up`, "up", "up", { disabled: position === 1 }),
      iconButton(`Move ${run.name} down`, "down", "down", { disabled: position === count }),
      iconButton(`Take ${run.name} out of the queue`, "cross", "remove"),
    ),
  );
}

/** Let the times move with the clock, without redrawing. @param {Element} list @param {any[]} entries @param {number} now */
export function tickRows(list, entries, now) {
  for (const one of entries) {
    const row = list.querySelector(`[data-run="${CSS.escape(one.run.id)}"]`);
    if (!row) continue;
    setText(row.querySelector('[data-when="step"]'), stepWords(one.run));
    setText(row.querySelector('[data-when="left"]'), "basis" in one && "seconds_left" in one ? leftWords(one, now) : "");
    setText(row.querySelector('[data-when="start"]'), "position" in one ? startWords(one, now) : "");
    setText(row.querySelector('[data-when="end"]'), "position" in one ? endWords(one, now) : "");
  }
}
