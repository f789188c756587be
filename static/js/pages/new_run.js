// @ts-check
import { get, newKey, post } from "../lib/api.js";
import { debounce, fill, find, h, setText } from "../lib/dom.js";
import { formatBytes } from "../lib/format.js";
import { grouped, parameterOf } from "../lib/parameters.js";
import { openShell, toastError } from "../lib/shell.js";
import { Field, ParameterField } from "./new_run/field.js";
import { OwnVariables, variableOf } from "./new_run/own_variables.js";
import { PolicyForm, policyFieldOf } from "./new_run/policy.js";
import { Preflight } from "./new_run/preflight.js";
import { Preview } from "./new_run/preview.js";
import { chosenPriority } from "./new_run/priority.js";

const PROFILES = [
  ["auto", "auto: what this machine needs"],
  ["safe", "safe: one thread, CPU, everything isolated"],
  ["classic", "classic: the original recipe to the letter, with its risks"],
];
const OTHER = "\u0000other";

openShell();
const wanted = new URLSearchParams(location.search);
const start = find("#start", HTMLButtonElement);
const note = find("#start-note", HTMLElement);
const formError = find("#form-error", HTMLElement);
const ownVariables = new OwnVariables(() => changed());
const policy = new PolicyForm();
const preview = new Preview((error) => showRefusal(error), (warnings) => ownVariables.warn(warnings));
const preflight = new Preflight(() => body()?.training ?? null, () => void startRun(true));
/** @type {any[]} */
let recipes = [];
/** @type {any[]} */
let datasets = [];
/** @type {Map<string, ParameterField>} */
let parameters = new Map();
/** One form makes one run, however often Start is pressed; a changed form is a new wish. */
let key = newKey();
let starting = false;

const recipe = new Field({ id: "recipe", label: "Recipe" }, h("select", { class: "select" }));
const dataset = new Field({ id: "dataset", label: "Dataset" }, h("select", { class: "select" }));
const path = new Field(
  { id: "dataset-path", label: "File", help: "JSONL, CSV, TSV or NPZ under one of the dataset folders." },
  h("input", { class: "input mono", autocomplete: "off", spellcheck: "false", placeholder: "pairs.jsonl" }),
);
const name = new Field(
  { id: "name", label: "Name", help: "Optional. Without one the run is named after recipe and dataset." },
  h("input", { class: "input", autocomplete: "off", maxlength: 200 }),
);
const profile = new Field(
  { id: "profile", label: "Environment", help: "How the trainer's process is set up." },
  h("select", { class: "select" }, PROFILES.map(([value, text]) => h("option", { value, text }))),
);
fill(find("#basics"), recipe.element, dataset.element, path.element, name.element, profile.element);

function chosenRecipe() {
  return recipes.find((one) => one.name === recipe.control.value) ?? recipes[0];
}

function drawRecipe() {
  const chosen = chosenRecipe();
  setText(recipe.element.querySelector(".field-help"), chosen.summary);
  parameters = new Map();
  const sections = grouped(chosen.parameters).map(([group, members]) => {
    const fields = members.map((one) => {
      const field = new ParameterField(one);
      parameters.set(one.name, field);
      return field;
    });
    const basic = fields.filter((field) => !field.parameter.advanced).map((field) => field.element);
    const advanced = fields.filter((field) => field.parameter.advanced).map((field) => field.element);
    return h(
      "fieldset",
      { class: "group" },
      h("legend", { text: group }),
      basic.length ? h("div", { class: "fields" }, basic) : null,
      advanced.length
        ? h("details", { class: "advanced" }, h("summary", { text: `Advanced (${advanced.length})` }), h("div", { class: "fields" }, advanced))
        : null,
    );
  });
  fill(find("#parameters"), sections);
  drawPresets(chosen);
  drawDatasets(chosen);
}

/** @param {any} chosen */
function drawPresets(chosen) {
  const buttons = chosen.presets.map((/** @type {any} */ preset) =>
    h("button", { type: "button", class: "button button-small", dataset: { preset: preset.name }, text: preset.title, onclick: () => usePreset(preset) }),
  );
  fill(find("#presets"), buttons);
  markPreset(chosen.presets.find((/** @type {any} */ preset) => Object.keys(preset.params).length === 0)?.name);
}

/** @param {any} preset */
function usePreset(preset) {
  for (const field of parameters.values()) field.set(preset.params[field.parameter.name] ?? field.parameter.default);
  for (const field of parameters.values()) {
    if (field.element.classList.contains("is-changed")) field.element.closest("details")?.setAttribute("open", "");
  }
  markPreset(preset.name);
  changed();
}

/** @param {string | undefined} chosen */
function markPreset(chosen) {
  for (const button of find("#presets").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.preset === chosen));
}

