// @ts-check
import { get, query } from "../lib/api.js";
import { debounce, fill, find, h, pageJson, setText } from "../lib/dom.js";
import { formatCount, formatPercent, formatShown } from "../lib/format.js";
import { apiPath, carryRun, examplePath, fillRuns, runsOf } from "../lib/run_choice.js";
import { openShell, segments, toastError } from "../lib/shell.js";
import { OUTCOMES, SORTS, readAddress, shownEntries, writeAddress } from "./compare/comparison.js";
import { compareEntry } from "./compare/entry.js";
import { askedAlike } from "./evolution/chosen_step.js";

const AT_ONCE = 50;

/** @type {string} */
const dataset = pageJson("dataset-json");
const path = apiPath(dataset);
const live = openShell();
let view = readAddress(location.search);
/** @type {{id: string, name: string}[]} */
let runs = [];
/** @type {any} */
let found = null;
let asked = 0;
let drawn = AT_ONCE;
const runChoice = find("#run-choice", HTMLSelectElement);
const [fromStep, toStep] = [find("#from-step", HTMLSelectElement), find("#to-step", HTMLSelectElement)];
const otherRun = find("#run-to", HTMLSelectElement);
const search = find("#search", HTMLInputElement);
const sort = find("#sort", HTMLSelectElement);
const pressOutcome = segments(find("#outcomes", HTMLElement), "outcome", (outcome) => change({ show: /** @type {any} */ (outcome) }));

/** @param {Partial<import("./compare/comparison.js").CompareView>} part */
function change(part) {
  view = { ...view, ...part };
  history.replaceState(null, "", location.pathname + writeAddress(view));
  drawn = AT_ONCE;
  if ("run" in part || "runTo" in part) void loadSteps().catch(showNothing);
  if ("run" in part || "runTo" in part || "from" in part || "to" in part) void load();
  else draw();
}

async function load() {
  const mine = ++asked;
  find("#content", HTMLElement).setAttribute("aria-busy", "true");
  try {
    const answer = await get(`${path}/compare${query({ run: view.run, run_to: view.runTo, from: view.from, to: view.to })}`);
    if (mine !== asked) return;
    found = answer;
    find("#nothing", HTMLElement).hidden = true;
    find("#content", HTMLElement).hidden = false;
    draw();
  } catch (error) {
    if (mine === asked) showNothing(error);
  } finally {
    if (mine === asked) find("#content", HTMLElement).removeAttribute("aria-busy");
  }
}

/** @param {any} error */
function showNothing(error) {
  if (error.status !== 404 && error.status !== 422) {
    toastError(error);
    return;
  }
  find("#content", HTMLElement).hidden = true;
  find("#nothing", HTMLElement).hidden = false;
  setText(find("#nothing-title"), error.message);
  setText(find("#nothing-hint"), error.hint ?? "");
}

function draw() {
  carryRun(view.run);
  if (found === null) return;
  const outcome = view.show ?? OUTCOMES.find(([name]) => found.counts[name] > 0)?.[0] ?? "fixed";
  drawSentence();
  for (const [name] of OUTCOMES) setText(find(`#count-${name}`), formatCount(found.counts[name]));
  pressOutcome(outcome);
  sort.value = view.sort;
  if (document.activeElement !== search) search.value = view.q;
  const entries = shownEntries(found[outcome], view);
  const open = entries.slice(0, drawn).map((entry) => compareEntry(entry, examplePath(dataset, entry.example_id, { run: found.run_to, step: found.to.step })));
  fill(find("#entries"), open);
  const more = find("#more", HTMLButtonElement);
  more.hidden = entries.length <= drawn;
  setText(more, `Show ${formatCount(Math.min(AT_ONCE, entries.length - drawn))} more of ${formatCount(entries.length)}`);
  const all = found.counts[outcome];
  setText(find("#shown"), formatShown(entries.length, all));
  find("#csv", HTMLAnchorElement).href = `${path}/compare${query({ run: view.run, run_to: view.runTo, from: view.from, to: view.to, format: "csv" })}`;
}

function drawSentence() {
  const { counts, losses, from, to, run, run_to: other } = found;
  const parts = OUTCOMES.flatMap(([name, word], index) => [
    index > 0 ? ", " : null,
    h("span", { class: "count num", dataset: { outcome: name } }, formatCount(counts[name]), ` ${word.toLowerCase()}`),
  ]);
  const of = (/** @type {string} */ id) => (run === other ? "" : ` of ${runs.find((one) => one.id === id)?.name ?? id}`);
  fill(find("#sentence"), parts, ` between step ${formatCount(from.step)}${of(run)} and step ${formatCount(to.step)}${of(other)}.`);
  setText(find("#accuracies"), `Correct: ${formatPercent(from.summary.accuracy)} → ${formatPercent(to.summary.accuracy)}. The loss fell for ${formatCount(losses.fell)} and rose for ${formatCount(losses.rose)}; the largest change comes first.`);
}

/** The steps there are at both ends; a name such as `latest` stays a name. */
async function loadSteps() {
  const ends = await Promise.all([view.run, view.runTo ?? view.run].map((run) => get(`${path}/snapshots${query({ run })}`)));
  fillSteps(fromStep, askedAlike(ends[0].snapshots), view.from);
  fillSteps(toStep, askedAlike(ends[1].snapshots), view.to);
}

/** @param {HTMLSelectElement} choice @param {any[]} snapshots @param {string} chosen */
function fillSteps(choice, snapshots, chosen) {
  const named = [["first", "first"], ["best", "best"], ["latest", "latest"]];
  const steps = snapshots.map(({ step, summary }) => [String(step), `${formatCount(step)} (${formatPercent(summary.accuracy)})`]);
  const options = [...named, ...steps];
  if (!options.some(([value]) => value === chosen)) options.push([chosen, formatCount(Number(chosen))]);
  fill(choice, options.map(([value, text]) => h("option", { value, text })));
  choice.value = chosen;
}

async function loadRuns() {
  runs = await runsOf(dataset);
  fillRuns(runChoice, runs, view.run);
  fill(otherRun, h("option", { value: "", text: "the same run" }), runs.map(({ id, name }) => h("option", { value: id, text: name })));
  otherRun.value = view.runTo ?? "";
  if (found !== null) drawSentence();
}

runChoice.addEventListener("change", () => change({ run: runChoice.value }));
otherRun.addEventListener("change", () => change({ runTo: otherRun.value || null }));
fromStep.addEventListener("change", () => change({ from: fromStep.value }));
toStep.addEventListener("change", () => change({ to: toStep.value }));
sort.addEventListener("change", () => change({ sort: sort.value }));
search.addEventListener("input", debounce(() => change({ q: search.value.trim() }), 150));
find("#swap").addEventListener("click", () => {
  const [run, runTo] = view.runTo === null ? [view.run, null] : [view.runTo, view.run ?? runChoice.value];
  change({ run, runTo, from: view.to, to: view.from });
  void loadRuns().catch(toastError);
});
find("#more").addEventListener("click", () => {
  drawn += AT_ONCE;
  draw();
});
live.on("snapshot", (message) => {
  if (message.dataset === dataset) void loadSteps().catch(() => {}); // what is on screen stays: only the choice grows
});
live.watch(`evolution:${dataset}`, () => void loadSteps().catch(() => {}));
fill(sort, SORTS.map(([value, text]) => h("option", { value, text })));
carryRun(view.run);
void load();
void loadSteps().catch(() => {});
void loadRuns().catch(toastError);
