// @ts-check
/** Every launch of a run's trainer: how far it came, how it ended, and what was changed for it. */
import { get } from "../../lib/api.js";
import { fill, find, h, setText } from "../../lib/dom.js";
import { commandBlock, environmentTable } from "../../lib/environment_view.js";
import { formatClock, formatCount, formatDuration, formatExit, formatNumber } from "../../lib/format.js";
import { rungTone, toneBadge } from "../../lib/rungs.js";
import { toastError } from "../../lib/shell.js";

/**
 * @typedef {import("../../lib/run_facts.js").Run} Run
 * @typedef {import("../../lib/rungs.js").Rung & {reason?: string, attempt?: number, changes?: Record<string, [unknown, unknown]>}} TakenRung
 * @typedef {object} Attempt of GET /api/runs/ID/attempts
 * @property {number} attempt @property {number} from_step @property {number | null} [reached_step]
 * @property {number | null} pid @property {number} started_at @property {number | null} ended_at
 * @property {number | null} exit_code @property {number | null} exit_signal @property {string | null} [ended_reason]
 * @property {{rungs?: TakenRung[], because?: {cause?: string} | null} | null} [plan]
 * @typedef {{id: string, attempt: number, cause: string}} Finding
 */

/** How an attempt ended or that it runs, in words. Pure. @param {Attempt} one */
export function endOf(one) {
  if (one.ended_at === null) return "running";
  return formatExit(one.exit_code, one.exit_signal) || "unknown";
}

/** The step an attempt came to: its own report, or the run's while it is the newest; null where nobody knows.
 * Pure. @param {Attempt} one @param {Run} run */
export function reachedBy(one, run) {
  if (one.reached_step !== null && one.reached_step !== undefined) return one.reached_step;
  return one.attempt === run.attempt ? run.step : null;
}

/** What a rung has changed: name, before, after; `not set` for what was not there. Pure. @param {TakenRung} rung */
export function changesOf(rung) {
  return Object.entries(rung.changes ?? {}).map(([name, [before, after]]) => ({ name, before: word(before), after: word(after) }));
}

/** @param {unknown} value */
function word(value) {
  if (value === null || value === undefined) return "not set";
  if (value === "") return "empty";
  if (typeof value === "number") return formatNumber(value, 6);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** @param {[string, Node | string][]} facts */
function factList(facts) {
  return h("dl", { class: "attempt-facts num" }, facts.map(([term, value]) => h("div", {}, h("dt", { text: term }), h("dd", {}, value))));
}

/** @param {TakenRung} rung @param {number} attempt */
function rungItem(rung, attempt) {
  const since = rung.attempt === undefined || rung.attempt === attempt ? "new in this attempt" : `since attempt ${rung.attempt}`;
  return h(
    "li",
    { dataset: { testid: "rung", rung: rung.rung } },
    h("div", { class: "rung-head" }, rung.title, toneBadge(rungTone(rung)), h("span", { class: "muted small", text: since })),
    rung.reason ? h("p", { class: "muted small", text: `Because ${rung.reason}` }) : null,
    changesOf(rung).map(({ name, before, after }) =>
      h("div", { class: "change" }, h("code", { text: name }), h("span", { class: "before", text: before }), "→", h("span", { text: after })),
    ),
  );
}

/** @param {string} path of the run in the API @param {number} attempt @param {boolean} open */
function environmentDetails(path, attempt, open) {
  const place = h("div", {}, h("p", { class: "muted", text: "Loading…" }));
  const details = h("details", { dataset: { attempt: String(attempt), testid: "attempt-environment" } }, h("summary", { text: "Command and environment of this attempt" }), place);
  let loaded = false;
  details.addEventListener("toggle", () => {
    if (!details.open || loaded) return;
    loaded = true;
    get(`${path}/environment?attempt=${attempt}`)
      .then(({ command, environment }) => fill(place, commandBlock(command), environmentTable(environment)))
      .catch((error) => {
        loaded = false;
        toastError(error);
      });
  });
  details.open = open;
  return details;
}

/** @param {Attempt} one @param {Run} run @param {Finding | undefined} finding @param {Node} environment */
function card(one, run, finding, environment) {
  const rungs = one.plan?.rungs ?? [];
  const runs = one.ended_at === null;
  const reached = reachedBy(one, run);
  return h(
    "section",
    { class: "card attempt", dataset: { testid: "attempt", attempt: String(one.attempt), runs: String(runs) } },
    h("div", { class: "card-head" }, h("h2", { text: `Attempt ${one.attempt}` }), h("span", { class: "end chip", text: endOf(one) })),
    h(
      "div",
      { class: "card-body" },
      factList([
        ["From step", formatCount(one.from_step)],
        ["Came to step", h("span", { dataset: { live: "reached" }, text: reached === null ? "–" : formatCount(reached) })],
        ["Took", h("span", { dataset: { live: "took" }, text: runs ? "–" : formatDuration((one.ended_at ?? 0) - one.started_at) })],
        ["Started", formatClock(one.started_at)],
        ["Process", one.pid === null ? "–" : String(one.pid)],
      ]),
      one.ended_reason ? h("p", { text: one.ended_reason }) : null,
      finding ? h("p", { dataset: { testid: "attempt-finding" } }, h("strong", {}, "Why: "), finding.cause, " ", h("span", { class: "muted small", text: `(${finding.id})` })) : null,
      rungs.length
        ? h("div", {}, h("h3", { text: "Changed for this attempt" }), h("ul", { class: "rung-list" }, rungs.map((rung) => rungItem(rung, one.attempt))))
        : h("p", { class: "muted small", text: "Launched as the run asks for; nothing was changed for it." }),
      environment,
    ),
  );
}

/**
 * Draw the attempts, newest first; what a reader has opened stays open.
 * @param {string} path of the run in the API @param {Run} run @param {Promise<{findings: Finding[]}>} told
 * @returns {Promise<Attempt[]>}
 */
export async function showAttempts(path, run, told) {
  const [{ attempts }, { findings }] = await Promise.all([get(`${path}/attempts`), told]);
  const root = find("#panel-attempts", HTMLElement);
  const shown = JSON.stringify([attempts, findings.map((/** @type {Finding} */ one) => [one.id, one.attempt])]);
  if (root.dataset.shown !== shown) {
    root.dataset.shown = shown;
    const open = new Set([...root.querySelectorAll("details[open]")].map((one) => /** @type {HTMLElement} */ (one).dataset.attempt));
    const newest = [...attempts].reverse();
    fill(
      root,
      newest.length
        ? newest.map((one) =>
            card(one, run, findings.find((/** @type {Finding} */ finding) => finding.attempt === one.attempt), environmentDetails(path, one.attempt, open.has(String(one.attempt)))),
          )
        : h("div", { class: "card empty" }, h("h2", { text: "Not started yet" }), h("p", { text: "Every launch of this run's trainer is listed here." })),
    );
  }
  return attempts;
}

/** What moves while an attempt runs. @param {Attempt[]} attempts @param {Run} run @param {number} now Unix seconds */
export function tickAttempts(attempts, run, now) {
  const one = attempts.at(-1);
  if (!one || one.ended_at !== null || one.attempt !== run.attempt) return;
  const root = document.querySelector(`#panel-attempts [data-attempt="${one.attempt}"]`);
  setText(root?.querySelector('[data-live="reached"]') ?? null, formatCount(run.step));
  setText(root?.querySelector('[data-live="took"]') ?? null, formatDuration(now - one.started_at));
}