/** @param {any} chosen */
function drawDatasets(chosen) {
  const builtin = datasets.filter((one) => one.kind === "builtin" && (one.recipes ?? []).includes(chosen.name));
  const files = datasets.filter((one) => one.kind === "file");
  fill(
    dataset.control,
    builtin.length ? h("optgroup", { label: "Built in" }, builtin.map((one) => h("option", { value: one.name, text: one.title }))) : null,
    files.length
      ? h("optgroup", { label: "Your files" }, files.map((one) => h("option", { value: one.path, text: `${one.name} (${formatBytes(one.num_bytes)})` })))
      : null,
    h("option", { value: OTHER, text: "Another file…" }),
  );
  const asked = wanted.get("dataset");
  if (asked && [...dataset.control.querySelectorAll("option")].some((option) => option.value === asked)) dataset.control.value = asked;
  drawDatasetHelp();
}

function drawDatasetHelp() {
  const other = dataset.control.value === OTHER;
  path.element.hidden = !other;
  const found = datasets.find((one) => one.name === dataset.control.value || one.path === dataset.control.value);
  setText(dataset.element.querySelector(".field-help"), other ? "" : found?.help ?? found?.path ?? "");
}

/** What the form says, or null while a field is wrong. */
function body() {
  const values = [...parameters].map(([parameter, field]) => [parameter, field.read()]);
  const chosen = dataset.control.value === OTHER ? path.control.value.trim() : dataset.control.value;
  path.fail(chosen === "" && path.control.dataset.touched ? "Name a file." : "");
  const [environment, asked] = [ownVariables.read(), policy.read()];
  if (chosen === "" || environment === undefined || asked === undefined || values.some(([, value]) => value === undefined)) return null;
  const training = { recipe: recipe.control.value, dataset: chosen, params: Object.fromEntries(values), profile: profile.control.value, environment };
  return { training, policy: asked };
}

/** @param {any} error */
function showRefusal(error) {
  const parameter = parameterOf(error.field);
  const field = parameter === null ? { recipe, dataset: path.element.hidden ? dataset : path, name, profile }[String(error.field)] : parameters.get(parameter);
  const message = error.hint && !parameter ? `${error.message} (${error.hint})` : error.message;
  const variable = variableOf(error.field);
  const rule = policyFieldOf(error.field);
  if (variable !== null) {
    ownVariables.fail(variable, error.message);
  } else if (rule !== null) {
    policy.fail(rule, error.message);
  } else if (field) {
    field.fail(message);
    field.element.closest("details")?.setAttribute("open", "");
  } else {
    setText(formError, message);
    formError.hidden = false;
  }
  ready(false);
}

/** @param {boolean} yes */
function ready(yes) {
  start.disabled = !yes || starting;
  preflight.ready(yes);
  setText(note, yes ? "The run is queued at once and starts as soon as a slot is free." : "Something above needs a look first.");
}

const check = debounce(async () => {
  for (const field of [recipe, dataset, path, name, profile]) field.fail("");
  formError.hidden = true;
  const values = body();
  if (values === null) {
    preview.hold();
    ready(false);
  } else if (await preview.show(values.training)) {
    ready(true);
  }
}, 200);

function changed() {
  key = newKey();
  preflight.forget();
  check();
}

async function startRun(anyway = false) {
  const values = body();
  if (starting || values === null) return;
  starting = true;
  start.disabled = true;
  setText(start.querySelector("span"), anyway ? "Starting…" : "Checking…");
  try {
    if (!anyway && !(await preflight.allows(values.training))) return restoreStart();
    setText(start.querySelector("span"), "Starting…");
    const named = name.control.value.trim();
    const wish = {
      ...values.training,
      policy: values.policy,
      priority: chosenPriority(),
      ...(named ? { name: named } : {}),
      preflight: anyway ? "skip" : "require",
    };
    const run = await post("/api/runs", wish, { "Idempotency-Key": key });
    location.assign(`/runs/${encodeURIComponent(run.id)}`);
  } catch (error) {
    restoreStart();
    showRefusal(error);
    ready(true);
  }
}

function restoreStart() {
  starting = false;
  start.disabled = false;
  setText(start.querySelector("span"), "Start run");
}

find("#run-form").addEventListener("submit", (event) => {
  event.preventDefault();
  void startRun();
});
find("#run-form").addEventListener("input", (event) => {
  const control = /** @type {HTMLInputElement} */ (event.target);
  control.dataset.touched = "yes";
  if (control === recipe.control) drawRecipe();
  if (control === dataset.control) drawDatasetHelp();
  const field = [...parameters.values()].find((one) => one.control === control);
  if (field) {
    field.mark();
    markPreset(undefined);
  }
  changed();
});

async function open() {
  try {
    const [known, found] = await Promise.all([get("/api/recipes"), get("/api/datasets")]);
    recipes = known.recipes;
    datasets = found.datasets;
    setText(path.element.querySelector(".field-help"), `JSONL, CSV, TSV or NPZ under ${found.folders.join(" or ")}.`);
    fill(recipe.control, recipes.map((one) => h("option", { value: one.name, text: one.title })));
    const asked = wanted.get("recipe");
    if (asked && recipes.some((one) => one.name === asked)) recipe.control.value = asked;
    policy.draw(known.policy);
    drawRecipe();
    const preset = chosenRecipe().presets.find((/** @type {any} */ one) => one.name === wanted.get("preset"));
    if (preset) usePreset(preset);
    else check();
  } catch (error) {
    setText(note, "The recipes could not be loaded.");
    toastError(error);
  }
}

void open();
