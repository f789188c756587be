// @ts-check
import { h } from "../../lib/dom.js";
import { formatCount, formatNumber, formatPercent } from "../../lib/format.js";

const UNITS = ["characters", "words", "tokens"];
const SHOWN_LABELS = 12;

/** @param {string} title @param {...any} content */
function part(title, ...content) {
  return h("section", { class: "report-part" }, h("h3", { text: title }), ...content);
}

/** @param {string[]} head @param {(string | Node)[][]} rows @param {string} caption */
export function plainTable(head, rows, caption) {
  return h(
    "div",
    { class: "table-scroll" },
    h(
      "table",
      { class: "table num" },
      h("caption", { class: "visually-hidden", text: caption }),
      h("thead", {}, h("tr", {}, head.map((word) => h("th", { scope: "col", text: word })))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))))),
    ),
  );
}

/** The first rows, a column per role. @param {any[]} preview */
export function previewTable(preview) {
  if (!preview?.length) return null;
  const roles = Object.keys(preview[0].cells);
  const rows = preview.map((row) => [String(row.line), ...roles.map((role) => h("div", { class: "cell-text", text: row.cells[role] ?? "" }))]);
  return part("First rows", plainTable(["Line", ...roles], rows, "The first rows by role"));
}

/** Lengths per role and unit. @param {Record<string, any>} lengths */
function lengthTable(lengths) {
  const rows = Object.entries(lengths ?? {}).flatMap(([role, units]) =>
    UNITS.filter((unit) => units[unit]).map((unit) => [
      role, unit, ...["mean", "p50", "p95", "p99", "max"].map((name) => formatNumber(units[unit][name])),
    ]),
  );
  return rows.length ? part("Lengths", plainTable(["Role", "In", "Mean", "p50", "p95", "p99", "Max"], rows, "Lengths by role")) : null;
}

/** @param {number} count @param {string} one what a single row does @param {string} many what several do */
function rowsThat(count, one, many) {
  return count === 1 ? `1 row ${one}` : `${formatCount(count)} rows ${many}`;
}

/** `lines 2 and 9, 3 and 10, …`. @param {number} count @param {number[][]} lines */
function places(count, lines) {
  const shown = lines.slice(0, 2).map(([first, second]) => `${first} and ${second}`);
  return `(lines ${shown.join(", ")}${count > shown.length ? ", …" : ""})`;
}

/** What stands out in the rows, in words; empty for nothing. @param {any} statistics @returns {string[]} */
export function remarks(statistics) {
  const found = [];
  for (const [role, { count, lines }] of Object.entries(statistics?.empty ?? {})) {
    if (count) found.push(`${rowsThat(count, "has", "have")} no ${role} (line ${lines.join(", ")}${count > lines.length ? ", …" : ""}).`);
  }
  const repeats = statistics?.duplicates ?? {};
  for (const [role, { count, lines }] of Object.entries(repeats)) {
    if (!count || (role !== "row" && count === repeats.row?.count)) continue;
    const what = `an earlier ${role}`;
    found.push(`${rowsThat(count, `repeats ${what}`, `repeat ${what}`)} ${places(count, lines)}.`);
  }
  const { count, lines } = statistics?.labels?.contradictions ?? { count: 0, lines: [] };
  if (count) found.push(`${rowsThat(count, "has", "have")} the text of an earlier row and another label ${places(count, lines)}.`);
  return found;
}

/** @param {any} labels @param {number} rows */
function labelBars(labels, rows) {
  if (!labels) return null;
  const most = labels.most.slice(0, SHOWN_LABELS);
  const bars = most.map((/** @type {{label: string, count: number}} */ one) => {
    const bar = h("span", { class: "label-bar" }, h("span"));
    bar.style.setProperty("--share", `${((one.count / most[0].count) * 100).toFixed(1)}%`);
    return h("li", {}, h("span", { class: "label-name", text: one.label || "(empty)" }), bar, h("span", { class: "num", text: `${formatCount(one.count)} (${formatPercent(one.count / Math.max(1, rows))})` }));
  });
  const rest = labels.count - most.length;
  return part(`${formatCount(labels.count)} labels`, h("ul", { class: "labels" }, bars), rest > 0 ? h("p", { class: "muted small", text: `and ${formatCount(rest)} more` }) : null);
}

/** @param {any[]} columns */
function columnTable(columns) {
  const rows = (columns ?? []).map((column) => [
    column.name || h("span", { class: "muted", text: "(no name)" }),
    column.type,
    formatPercent(column.filled_share),
    h("div", { class: "cell-text", text: (column.examples ?? []).join(" · ") }),
  ]);
  return rows.length ? h("details", { class: "advanced" }, h("summary", { text: `All columns (${rows.length})` }), plainTable(["Column", "Type", "Filled", "Examples"], rows, "Columns of the file")) : null;
}

/** Everything that was found in a file. @param {any} facts an inspection, or the facts of a version */
export function reportView(facts) {
  const { statistics } = facts;
  const said = remarks(statistics);
  const shape = statistics?.vectors ? [`Queries ${statistics.vectors.query.join(" × ")}, documents ${statistics.vectors.document.join(" × ")}.`] : [];
  return h(
    "div",
    { class: "report" },
    said.length || shape.length ? part("To know", h("ul", { class: "remarks", dataset: { testid: "dataset-remarks" } }, [...shape, ...said].map((text) => h("li", { text })))) : null,
    labelBars(statistics?.labels, statistics?.rows ?? 0),
    lengthTable(statistics?.lengths),
    previewTable(facts.preview),
    columnTable(facts.columns),
  );
}
