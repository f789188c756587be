// @ts-check
import { get, post } from "../lib/api.js";
import { fill, find, h, icon, setText } from "../lib/dom.js";
import { formatAge } from "../lib/format.js";
import { everySecond, openShell, toast, toastError } from "../lib/shell.js";
import { checkRow } from "./doctor/check_row.js";
import { endWord, leftoversOf, summaryOf, worstFirst } from "./doctor/findings.js";
import { Verify } from "./doctor/verify.js";

const live = openShell();
const button = find("#run-doctor", HTMLButtonElement);
/** @type {any} */
let status = null;
let isAsking = false;

/** @param {import("./doctor/findings.js").Check} check */
function row(check) {
  const leftovers = leftoversOf(check);
  return checkRow(check, leftovers.length > 0 ? endButton(leftovers) : null);
}

/** @param {{pid: number, create_time: number}[]} leftovers */
function endButton(leftovers) {
  const end = h("button", { class: "button button-stop", type: "button", dataset: { testid: "end-leftovers" } }, icon("stop"), endWord(leftovers.length));
  end.addEventListener("click", async () => {
    end.disabled = true;
    fill(end, icon("stop"), "Ending …");
    try {
      const { ended } = await post("/api/doctor/end-leftovers", { processes: leftovers });
      for (const { pid, outcome } of ended) toast(`Process ${pid}: ${outcome}`);
    } catch (error) {
      toastError(error);
    }
    await load();
  });
  return end;
}

/** @param {any} next */
function show(next) {
  const isRenewed = JSON.stringify(next.report) !== JSON.stringify(status?.report ?? null);
  status = next;
  button.disabled = next.running;
  setText(button.querySelector("span"), next.running ? "Examining …" : next.report ? "Examine again" : "Examine this machine");
  find("#doctor-trouble", HTMLElement).hidden = !next.trouble;
  setText(find("#doctor-trouble-text"), next.trouble ?? "");
  find("#no-report", HTMLElement).hidden = Boolean(next.report);
  setText(find("#no-report h2"), next.running ? "Examining this machine …" : "Not examined yet");
  find("#doctor-report", HTMLElement).hidden = !next.report;
  if (next.report && isRenewed) {
    setText(find("#doctor-summary"), summaryOf(next.report.checks));
    fill(find("#doctor-checks"), worstFirst(next.report.checks).map(row));
  }
  tick();
}

async function load() {
  if (isAsking) return;
  isAsking = true;
  try {
    show(await get("/api/doctor"));
  } catch (error) {
    toastError(error);
  } finally {
    isAsking = false;
  }
}

function tick() {
  if (status === null) return;
  const running = status.running ? "examining, usually 10 to 15 s" : "";
  const age = status.finished_at === null ? "" : `last examined ${formatAge(live.now() - status.finished_at)}`;
  setText(find("#doctor-age"), running || age);
}

button.addEventListener("click", async () => {
  button.disabled = true;
  try {
    show(await post("/api/doctor"));
  } catch (error) {
    button.disabled = false;
    toastError(error);
  }
});
everySecond(() => {
  tick();
  if (status?.running) void load();
});
new Verify(() => live.now());
void load();
