// @ts-check
import { get, query } from "../../lib/api.js";
import { fill, find, h, icon } from "../../lib/dom.js";
import { commandBlock, copyButton, environmentTable } from "../../lib/environment_view.js";
import { formatBytes, formatClock, formatCount, formatNumber } from "../../lib/format.js";
import { together } from "./event_words.js";
import { subjectOf } from "./subject.js";

/** @typedef {import("../../lib/run_facts.js").Run} Run */

/** @param {string} title @param {string} text */
function nothing(title, text) {
  return h("div", { class: "card empty" }, h("h2", { text: title }), h("p", { text }));
}

/** @param {string[]} head @param {(Node | string)[][]} rows @param {string} caption */
function table(head, rows, caption) {
  return h(
    "div",
    { class: "card table-scroll" },
    h(
      "table",
      { class: "table num" },
      h("caption", { class: "visually-hidden", text: caption }),
      h("thead", {}, h("tr", {}, head.map((word) => h("th", { scope: "col", text: word })))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))))),
    ),
  );
}

/** @param {string} title @param {[string, Node | string][]} facts @param {Node | null} [end] */
function factCard(title, facts, end = null) {
  return h(
    "section",
    { class: "card" },
    h("div", { class: "card-head" }, h("h2", { text: title }), end ? h("span", { class: "end" }, end) : null),
    h("dl", { class: "card-body facts" }, facts.flatMap(([word, value]) => [h("dt", { text: word }), h("dd", {}, value)])),
  );
}

/** @param {Run} run */
export function showConfig(run) {
  const params = Object.entries(run.params).map(([name, value]) => /** @type {[string, string]} */ ([name, text(value)]));
  fill(
    find("#panel-config"),
    h(
      "div",
      { class: "two-columns" },
      factCard("Parameters", params, copyButton(() => JSON.stringify(run.params, null, 2), "Copy as JSON")),
      factCard("Run", [
        ["Id", h("code", { text: run.id })],
        ["Recipe", run.recipe],
        ["Dataset", subjectOf(run).hasDataset ? run.dataset : "none"],
        ["Profile", run.profile],
        ["Policy", Object.keys(run.policy).length ? text(run.policy) : "the defaults"],
        ["Tags", run.tags.length ? run.tags.join(", ") : "none"],
        ["Priority", run.priority > 0 ? "high" : run.priority < 0 ? "low" : "normal"],
        ["Created", formatClock(run.created_at)],
        ["Started", formatClock(run.started_at)],
        ["Ended", formatClock(run.ended_at)],
      ]),
    ),
  );
}

/** @param {unknown} value */
function text(value) {
  if (typeof value === "string") return value;
  return typeof value === "number" ? formatNumber(value, 6) : JSON.stringify(value);
}

/** @param {string} path of the run in the API @param {Run} run */
export async function showEnvironment(path, run) {
  if (run.attempt === 0) {
    fill(find("#panel-environment"), nothing("Not started yet", "The command and the environment are set when the run starts."));
    return;
  }
  const { attempt, command, environment } = await get(`${path}/environment`);
  fill(
    find("#panel-environment"),
    h("section", { class: "card" },
      h("div", { class: "card-head" }, h("h2", { text: "Command" }), h("span", { class: "end muted small", text: `attempt ${attempt}` })),
      h("div", { class: "card-body" }, commandBlock(command))),
    h("section", { class: "card" },
      h("div", { class: "card-head" }, h("h2", { text: "Environment" }), h("span", { class: "end muted small", text: "nothing else is passed on" })),
      h("div", { class: "card-body" }, environmentTable(environment))),
  );
}

/** @param {string} path @returns {Promise<any[]>} */
export async function showCheckpoints(path) {
  const { checkpoints } = await get(`${path}/checkpoints`);
  const rows = [...checkpoints].reverse().map((one) => [
    h("span", {}, formatCount(one.step), one.best ? h("span", { class: "best", title: "Best so far" }, icon("star"), "best") : null),
    formatBytes(one.bytes),
    one.reason,
    metricChips(one.metrics),
    h("code", { class: "small", title: one.sha256, text: one.sha256.slice(0, 12) }),
    String(one.attempt),
    formatClock(one.created_at),
  ]);
  fill(
    find("#checkpoint-list"),
    rows.length
      ? table(["Step", "Size", "Why", "Metrics", "SHA-256", "Attempt", "Saved"], rows, "Checkpoints, newest first")
      : nothing("No checkpoint yet", "Checkpoints are saved on schedule, when the run is stopped, and when you ask for one above."),
  );
  return checkpoints;
}

/** @param {Record<string, number | null>} metrics */
function metricChips(metrics) {
  const shown = Object.entries(metrics).slice(0, 4);
  return h("span", { class: "chips" }, shown.map(([name, value]) => h("span", { class: "chip", text: `${name.replace(/^eval\//, "")} ${formatNumber(value)}` })));
}

/** @param {string} path */
export async function showEvents(path) {
  const { events } = await get(`${path}/events${query({ limit: 1000 })}`);
  const rows = together(events).map(({ event, words, count, until }) => [
    h("span", { class: "nowrap", text: formatClock(event.t) }),
    h("span", { class: "chip", text: event.type.replaceAll("_", " ") }),
    event.step === null || event.step === undefined ? "" : formatCount(event.step),
    h("span", {}, words, count > 1 ? h("span", { class: "muted small", text: ` ${formatCount(count)} times, until ${formatClock(until)}` }) : null),
  ]);
  fill(
    find("#panel-events"),
    rows.length ? table(["When", "What", "Step", ""], rows, "Events, newest first") : nothing("Nothing has happened yet", "Phases, checkpoints, snapshots and alerts are listed here."),
  );
}
