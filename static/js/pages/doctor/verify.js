// @ts-check
import { get, post } from "../../lib/api.js";
import { fill, find, h, icon, setText } from "../../lib/dom.js";
import { formatAge } from "../../lib/format.js";
import { everySecond, toastError } from "../../lib/shell.js";
import { checkRow } from "./check_row.js";
import { outcomeOf, stagesOf, tookOf } from "./stages.js";

/** The rehearsal: a button, its stages as they are judged, and how the last one went. */
export class Verify {
  /** @type {any} */
  #status = null;
  #shown = "";
  #isAsking = false;

  /** @param {() => number} now seconds, by the server's clock */
  constructor(now) {
    this.now = now;
    this.start = find("#run-verify", HTMLButtonElement);
    this.cancel = find("#cancel-verify", HTMLButtonElement);
    this.start.addEventListener("click", () => this.#ask(this.start, "/api/verify"));
    this.cancel.addEventListener("click", () => this.#ask(this.cancel, "/api/verify/cancel"));
    everySecond(() => {
      this.#tick();
      if (this.#status?.running) void this.load();
    });
    void this.load();
  }

  async load() {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      this.#show(await get("/api/verify"));
    } catch (error) {
      toastError(error);
    } finally {
      this.#isAsking = false;
    }
  }

  /** @param {HTMLButtonElement} button @param {string} path */
  async #ask(button, path) {
    button.disabled = true;
    try {
      this.#show(await post(path));
    } catch (error) {
      button.disabled = false;
      toastError(error);
    }
  }

  /** @param {any} status */
  #show(status) {
    this.#status = status;
    this.start.disabled = status.running;
    setText(this.start.querySelector("span"), status.running ? "Verifying …" : status.report ? "Verify again" : "Verify");
    this.cancel.hidden = !status.running;
    this.cancel.disabled = status.cancelling;
    find("#verify-trouble", HTMLElement).hidden = !status.trouble;
    setText(find("#verify-trouble"), status.trouble ?? "");
    const drawn = JSON.stringify([status.running, status.order, status.stages, status.report]);
    if (drawn !== this.#shown) fill(find("#verify-stages"), stagesOf(status).map(stageRow));
    this.#shown = drawn;
    this.#tick();
  }

  #tick() {
    const status = this.#status;
    if (status === null) return;
    let words = "";
    if (status.cancelling) words = "ending it and cleaning up";
    else if (status.running) words = `${Math.max(0, Math.round(this.now() - status.started_at))} s, usually 15 to 30`;
    else if (status.report) words = `${outcomeOf(status.report)}, ${formatAge(this.now() - status.finished_at)}`;
    setText(find("#verify-state"), words);
  }
}

/** @param {{stage: {id: string, title: string}, check: any, isRunning: boolean}} shown */
function stageRow({ stage, check, isRunning }) {
  if (check) {
    const { took_s, ...details } = check.details;
    const row = checkRow({ ...check, details });
    row.querySelector("h3")?.append(h("span", { class: "muted num stage-time", text: tookOf(check) }));
    return row;
  }
  return h(
    "li",
    { class: "check is-ahead", dataset: { testid: `check-${stage.id}`, verdict: isRunning ? "running" : "waiting" } },
    h("span", { class: "verdict" }, icon(isRunning ? "running" : "queued"), isRunning ? "Going on" : "Waiting"),
    h("div", { class: "check-body" }, h("h3", { text: stage.title })),
  );
}
