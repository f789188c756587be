// @ts-check
import { get, query } from "../lib/api.js";
import { debounce, find, oncePerFrame, setText } from "../lib/dom.js";
import { PushedRuns } from "../lib/pushed_runs.js";
import { inGroup, matchesText } from "../lib/run_facts.js";
import { everySecond, openShell, segments, toastError } from "../lib/shell.js";
import { RunRow } from "./runs/row.js";

/** @typedef {import("../lib/run_facts.js").Run} Run */

const PAGE_SIZE = 100;
const SPARK_POINTS = 80;
const SPARK_BATCH = 40;

const live = openShell();
const body = find("#runs-body", HTMLElement);
/** @type {Map<string, {run: Run, row: RunRow}>} */
const rows = new Map();
const pushed = new PushedRuns();
let [total, group, text] = [0, "all", ""];
let loaded = false;

const show = oncePerFrame(() => {
  const ordered = [...rows.values()].sort((a, b) => b.run.created_at - a.run.created_at);
  let visible = 0;
  for (const [index, { run, row }] of ordered.entries()) {
    const wanted = inGroup(run, group) && matchesText(run, text);
    row.element.hidden = !wanted;
    visible += Number(wanted);
    if (body.children[index] !== row.element) body.insertBefore(row.element, body.children[index] ?? null);
  }
  const any = rows.size > 0;
  find("#filters", HTMLElement).hidden = !any;
  find("#runs-card", HTMLElement).hidden = !any;
  find("#no-runs", HTMLElement).hidden = any || !loaded;
  find("#no-match", HTMLElement).hidden = visible > 0;
  find("#more", HTMLElement).hidden = rows.size >= total;
  setText(find("#run-count"), any ? `${visible === total ? total : `${visible} of ${total}`}` : "");
});

/** @param {Run} run */
function take(run) {
  const known = rows.get(run.id);
  if (known) {
    known.run = run;
    known.row.update(run, live.now());
  } else {
    rows.set(run.id, { run, row: new RunRow(run, live.now()) });
    if (loaded) {
      total += 1;
      void sparklines([run.id]);
    }
  }
  show();
}

/** @param {string[]} ids */
async function sparklines(ids) {
  for (let from = 0; from < ids.length; from += SPARK_BATCH) {
    const some = ids.slice(from, from + SPARK_BATCH);
    const answer = await get(`/api/metrics${query({ runs: some.join(","), name: "train/loss", points: SPARK_POINTS })}`);
    for (const series of answer.series ?? answer.runs ?? []) rows.get(series.run)?.row.spark(series.values);
  }
}

/** @param {number} offset */
async function load(offset) {
  try {
    const asked = pushed.now;
    const answer = await get(`/api/runs${query({ limit: PAGE_SIZE, offset })}`);
    if (offset === 0) forget(answer.runs);
    for (const run of answer.runs) if (!pushed.cameSince(asked, run.id)) take(run);
    total = answer.total ?? rows.size;
    loaded = true;
    show();
    await sparklines(answer.runs.map((/** @type {Run} */ run) => run.id));
  } catch (error) {
    toastError(error);
  }
}

/** Drop rows of the first page that are no longer there. @param {Run[]} present */
function forget(present) {
  const ids = new Set(present.map((run) => run.id));
  const oldest = Math.min(...present.map((run) => run.created_at));
  for (const [id, { run, row }] of rows) {
    if (ids.has(id) || (present.length === PAGE_SIZE && run.created_at < oldest)) continue;
    row.element.remove();
    rows.delete(id);
  }
  loaded = false; // rows that come now are counted by the answer's total
}

live.on("run", (run) => {
  pushed.note(run.id);
  take(run);
});
live.on("deleted", ({ run }) => {
  rows.get(run)?.row.element.remove();
  if (rows.delete(run)) total -= 1;
  show();
});
live.watch("runs", () => void load(0));
everySecond(() => {
  for (const { run, row } of rows.values()) row.tick(run, live.now());
});
segments(find("#filter-state", HTMLElement), "group", (chosen) => {
  group = chosen;
  show();
});
const field = find("#filter-text", HTMLInputElement);
field.addEventListener(
  "input",
  debounce(() => {
    text = field.value.trim();
    show();
  }, 60),
);
find("#load-more", HTMLButtonElement).addEventListener("click", () => void load(rows.size));
// a row is a link as a whole; the name's own link keeps middle-click and the keyboard
body.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest("a, button") || getSelection()?.toString()) return;
  const link = target.closest("tr")?.querySelector("a");
  if (link) location.assign(link.href);
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && !(event.target instanceof HTMLInputElement)) {
    event.preventDefault();
    field.focus();
  }
});
void load(0);
