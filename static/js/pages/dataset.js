// @ts-check
import { get, post, request } from "../lib/api.js";
import { fill, find, h, pageJson, setText } from "../lib/dom.js";
import { formatBytes, formatClock, formatCount, formatPercent } from "../lib/format.js";
import { openShell, toast, toastError } from "../lib/shell.js";
import { plainTable, reportView } from "./datasets/report_view.js";
import { workingButton } from "./datasets/working.js";

let dataset = pageJson("dataset-json");
const path = `/api/datasets/${encodeURIComponent(dataset.name)}`;
openShell();

/** @param {string} hash */
function shortHash(hash) {
  return h("code", { class: "small", title: hash, text: hash.slice(0, 12) });
}

function draw() {
  const newest = dataset.versions[0];
  setText(find("#dataset-summary"), `version ${newest.version}, ${formatCount(newest.num_rows)} rows (${dataset.holds})`);
  const trouble = find("#trouble", HTMLElement);
  trouble.hidden = !newest.trouble;
  setText(trouble.querySelector(".banner-words"), `${newest.path}: ${newest.trouble}. ${newest.trouble === "the file is gone" ? "Put it back, or register another." : "Check it again: what it holds now becomes a new version."}`);
  fill(find("#facts"), h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", { text: "What is in it" })), h("div", { class: "card-body" }, reportView(dataset.facts))));
  const rows = dataset.versions.map((/** @type {any} */ one) => [
    String(one.version), formatClock(one.created_at), formatCount(one.num_rows), formatBytes(one.num_bytes),
    shortHash(one.content_hash), shortHash(one.sha256),
    h("span", { class: "cell-text", text: Object.entries(one.columns).filter(([, column]) => column).map(([role, column]) => `${role} = ${column}`).join(", ") }),
    one.trouble ?? "as registered",
  ]);
  fill(find("#versions"), plainTable(["Version", "Registered", "Rows", "Size", "Content", "SHA-256", "Columns", "File"], rows, "Versions, newest first"));
  fill(find("#users"), dataset.runs.length ? plainTable(["Run", "State", "Content"], dataset.runs.map(userRow), "Runs on this dataset") : h("p", { class: "dataset-none muted", text: "No run has used it yet." }));
}

/** @param {any} run */
function userRow(run) {
  const version = dataset.versions.find((/** @type {any} */ one) => one.content_hash === run.dataset_hash);
  const content = run.dataset_hash ? h("span", {}, shortHash(run.dataset_hash), version ? ` version ${version.version}` : " no registered version") : "not read yet";
  return [h("a", { href: `/runs/${encodeURIComponent(run.id)}`, text: run.name }), run.state, content];
}

async function reload() {
  dataset = await get(path);
  draw();
}

async function checkAgain() {
  const newest = dataset.versions[0];
  const end = workingButton(find("#check-again", HTMLButtonElement), "Reading it…");
  try {
    const made = await post("/api/datasets", { name: dataset.name, path: newest.path, kind: dataset.holds, columns: newest.columns });
    toast(made.version === newest.version ? "Nothing has changed." : `It is version ${made.version} now.`);
    await reload();
  } catch (error) {
    toastError(error);
  } finally {
    end();
  }
}

async function remove() {
  if (!confirm(`Move “${dataset.name}” with all its versions to the trash?`)) return;
  try {
    await request("DELETE", path);
    location.assign("/datasets");
  } catch (error) {
    toastError(error);
  }
}

async function listOthers() {
  const { datasets } = await get("/api/datasets");
  const others = datasets.filter((/** @type {any} */ one) => one.kind === "registered" && one.holds === dataset.holds && one.name !== dataset.name);
  fill(find("#other"), others.map((/** @type {any} */ one) => h("option", { value: one.name, text: one.name })));
  const card = find("#overlap-card", HTMLElement);
  card.hidden = card.hidden || others.length === 0 || dataset.holds === "vectors";
}

async function compare() {
  const end = workingButton(find("#compare", HTMLButtonElement), "Comparing…");
  try {
    const found = await post("/api/datasets/overlap", { train: dataset.name, validation: find("#other", HTMLSelectElement).value });
    const shared = Object.entries(found.shared);
    const rows = shared.map(([role, one]) => [
      role === "row" ? "whole row" : role, formatCount(one.count), formatPercent(one.share),
      h("div", { class: "cell-text", text: one.examples.slice(0, 3).map((/** @type {any} */ example) => `line ${example.validation} is line ${example.train}: ${example.text}`).join(" · ") }),
    ]);
    const isClean = shared.every(([, one]) => one.count === 0);
    fill(
      find("#overlap"),
      h("div", { class: "banner", dataset: { tone: isClean ? "good" : "warn" } }, isClean ? `None of the ${formatCount(found.rows.validation)} validation rows is in training.` : `Of ${formatCount(found.rows.validation)} validation rows some are in training: what is measured on them is too good.`),
      isClean ? null : plainTable(["Shared", "Rows", "Share", "Examples"], rows, "What both datasets hold"),
    );
  } catch (error) {
    toastError(error);
  } finally {
    end();
  }
}

document.querySelector("#check-again")?.addEventListener("click", () => void checkAgain());
document.querySelector("#delete")?.addEventListener("click", () => void remove());
find("#compare").addEventListener("click", () => void compare());
draw();
listOthers().catch(toastError);
