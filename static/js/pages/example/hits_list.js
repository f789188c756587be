// @ts-check
import { fill, h, icon } from "../../lib/dom.js";
import { formatCount, formatNumber } from "../../lib/format.js";
import { exchange } from "./bump_lines.js";
import { visible } from "../../lib/long_text.js";

const SHORT = 160;

/**
 * @typedef {import("./reading.js").Point} Point
 * @typedef {import("./reading.js").Hit} Hit
 */

/** The documents of the chosen snapshot, best first, with what entered, left, climbed and fell. @param {Point[]} points @param {number} index @param {(id: string | null) => void} light */
export function hitsList(points, index, light) {
  const { top, rank } = points[index];
  const { entered, left, climbed } = exchange(points, index);
  const isFound = top?.some((hit) => hit.gold) ?? false;
  return [
    h("ol", { class: "ranked", dataset: { testid: "ranked" } }, (top ?? []).map((hit, row) => rowOf(hit, row + 1, entered.has(hit.id) ? "new" : climbed.get(hit.id) ?? null, light))),
    isFound ? null : h("p", { class: "small muted", text: rank === null ? "The right document was not found." : `The right document is at rank ${formatCount(rank)}.` }),
    left.length === 0 ? null : h("p", { class: "small muted ranked-left", dataset: { testid: "left" } }, `Left since step ${formatCount(points[index - 1].step)}: `, left.map((hit, number) => [number > 0 ? " · " : "", h("bdi", { text: short(hit.title) })]).flat()),
  ];
}

/** @param {Hit} hit @param {number} place @param {number | "new" | null} move @param {(id: string | null) => void} light */
function rowOf(hit, place, move, light) {
  const row = h(
    "li",
    { class: "ranked-row", tabindex: 0, dataset: { gold: String(hit.gold), testid: hit.gold ? "ranked-gold" : "ranked-hit" } },
    h("span", { class: "ranked-place num muted", text: place }),
    h("bdi", { class: "ranked-title", text: short(hit.title), title: visible(hit.title.slice(0, 2000)) }),
    hit.gold ? h("span", { class: "gold" }, icon("star"), "right") : null,
    moveMark(move),
    h("span", { class: "ranked-score num muted", text: hit.score === null ? "–" : hit.score.toFixed(3) }),
  );
  for (const [event, id] of /** @type {[string, string | null][]} */ ([["pointerenter", hit.id], ["pointerleave", null], ["focus", hit.id], ["blur", null]])) {
    row.addEventListener(event, () => light(id));
  }
  return row;
}

/** @param {number | "new" | null} move */
function moveMark(move) {
  if (move === "new") return h("span", { class: "move", dataset: { move: "new" }, text: "new" });
  if (move === null || move === 0) return null;
  const up = move > 0;
  return h("span", { class: "move num", dataset: { move: up ? "up" : "down" } }, h("span", { "aria-hidden": "true", text: up ? "▲" : "▼" }), h("span", { class: "visually-hidden", text: up ? "up by " : "down by " }), Math.abs(move));
}

/** @param {string} title */
function short(title) {
  return visible(title.length > SHORT ? `${Array.from(title.slice(0, SHORT)).slice(0, -1).join("")}…` : title);
}

/** All lists as a table, made when it is opened. @param {() => Point[]} points */
export function hitsTable(points) {
  const place = h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "The first documents at every snapshot" });
  const details = h("details", { class: "as-table", dataset: { testid: "bump-table" } }, h("summary", { text: "As a table" }), place);
  const draw = () => details.open && fill(place, tableOf(points()));
  details.addEventListener("toggle", draw);
  return { element: details, draw };
}

/** @param {Point[]} points */
function tableOf(points) {
  const depth = points.reduce((most, point) => Math.max(most, point.top?.length ?? 0), 0);
  const places = Array.from({ length: depth }, (_, index) => index);
  return h(
    "table",
    { class: "table small" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col", text: "Step" }), h("th", { scope: "col", text: "Right one" }), places.map((place) => h("th", { scope: "col", text: `Place ${place + 1}` })))),
    h("tbody", {}, points.map(({ step, rank, top }) =>
      h("tr", {}, h("th", { scope: "row", class: "num", text: formatCount(step) }), h("td", { class: "num", text: rank === null ? "–" : `rank ${formatCount(rank)}` }), places.map((place) => cellOf(top?.[place]))))),
  );
}

/** @param {Hit | undefined} hit */
function cellOf(hit) {
  if (!hit) return h("td", { text: "–" });
  return h("td", { class: "hit-cell", dataset: { gold: String(hit.gold) } }, hit.gold ? "★ " : "", h("bdi", { text: short(hit.title) }), " ", h("span", { class: "muted num", text: formatNumber(hit.score, 3) }));
}
