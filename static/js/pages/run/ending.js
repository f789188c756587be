// @ts-check
/** How a run is brought to its end: what phase its stop is in, and marking one as ended by hand. */
import { get, post, query } from "../../lib/api.js";
import { h, setText } from "../../lib/dom.js";
import { formatDuration } from "../../lib/format.js";
import { toastError } from "../../lib/shell.js";
import { ACTIVE } from "../../lib/states.js";

/** @typedef {import("../../lib/run_facts.js").Run} Run */

const SILENT_S = 60;
const ASKED = /^asked to stop, killed after (\d+(?:\.\d+)?) s/;
export const KILLING = "to be killed at once";

/** Seconds of grace the trainer was given; null until its supervisor has asked it. Pure. @param {string | null} reason */
export function graceOf(reason) {
  if (reason === KILLING) return 0;
  const found = ASKED.exec(reason ?? "");
  return found ? Number(found[1]) : null;
}

/** What phase a stop is in, in words. Pure. @param {Run} run */
export function stopWords(run) {
  const grace = graceOf(run.reason);
  if (grace === null) {
    return { title: "Stopping: the order is on its way", text: "Its supervisor has not confirmed it yet; it is told again until it does." };
  }
  if (grace === 0) {
    return { title: "Killing: its processes are being ended at once", text: "There will be no last checkpoint." };
  }
  return {
    title: "Stopping: asked to save a checkpoint and end",
    text: `What still runs ${formatDuration(grace)} after it was asked is killed. Kill now does not wait, and saves nothing.`,
  };
}

/** How long until it is killed, in words; empty when nobody knows. Pure. @param {Run} run @param {number | null} askedAt @param {number} now */
export function graceLeft(run, askedAt, now) {
  const grace = graceOf(run.reason);
  if (run.state !== "stopping" || !grace || askedAt === null) return "";
  const left = askedAt + grace - now;
  return left > 0 ? `killed in ${Math.ceil(left)} s` : "being killed";
}

/** Whether a run should live but has not been heard of for a minute. Pure. @param {Run} run @param {number} now */
export function isUnreachable(run, now) {
  const heard = Math.max(run.heartbeat_at ?? 0, run.progress_at ?? 0, run.started_at ?? run.created_at ?? 0);
  return ACTIVE.has(run.state) && now - heard > SILENT_S;
}

/** Counts the grace down in the banner of a stopping run. */
export class StopClock {
  #asked = /** @type {number | null} */ (null);
  #for = "";

  /** @param {string} path the run's address @param {Run} run @param {number} now */
  tick(path, run, now) {
    const key = run.state === "stopping" ? `${run.attempt}|${run.reason}` : "";
    if (key !== this.#for) {
      this.#for = key;
      this.#asked = null;
      if (key) void this.#find(path, key);
    }
    const place = document.querySelector("[data-stop-clock]");
    if (place) setText(place, graceLeft(run, this.#asked, now));
  }

  /** @param {string} path @param {string} key */
  async #find(path, key) {
    try {
      const { events } = await get(`${path}/events${query({ types: "state", limit: 20 })}`);
      const asked = events.findLast((/** @type {any} */ event) => event.state === "stopping");
      if (asked && this.#for === key) this.#asked = asked.t;
    } catch (error) {
      toastError(error);
    }
  }
}

/** Ask how the run ended, and tell the server. @param {Run} run @param {(answer: Promise<Run>) => Promise<void>} onAnswer */
export function markEnded(run, onAnswer) {
  const state = h(
    "select",
    { class: "select", dataset: { testid: "mark-state" } },
    h("option", { value: "stopped", text: "Stopped: somebody wanted it to end" }),
    h("option", { value: "failed", text: "Failed: it broke" }),
  );
  const reason = h("input", { class: "input", maxlength: 500, autocomplete: "off", placeholder: "e.g. the machine was switched off", dataset: { testid: "mark-reason" } });
  const error = h("p", { class: "field-error", role: "alert" });
  const cancel = h("button", { type: "button", class: "button" }, "Cancel");
  const dialog = h(
    "dialog",
    { class: "card mark-ended", dataset: { testid: "mark-ended" }, "aria-label": "Mark as ended" },
    h(
      "form",
      { method: "dialog", class: "mark-ended-form" },
      h("h2", { text: "Mark as ended" }),
      h("p", { class: "muted", text: "For a run that nobody can reach any more. It is refused while its supervisor lives; Stop or Kill reach that." }),
      h("label", { class: "field" }, h("span", { class: "field-label", text: "How it ended" }), state),
      h("label", { class: "field" }, h("span", { class: "field-label", text: "Reason, if you know it" }), reason),
      error,
      h("div", { class: "mark-ended-foot" }, cancel, h("button", { type: "submit", class: "button button-stop", dataset: { testid: "mark-confirm" } }, "Mark as ended")),
    ),
  );
  cancel.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = reason.value.trim();
    try {
      await onAnswer(post(`/api/runs/${encodeURIComponent(run.id)}/mark-ended`, said ? { state: state.value, reason: said } : { state: state.value }));
      dialog.close();
    } catch (problem) {
      const { message, hint } = /** @type {any} */ (problem);
      setText(error, hint ? `${message} ${hint}` : message);
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}
