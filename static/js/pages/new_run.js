// @ts-check
import { get, newKey, post } from "../lib/api.js";
import { debounce, fill, find, h, setText } from "../lib/dom.js";
import { formatBytes, formatCount } from "../lib/format.js";
import { grouped, parameterOf } from "../lib/parameters.js";
import { openShell, toastError } from "../lib/shell.js";
import { ParameterFilter } from "./new_run/parameter_filter.js";
import { ColumnChoice, roleOf } from "./new_run/columns.js";
import { Field, ParameterField } from "./new_run/field.js";
import { OwnVariables, variableOf } from "./new_run/own_variables.js";
import { PolicyForm, policyFieldOf } from "./new_run/policy.js";
import { Preflight } from "./new_run/preflight.js";
import { Presets } from "./new_run/presets.js";
import { Preview } from "./new_run/preview.js";
import { chosenPriority } from "./new_run/priority.js";
import { ScriptChoice } from "./new_run/script.js";

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
/** @type {string[]} */
let folders = [];
/** @type {Map<string, ParameterField>} */
let parameters = new Map();
/** One form makes one run, however often Start is pressed; a changed form is a new wish. */
let key = newKey();
let starting = false;

const recipe = new Field({ id: "recipe", label: "Recipe" }, h("select", { class: "select" }));
const dataset = new Field({ id: "dataset", label: "Dataset" }, h("select", { class: "select" }));
const path = new Field(
  { id: "dataset-path", label: "File", help: "A file under one of the dataset folders." },
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
const script = new ScriptChoice();
const presets = new Presets((preset) => usePreset(preset));
const filter = new ParameterFilter();
const columns = new ColumnChoice(() => changed());
fill(find("#basics"), recipe.element, script.field.element, dataset.element, path.element, columns.element, name.element, profile.element);

function chosenRecipe() {
  return script.applied(recipes.find((one) => one.name === recipe.control.value) ?? recipes[0]);
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
  presets.draw(chosen.presets);
  filter.apply();
  drawDatasets(chosen);
  if (script.chosen?.profile) profile.control.value = script.chosen.profile;
}

/** @param {any} preset */
function usePreset(preset) {
  for (const field of parameters.values()) field.set(preset.params[field.parameter.name] ?? field.parameter.default);
  for (const field of parameters.values()) {
    if (field.element.classList.contains("is-changed")) field.element.closest("details")?.setAttribute("open", "");
  }
  presets.mark(preset.name);
  changed();
}

/** @param {any} chosen */
function drawDatasets(chosen) {
  const before = dataset.control.value;
  const fitting = datasets.filter((one) => one.recipes.includes(chosen.name));
  const [builtin, registered, files] = ["builtin", "registered", "file"].map((kind) => fitting.filter((one) => one.kind === kind));
  fill(
    dataset.control,
    script.needsNoDataset ? h("option", { value: "", text: "No file" }) : null,
    builtin.length ? h("optgroup", { label: "Built in" }, builtin.map((one) => h("option", { value: one.name, text: one.title }))) : null,
    registered.length
      ? h("optgroup", { label: "Registered" }, registered.map((one) => h("option", { value: one.name, text: `${one.name} (${formatCount(one.num_rows)} rows)` })))
      : null,
    files.length
      ? h("optgroup", { label: "Your files" }, files.map((one) => h("option", { value: one.path, text: `${one.name} (${formatBytes(one.num_bytes)})` })))
      : null,
    h("option", { value: OTHER, text: "Another file…" }),
  );
  const asked = before || wanted.get("dataset"); // what is chosen stays chosen where the recipe takes it
  if (asked && [...dataset.control.querySelectorAll("option")].some((option) => option.value === asked)) dataset.control.value = asked;
  const endings = chosen.dataset_endings.join(", ");
  setText(path.element.querySelector(".field-help"), `A file (${endings}) under ${folders.join(" or ")}. ${chosen.dataset_help}`);
  drawDatasetHelp();
}

function drawDatasetHelp() {
  dataset.element.hidden = script.takesNoDataset;
  const other = dataset.control.value === OTHER;
  path.element.hidden = !other;
  const of = (/** @type {any} */ one) => one.name === dataset.control.value || one.path === dataset.control.value;
  const found = chosenRecipe().datasets.find(of) ?? datasets.find(of); // what a built-in one is for is the recipe's to say
  setText(dataset.element.querySelector(".field-help"), other ? "" : found?.help ?? found?.path ?? "");
  const file = other ? path.control.value.trim() : found?.kind === "file" ? found.path : null;
  columns.show(chosenRecipe().dataset_kinds, dataset.element.hidden ? null : file || null);
}

/** What the form says, or null while a field is wrong. */
function body() {
  const values = [...parameters].map(([parameter, field]) => [parameter, field.read()]);
  const chosen = dataset.control.value === OTHER ? path.control.value.trim() : dataset.control.value;
  const [isNamed, own] = [chosen !== "" || (script.needsNoDataset && path.element.hidden), script.wish()];
  path.fail(!isNamed && path.control.dataset.touched ? "Name a file." : "");
  const [environment, asked, mapped] = [ownVariables.read(), policy.read(), columns.read()];
  if (!isNamed || own === null || environment === undefined || asked === undefined || mapped === undefined || values.some(([, value]) => value === undefined)) return null;
  const training = { recipe: recipe.control.value, ...own, dataset: chosen, ...mapped, params: Object.fromEntries(values), profile: profile.control.value, environment };
  return { training, policy: asked };
}

/** @param {any} error */
function showRefusal(error) {
  const parameter = parameterOf(error.field);
  const field = parameter === null ? { recipe, script: script.field, dataset: path.element.hidden ? dataset : path, name, profile }[String(error.field)] : parameters.get(parameter);
  const message = error.hint && !parameter ? `${error.message} (${error.hint})` : error.message;
  const variable = variableOf(error.field);
  const rule = policyFieldOf(error.field);
  const role = roleOf(error.field);
  if (variable !== null) {
    ownVariables.fail(variable, error.message);
  } else if (rule !== null) {
    policy.fail(rule, error.message);
  } else if (role !== null && columns.fail(role, message)) {
    // said beside the role
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
  for (const field of [recipe, script.field, dataset, path, name, profile]) field.fail("");
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
  if (control === recipe.control || control === script.field.control) drawRecipe();
  if (control === dataset.control || control === path.control) drawDatasetHelp();
  const field = [...parameters.values()].find((one) => one.control === control);
  if (field) {
    field.mark();
    presets.mark(undefined);
  }
  changed();
});

async function open() {
  try {
    const [known, found, own] = await Promise.all([get("/api/recipes"), get("/api/datasets"), get("/api/scripts")]);
    script.load(own.scripts, wanted.get("script"));
    recipes = known.recipes;
    datasets = found.datasets;
    folders = found.folders;
    columns.kinds = found.kinds;
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
