// @ts-check
import { get } from "../lib/api.js";
import { fill, find, h, setText } from "../lib/dom.js";
import { formatAge, formatBytes, formatCount } from "../lib/format.js";
import { openShell, toastError } from "../lib/shell.js";
import { Adding } from "./datasets/adding.js";

const live = openShell();
/** Titles of the recipes by name. @type {Map<string, any>} */
let recipes = new Map();
/** @type {Adding | null} */
let adding = null;

/** @param {any} one */
function registeredRow(one) {
  const address = `/datasets/${encodeURIComponent(one.name)}`;
  return h(
    "li",
    { class: "dataset-row", dataset: { dataset: one.name } },
    h("div", { class: "dataset-main" },
      h("a", { class: "dataset-name", href: address, text: one.name }),
      h("span", { class: "chip", text: `version ${one.version}` }),
      h("span", { class: "chip", text: one.holds }),
      one.trouble ? h("span", { class: "chip chip-warn", text: one.trouble }) : null,
      h("p", { class: "muted small num", text: `${formatCount(one.num_rows)} rows, ${formatBytes(one.num_bytes)} ${one.format}, ${formatAge(live.now() - one.created_at)}, ${mappingWords(one.columns)}` })),
    h("a", { class: "button button-small", href: trainAddress(one.name, one.recipes[0]), text: "Train on it" }),
  );
}

/** @param {Record<string, string>} columns */
function mappingWords(columns) {
  const mapped = Object.entries(columns).filter(([role, column]) => column && column.trim().toLowerCase() !== role);
  return mapped.length ? mapped.map(([role, column]) => `${role} = ${column}`).join(", ") : "usual columns";
}

/** @param {any} one */
function builtinRow(one) {
  const uses = one.recipes.map((/** @type {string} */ name) => recipes.get(name)).filter(Boolean);
  return h(
    "li",
    { class: "dataset-row" },
    h("div", { class: "dataset-main" },
      h("strong", { text: one.title }),
      h("code", { class: "chip", text: one.name }),
      uses.map((/** @type {any} */ recipe) => h("p", { class: "muted small" },
        h("a", { href: trainAddress(one.name, recipe.name), text: recipe.title }), `: ${recipe.datasets.find((/** @type {any} */ own) => own.name === one.name)?.help ?? ""}`))),
  );
}

/** @param {string} dataset @param {string} [recipe] */
function trainAddress(dataset, recipe) {
  return `/runs/new?dataset=${encodeURIComponent(dataset)}${recipe ? `&recipe=${encodeURIComponent(recipe)}` : ""}`;
}

/** @param {any} one */
function fileRow(one) {
  const open = adding ? h("button", { class: "button button-small", type: "button", text: "Look at it", onclick: () => void adding?.open(one.path) }) : null;
  const train = adding && one.recipes.length ? h("a", { class: "button button-small", href: trainAddress(one.path, one.recipes[0]), text: "Train on it" }) : null;
  return h("li", { class: "dataset-row" }, h("div", { class: "dataset-main" }, h("code", { text: one.name }), h("p", { class: "muted small num", text: `${formatBytes(one.num_bytes)}, ${formatAge(live.now() - one.modified_at)}` })), open, train);
}

async function load() {
  try {
    const [found, known, counters] = await Promise.all([get("/api/datasets"), get("/api/recipes"), get("/api/datasets/tokenizers")]);
    recipes = new Map(known.recipes.map((/** @type {any} */ one) => [one.name, one]));
    if (adding === null && document.querySelector("#adding")) adding = new Adding(found.kinds, found.max_upload_mib, () => void load());
    if (adding) adding.mapping.tokenizers = counters.tokenizers;
    const of = (/** @type {string} */ kind) => found.datasets.filter((/** @type {any} */ one) => one.kind === kind);
    fill(find("#registered"), of("registered").map(registeredRow));
    find("#no-registered", HTMLElement).hidden = of("registered").length > 0;
    fill(find("#builtin"), of("builtin").map(builtinRow));
    fill(find("#files"), of("file").map(fileRow));
    find("#files-card", HTMLElement).hidden = of("file").length === 0;
    setText(find("#datasets-summary"), `${of("registered").length} registered`);
    setText(document.querySelector("#folders"), `Under ${found.folders.join(" or ")}.`);
  } catch (error) {
    toastError(error);
  }
}

void load();
