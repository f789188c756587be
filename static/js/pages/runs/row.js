// @ts-check
import { fill, h, icon, setText } from "../../lib/dom.js";
import { formatAge, formatCount, formatDuration, formatExit, formatNumber } from "../../lib/format.js";
import { Pace, fractionDone, secondsLeft } from "../../lib/progress.js";
import { datasetWord, latestLoss, runningSeconds } from "../../lib/run_facts.js";
import { runBadges } from "../../lib/rungs.js";
import { Sparkline } from "../../lib/sparkline.js";
import { ENDED, stateBadge } from "../../lib/states.js";

/** @typedef {import("../../lib/run_facts.js").Run} Run */

/** One row of the runs table, updated in place so that nothing jumps or loses focus. */
export class RunRow {
  #pace = new Pace();
  #spark = new Sparkline();
  #shownState = "";
  #shownRungs = "";
  #state = h("td", { class: "cell-state" });
  #link = h("a", { class: "run-link" });
  #alerts = h("a", { class: "alert-count", hidden: true, dataset: { testid: "alert-count" } });
  #sub = h("div", { class: "muted small run-sub" });
  #rungs = h("div", { class: "run-rungs" });
  #steps = h("div", { class: "steps num small" });
  #bar = h("span");
  #left = h("td", { class: "num cell-left", dataset: { label: "Time left" } });
  #loss = h("span", { class: "num" });
  #beat = h("td", { class: "num cell-beat", dataset: { label: "Heartbeat" } });
  #device = h("td", { class: "cell-device", dataset: { label: "Device" } });

  /** @param {Run} run @param {number} now Unix seconds */
  constructor(run, now) {
    const progress = h("div", { class: "progress", role: "progressbar", "aria-label": "Steps done" }, this.#bar);
    this.progress = progress;
    this.element = h(
      "tr",
      { dataset: { testid: "run-row", run: run.id } },
      this.#state,
      h("td", { class: "cell-run" }, this.#link, this.#alerts, this.#sub, this.#rungs),
      h("td", { class: "cell-progress" }, this.#steps, progress),
      this.#left,
      h("td", { class: "cell-loss" }, h("div", { class: "loss" }, this.#loss, this.#spark.element)),
      this.#beat,
      this.#device,
    );
    this.#link.href = `/runs/${encodeURIComponent(run.id)}`;
    this.#alerts.href = this.#link.href;
    this.update(run, now);
  }

  /** @param {Run} run @param {number} now */
  update(run, now) {
    const paused = run.phase === "paused";
    const state = `${run.state}/${paused}`;
    if (state !== this.#shownState) {
      this.#shownState = state;
      this.element.dataset.state = run.state;
      fill(this.#state, stateBadge(run.state, { paused }));
    }
    const rungs = JSON.stringify(run.rungs ?? []);
    if (rungs !== this.#shownRungs) {
      this.#shownRungs = rungs;
      fill(this.#rungs, runBadges(run.rungs));
    }
    setText(this.#link, run.name);
    this.#alerts.hidden = !run.active_alerts;
    const counted = `${run.active_alerts} alert${run.active_alerts === 1 ? "" : "s"}`;
    if (run.active_alerts && this.#alerts.textContent !== counted) fill(this.#alerts, icon("stalled"), counted);
    setText(this.#sub, `${run.recipe} · ${datasetWord(run.dataset)}`);
    setText(this.#steps, `${formatCount(run.step)}${run.total_steps ? ` / ${formatCount(run.total_steps)}` : ""}`);
    const done = fractionDone(run);
    this.#bar.style.setProperty("--done", `${((done ?? 0) * 100).toFixed(2)}%`);
    this.progress.setAttribute("aria-valuenow", String(Math.round((done ?? 0) * 100)));
    const loss = latestLoss(run);
    setText(this.#loss, loss ? formatNumber(loss.value) : "–");
    if (!ENDED.has(run.state)) {
      this.#pace.add(now, run.step);
      if (loss) this.#spark.push(loss.value);
    }
    setText(this.#device, run.device ?? "–");
    this.tick(run, now);
  }

  /** @param {Run} run @param {number} now */
  tick(run, now) {
    const ended = ENDED.has(run.state);
    this.#left.dataset.label = ended ? "Time" : "Time left";
    this.#beat.dataset.label = ended ? "End" : "Heartbeat";
    if (ended) {
      setText(this.#left, `took ${formatDuration(runningSeconds(run, now))}`);
      setText(this.#beat, run.state === "failed" ? formatExit(run.exit_code, run.exit_signal) || "ended" : `ended ${formatAge(run.ended_at === null ? null : now - run.ended_at)}`);
    } else {
      const left = run.phase === "paused" ? null : secondsLeft(run, this.#pace.rate, now);
      setText(this.#left, left === null ? "–" : formatDuration(left));
      setText(this.#beat, run.heartbeat_at === null ? "–" : formatAge(now - run.heartbeat_at));
    }
    this.#left.classList.toggle("muted", ended);
    this.#beat.classList.toggle("muted", ended);
  }

  /** @param {(number | null)[]} values history of the loss */
  spark(values) {
    this.#spark.reset(values);
  }
}
