// @ts-check
import { h, icon } from "../../lib/dom.js";
import { formatCount, formatDuration, formatExit } from "../../lib/format.js";
import { runningSeconds } from "../../lib/run_facts.js";
import { stopWords } from "./ending.js";
import { stallWords } from "./stall.js";

/** @typedef {import("../../lib/run_facts.js").Run} Run */

/**
 * How a run ended, or why it needs a look, in words; null while there is nothing to say.  Pure.
 * @param {Run} run @returns {{tone: string, icon: string, title: string, text: string} | null}
 */
export function endWords(run) {
  const exit = formatExit(run.exit_code, run.exit_signal);
  const took = formatDuration(runningSeconds(run, run.ended_at ?? 0));
  const steps = `${formatCount(run.step)} step${run.step === 1 ? "" : "s"}`;
  const reason = run.reason ? sentence(run.reason) : "";
  switch (run.state) {
    case "finished":
      return { tone: "good", icon: "finished", title: `Finished after ${steps} in ${took}`, text: [reason, exit && `${capital(exit)}.`].filter(Boolean).join(" ") };
    case "stopped":
      return { tone: "calm", icon: "stopped", title: run.started_at ? `Stopped after ${steps} and ${took}` : "Stopped before it started", text: [reason, exit && `${capital(exit)}.`, run.started_at ? againWords(run) : ""].filter(Boolean).join(" ") };
    case "failed":
      return { tone: "bad", icon: "failed", title: `Failed at step ${formatCount(run.step)}${exit ? `: ${exit}` : ""}`, text: reason || "The log tells what it said last." };
    case "lost":
      return { tone: "warn", icon: "lost", title: "Lost: its supervisor is gone, and nobody can know how it ended", text: reason || `This happens when the machine was switched off. ${againWords(run)}` };
    case "stalled":
      return { tone: "warn", icon: "stalled", title: stallWords(run.reason ?? "").title, text: reason && sentence(stallWords(run.reason ?? "").text) };
    case "retrying":
      return { tone: "warn", icon: "retrying", title: "Between two attempts", text: reason };
    case "stopping":
      return { tone: "warn", icon: "stopping", ...stopWords(run) };
    default:
      return null;
  }
}

/** What Start does with a run that has ended. @param {Run} run */
function againWords(run) {
  return run.script ? "Start runs the script again; it goes on only where it keeps checkpoints of its own." : "Start goes on from its last checkpoint.";
}

/** @param {Run} run */
export function endBanner(run) {
  const words = endWords(run);
  if (!words) return null;
  return h(
    "div",
    { class: "banner", dataset: { tone: words.tone, testid: "end-banner" }, role: words.tone === "bad" ? "alert" : "status" },
    icon(words.icon),
    h("div", {}, h("div", { class: "title", text: words.title }), words.text ? h("div", { class: "banner-text", text: words.text }) : null),
    run.state === "failed" ? h("a", { class: "button button-small banner-action", href: "#log" }, "Show the log") : null,
    run.state === "stopping" ? h("span", { class: "banner-action num", dataset: { stopClock: "" } }) : null,
  );
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** @param {string} text */
function sentence(text) {
  return /[.!?]$/.test(text) ? capital(text) : `${capital(text)}.`;
}
