// @ts-check
import { get, post, query, request } from "../lib/api.js";
import { debounce, fill, find, h, setText } from "../lib/dom.js";
import { Orders } from "../lib/orders.js";
import { everySecond, openShell, toastError } from "../lib/shell.js";
import { ITEM_STATES, countWords, itemRow } from "./inbox/items.js";

const SHOWN = 200;
const REFRESH_MS = 2000;
const live = openShell();
const onSwitch = find("#inbox-on", HTMLButtonElement);
const recipe = find("#inbox-recipe", HTMLSelectElement);
const preset = find("#inbox-preset", HTMLSelectElement);
const filter = find("#inbox-filter", HTMLSelectElement);
/** @type {any[]} */
let recipes = [];
/** @type {any} */
let inbox = null;
let loadedAt = 0;
const orders = new Orders(load);

fill(filter, h("option", { value: "", text: "All" }), Object.entries(ITEM_STATES).map(([value, { word }]) => h("option", { value, text: word })));

function drawChoice() {
  if (document.activeElement === recipe || document.activeElement === preset) return;
  fill(
    recipe,
    h("option", { value: "", text: "What suits the file", selected: inbox.recipe === "" }),
    recipes.map((one) => h("option", { value: one.name, text: one.title, selected: one.name === inbox.recipe })),
  );
  const chosen = recipes.find((one) => one.name === inbox.recipe);
  fill(
    preset,
    h("option", { value: "", text: "The recipe's defaults", selected: inbox.preset === null }),
    (chosen?.presets ?? []).map((/** @type {any} */ one) => h("option", { value: one.name, text: one.title, selected: one.name === inbox.preset })),
  );
  recipe.disabled = preset.disabled = false;
}

/** @param {any} fresh */
function show(fresh) {
  const isNew = JSON.stringify(fresh.items) !== JSON.stringify(inbox?.items ?? null);
  inbox = fresh;
  loadedAt = Date.now();
  onSwitch.disabled = false;
  onSwitch.setAttribute("aria-checked", String(inbox.on));
  setText(find("#inbox-on-help"), inbox.on ? "On: the folder is looked at every two seconds." : `Off${inbox.decided_by === "settings" ? ", as the settings say" : ""}: files stay where they are and can be chosen on the new-run form.`);
  setText(find("#inbox-folder"), inbox.folder);
  setText(find("#inbox-summary"), countWords(inbox.counts));
  find("#inbox-trouble", HTMLElement).hidden = !inbox.trouble;
  setText(find("#inbox-trouble-text"), inbox.trouble ?? "");
  drawChoice();
  if (isNew) fill(find("#inbox-items"), inbox.items.map((/** @type {any} */ item) => itemRow(item, live.now())));
  find("#no-items", HTMLElement).hidden = inbox.items.length > 0;
  const more = find("#more-items", HTMLElement);
  more.hidden = inbox.items.length < SHOWN && inbox.not_listed === 0;
  setText(more, [inbox.items.length >= SHOWN ? `The newest ${SHOWN} are shown.` : "", inbox.not_listed ? `${inbox.not_listed} more lie in the folder and will be noted as these are taken.` : ""].filter(Boolean).join(" "));
}

async function load() {
  loadedAt = Date.now();
  try {
    const fresh = await get(`/api/inbox${query({ state: filter.value, limit: SHOWN })}`);
    if (!orders.areWaiting) show(fresh);
  } catch (error) {
    toastError(error);
  }
}

/** @param {Record<string, unknown>} changes */
function change(changes) {
  orders.add(() => request("PATCH", "/api/inbox", { body: changes }));
}

onSwitch.addEventListener("click", () => change({ on: onSwitch.getAttribute("aria-checked") !== "true" }));
recipe.addEventListener("change", () => {
  const { value } = recipe;
  recipe.blur();
  change({ recipe: value, preset: null });
});
preset.addEventListener("change", () => {
  const { value } = preset;
  preset.blur();
  change({ preset: value || null });
});
filter.addEventListener("change", () => void load());
find("#inbox-items").addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const action = target.closest("button")?.dataset.action;
  const row = /** @type {HTMLElement | null} */ (target.closest("[data-item]"));
  if (!row?.dataset.item || !action) return;
  const path = `/api/inbox/${encodeURIComponent(row.dataset.item)}`;
  if (action === "retry") orders.add(() => post(`${path}/retry`));
  if (action === "forget") orders.add(() => request("DELETE", path));
});

const soon = debounce(() => void load(), 300);
live.on("run", soon);
live.watch("runs", () => void load());
everySecond(() => {
  if (Date.now() - loadedAt >= REFRESH_MS) void load();
});

async function open() {
  try {
    recipes = (await get("/api/recipes")).recipes.filter((/** @type {any} */ one) => one.needs_dataset);
  } catch (error) {
    toastError(error);
  }
  await load();
}

void open();
