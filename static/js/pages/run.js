// @ts-check
import { get } from "../lib/api.js";
import { debounce, fill, find, pageJson, setText } from "../lib/dom.js";
import { PushedRuns } from "../lib/pushed_runs.js";
import { everySecond, openShell, toast, toastError } from "../lib/shell.js";
import { tabs } from "../lib/tabs.js";
import { showAttempts, tickAttempts } from "./run/attempts.js";
import { findingCard } from "./run/finding_card.js";
import { AlertsPanel } from "./run/alerts_panel.js";
import { AskPanel } from "./run/ask_panel.js";
import { BackfillPanel } from "./run/backfill_panel.js";
import { ClassificationPanel } from "./run/classification.js";
import { ChartsPanel } from "./run/charts_panel.js";
import { showExport } from "./run/export_panel.js";
import { GatesPanel } from "./run/gates_panel.js";
import { Header } from "./run/header.js";
import { showDataset } from "./run/dataset_panel.js";
import { LogPanel } from "./run/log_panel.js";
import { SeriesStore } from "./run/series_store.js";
import { showStall } from "./run/stall.js";
import { showCheckpoints, showConfig, showEnvironment, showEvents } from "./run/tables.js";

/** @typedef {import("../lib/run_facts.js").Run} Run */

/** @type {Run} */
let run = pageJson("run-json");
const path = `/api/runs/${encodeURIComponent(run.id)}`;
const live = openShell();
const store = new SeriesStore(run.id, () => Math.round(Math.min(2000, Math.max(400, find("#main").clientWidth))));
const pushed = new PushedRuns();
const header = new Header(run, () => live.now(), takeAnswer);
const log = new LogPanel(run.id);
const charts = new ChartsPanel(pageJson("charts-json"), store, originOf(run));
const alerts = new AlertsPanel(path, () => live.now(), () => setMarks());
const asking = new AskPanel(find("#panel-ask", HTMLElement), path);
const backfill = new BackfillPanel(find("#backfill", HTMLElement), path, run);
const classification = new ClassificationPanel(find("#classification", HTMLElement), path);
const gates = new GatesPanel(path);
let tab = "charts";
/** @type {{checkpoints: any[], attempts: any[], findings: any[]}} */
const known = { checkpoints: [], attempts: [], findings: [] };

/** @param {Run} one */
function originOf(one) {
  return one.started_at ?? one.created_at;
}

/** @param {Run} fresh */
function take(fresh) {
  if (fresh.id !== run.id) return;
  const restarted = fresh.attempt !== run.attempt;
  run = fresh;
  header.update(run);
  log.setAttempts(run.attempt);
  charts.setOrigin(originOf(run));
  if (tab === "config") openConfig();
  showFinding();
  alerts.runChanged(run);
  if (restarted) void reloadLists();
}

/** @param {Promise<Run>} answer */
async function takeAnswer(answer) {
  const asked = pushed.now;
  const fresh = await answer;
  if (!pushed.cameSince(asked, fresh.id)) take(fresh);
}

function openConfig() {
  showConfig(run);
  showDataset(path, run);
}

function setMarks() {
  const starts = known.attempts
    .filter((one) => one.attempt > 1)
    .map((one) => ({ kind: /** @type {const} */ ("attempt"), step: one.from_step, time: one.started_at, label: `attempt ${one.attempt}, from step ${one.from_step}` }));
  const saved = known.checkpoints.map((one) => ({
    kind: one.best ? /** @type {const} */ ("best") : /** @type {const} */ ("checkpoint"),
    step: one.step, time: one.created_at, label: `checkpoint ${one.step}`,
  }));
  charts.setMarks([...saved, ...starts, ...alerts.marks]);
  setText(document.querySelector("#tab-checkpoints .count"), known.checkpoints.length ? String(known.checkpoints.length) : "");
  setText(document.querySelector("#tab-attempts .count"), known.attempts.length ? String(known.attempts.length) : "");
}

function showFinding() {
  fill(find("#run-finding"), findingCard(run, known.findings, known.checkpoints));
}

async function reloadLists() {
  try {
    const told = get(`${path}/findings`);
    gates.soon();
    [known.checkpoints, known.attempts] = await Promise.all([showCheckpoints(path), showAttempts(path, run, told), showStall(path, run)]);
    known.findings = (await told).findings;
    setMarks();
    showFinding();
    if (tab === "events") await showEvents(path);
    if (tab === "environment") await showEnvironment(path, run);
  } catch (error) {
    toastError(error);
  }
}

const listsSoon = debounce(() => void reloadLists(), 400);

async function catchUp() {
  try {
    await Promise.all([takeAnswer(get(path)), store.catchUp(), log.catchUp(), reloadLists(), alerts.load(), classification.load()]);
  } catch (error) {
    toastError(error);
  }
}

live.on("run", (fresh) => {
  pushed.note(fresh.id);
  take(fresh);
});
live.on("points", (push) => push.run === run.id && (store.take(push), classification.take(push), gates.points(push)));
live.on("output", (push) => push.run === run.id && log.take(push));
live.on("event", (event) => {
  if (event.run !== run.id) return;
  const telling = ["checkpoint", "attempt", "state", "finished", "stall", "stacks", "finding"];
  if (telling.includes(event.type) || tab === "events") listsSoon();
  // points of the earlier attempt beyond the place it goes on from are superseded
  if (event.type === "attempt" && event.what === "started" && event.attempt > 1) store.reload().catch(toastError);
  if (event.type !== "alert") return;
  alerts.soon();
  if (event.what !== "resolved") toast(event.title ?? "Alert", { tone: event.level === "info" ? "good" : "bad", hint: event.text });
});
live.on("deleted", (message) => {
  if (message.run === run.id) location.assign("/");
});
everySecond(() => {
  header.tick();
  tickAttempts(known.attempts, run, live.now());
});
log.setAttempts(run.attempt);
tabs(find("#tabs", HTMLElement), (key) => {
  tab = key;
  if (key === "log") void log.open();
  if (key === "charts") charts.refresh();
  if (key === "config") openConfig();
  if (key === "ask") asking.show().catch(toastError);
  if (key === "checkpoints") backfill.show().catch(toastError);
  if (key === "export") showExport(find("#panel-export", HTMLElement), path).catch(toastError);
  if (key === "environment") showEnvironment(path, run).catch(toastError);
  if (key === "events") showEvents(path).catch(toastError);
});
charts.open(pageJson("plotly-json"), { sparse: Boolean(run.script) }).catch(toastError);
void catchUp();
live.watch(`run:${run.id}`, () => void catchUp());
