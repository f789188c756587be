// @ts-check
import { get, post, request } from "../lib/api.js";
import { debounce, fill, find, setText } from "../lib/dom.js";
import { Orders } from "../lib/orders.js";
import { everySecond, openShell, toast, toastError } from "../lib/shell.js";
import { moved, summary } from "./queue/order.js";
import { activeRow, tickRows, waitingRow } from "./queue/rows.js";

const REFRESH_S = 10;
const live = openShell();
const active = find("#active", HTMLElement);
const waiting = find("#waiting", HTMLElement);
/** @type {any} */
let queue = null;
let loadedAt = 0;
/** What is shown, without its times: nothing is redrawn, and no focus lost, while it stays the same. */
let shown = "";
const orders = new Orders(reload);
/** Run that is being dragged. @type {string | null} */
let dragged = null;

function show() {
  const now = live.now();
  const next = queue.waiting[0]?.run.name ?? null;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const place = focused?.closest("[data-run]");
  const [run, action] = [/** @type {HTMLElement | null} */ (place)?.dataset.run, focused?.dataset.action];
  fill(active, queue.active.map((/** @type {any} */ one) => activeRow(one, next, now)));
  fill(waiting, queue.waiting.map((/** @type {any} */ one) => waitingRow(one, queue.waiting.length, now)));
  setText(find("#queue-summary"), summary(queue));
  setText(find("#slots"), `${queue.max_runs} at a time (SIGNALBOX_MAX_RUNS)`);
  find("#no-active", HTMLElement).hidden = queue.active.length > 0;
  find("#no-waiting", HTMLElement).hidden = queue.waiting.length > 0;
  find("#move-hint", HTMLElement).hidden = queue.waiting.length < 2;
  if (run && action) /** @type {HTMLElement | null} */ (document.querySelector(`[data-run="${CSS.escape(run)}"] [data-action="${action}"]`))?.focus();
}

/** @param {any} fresh */
function take(fresh) {
  queue = fresh;
  loadedAt = Date.now();
  if (dragged !== null) return;
  const facts = (/** @type {any} */ one) => [one.run.id, one.run.name, one.run.state, one.run.phase, one.priority];
  const now = JSON.stringify([queue.active.map(facts), queue.waiting.map(facts), queue.max_runs]);
  if (now !== shown) show();
  shown = now;
  tick();
}

function tick() {
  tickRows(active, queue.active, live.now());
  tickRows(waiting, queue.waiting, live.now());
}

async function load() {
  try {
    const fresh = await get("/api/queue");
    if (!orders.areWaiting) take(fresh);
  } catch (error) {
    toastError(error);
  }
}

/** After an order: the next one builds on what the queue is by then, and rows dropped in vain go back. */
async function reload() {
  shown = "";
  try {
    take(await get("/api/queue"));
  } catch (error) {
    toastError(error);
  }
}

/** @param {string} id @param {(from: number) => number} to where it shall go from where it is by then */
function move(id, to) {
  orders.add(async () => {
    const change = moved(queue.waiting, id, to(indexOf(id)));
    if (!change) return;
    const run = queue.waiting.find((/** @type {any} */ one) => one.run.id === id);
    if (change.priority !== run.priority) await request("PATCH", `/api/runs/${encodeURIComponent(id)}`, { body: { priority: change.priority } });
    await post("/api/queue/order", { runs: change.ids });
    setText(find("#queue-said"), `${run.run.name} is now at place ${change.ids.indexOf(id) + 1}, ${change.priority}`);
  });
}

/** @param {Event} event */
function rowOf(event) {
  const row = /** @type {HTMLElement} */ (event.target).closest("[data-run]");
  return /** @type {HTMLElement | null} */ (row);
}

/** @param {string} id */
function indexOf(id) {
  return queue.waiting.findIndex((/** @type {any} */ one) => one.run.id === id);
}

waiting.addEventListener("click", (event) => {
  const action = /** @type {HTMLElement} */ (event.target).closest("button")?.dataset.action;
  const id = rowOf(event)?.dataset.run;
  if (!id) return;
  if (action === "up") move(id, (from) => from - 1);
  if (action === "down") move(id, (from) => from + 1);
  if (action === "remove") orders.add(() => post(`/api/runs/${encodeURIComponent(id)}/stop`));
});
waiting.addEventListener("change", (event) => {
  const choice = /** @type {HTMLSelectElement} */ (event.target);
  const id = rowOf(event)?.dataset.run;
  if (id && choice.dataset.action === "priority") orders.add(() => request("PATCH", `/api/runs/${encodeURIComponent(id)}`, { body: { priority: choice.value } }));
});
waiting.addEventListener("keydown", (event) => {
  const id = rowOf(event)?.dataset.run;
  if (!id || /** @type {HTMLElement} */ (event.target).dataset.action !== "handle") return;
  const steps = /** @type {Record<string, number>} */ ({ ArrowUp: -1, ArrowDown: 1, Home: -queue.waiting.length, End: queue.waiting.length })[event.key];
  if (steps === undefined) return;
  event.preventDefault();
  move(id, (from) => from + steps);
});
waiting.addEventListener("dragstart", (event) => {
  const row = rowOf(event);
  if (!row?.dataset.run || !event.dataTransfer) return;
  dragged = row.dataset.run;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", dragged);
  event.dataTransfer.setDragImage(row, 12, 12);
  row.classList.add("is-dragged");
});
waiting.addEventListener("dragover", (event) => {
  const row = rowOf(event);
  const mine = dragged === null ? null : waiting.querySelector(`[data-run="${CSS.escape(dragged)}"]`);
  if (!row || !mine) return;
  event.preventDefault();
  if (row === mine) return;
  const box = row.getBoundingClientRect();
  row[event.clientY < box.top + box.height / 2 ? "before" : "after"](mine);
});
waiting.addEventListener("drop", (event) => event.preventDefault());
waiting.addEventListener("dragend", () => {
  const id = dragged;
  dragged = null;
  if (id === null) return;
  const to = [...waiting.children].findIndex((row) => /** @type {HTMLElement} */ (row).dataset.run === id);
  shown = ""; // the rows lie where they were dropped: draw them as they are
  move(id, () => to);
});
active.addEventListener("click", (event) => {
  const id = rowOf(event)?.dataset.run;
  if (!id || /** @type {HTMLElement} */ (event.target).closest("button")?.dataset.action !== "skip") return;
  orders.add(async () => {
    const told = await post("/api/queue/skip", { run: id });
    toast(`Stopping “${told.stopping.name}”; then “${told.next.name}” starts.`);
  });
});

const soon = debounce(() => void load(), 300);
live.on("run", soon);
live.on("deleted", soon);
live.watch("runs", () => void load());
everySecond(() => {
  if (queue === null) return;
  if (Date.now() - loadedAt > REFRESH_S * 1000) void load();
  else if (dragged === null) tick();
});
void load();
