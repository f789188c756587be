// @ts-check
import { ApiError, newKey, post, request } from "../../lib/api.js";
import { fill, find, h, icon, setText } from "../../lib/dom.js";
import { formatAge, formatClock, formatCount, formatDuration, formatNumber } from "../../lib/format.js";
import { Pace, fractionDone, secondsLeft } from "../../lib/progress.js";
import { datasetWord, latestLoss, runningSeconds } from "../../lib/run_facts.js";
import { runBadges } from "../../lib/rungs.js";
import { toast, toastError } from "../../lib/shell.js";
import { ENDED, RESUMABLE, stateBadge, stateWord } from "../../lib/states.js";
import { endBanner } from "./banner.js";
import { showSubject } from "./subject.js";
import { StopClock, isUnreachable, markEnded } from "./ending.js";

/** @typedef {import("../../lib/run_facts.js").Run} Run */
/** @typedef {{key: string, word: string, icon: string, kind?: string, title: string, disabled?: boolean}} Action */

const TAKEN = /** @type {Record<string, string>} */ ({
  checkpoint: "A checkpoint will be saved at the next step.",
  snapshot: "The probes will be asked at the next step.",
  pause: "It pauses after the present step.",
});

/**
 * What can be done with a run now, the main thing first.  Pure.
 * @param {Run} run @param {boolean} [unreachable] it should live, but has not been heard of for a minute @returns {Action[]}
 */
export function actionsFor(run, unreachable = false) {
  const mark = { key: "mark-ended", word: "Mark as ended…", icon: "cross", kind: "quiet", title: "Say by hand how it ended" };
  const again = { key: "clone", word: "Run again", icon: "plus", title: "Start a new run with the same settings" };
  const remove = { key: "delete", word: "Delete", icon: "trash", kind: "quiet", title: "Move this run to the trash" };
  if (RESUMABLE.has(run.state)) {
    return [{ key: "start", word: "Start", icon: "play", kind: "go", title: "Go on from the last good checkpoint" }, again, remove, ...(run.state === "lost" ? [mark] : [])];
  }
  if (ENDED.has(run.state)) {
    return [{ key: "start", word: "Start again", icon: "play", kind: "go", title: "Start a new run with the same settings" }, remove];
  }
  if (run.state === "stopping") {
    return [
      { key: "stop", word: "Stopping…", icon: "stop", kind: "stop", title: "It saves a checkpoint and ends", disabled: true },
      { key: "kill", word: "Kill now", icon: "cross", title: "End its processes at once, without a checkpoint" },
      ...(unreachable ? [mark] : []),
    ];
  }
  const stop = { key: "stop", word: "Stop", icon: "stop", kind: "stop", title: "Save a checkpoint and end" };
  if (run.state === "queued") return [{ ...stop, title: "Take it out of the queue" }];
  if (run.state === "retrying") return [{ ...stop, title: "Try it no more" }];
  const asked = [
    { key: "checkpoint", word: "Checkpoint", icon: "checkpoint", title: "Save a checkpoint now" },
    { key: "snapshot", word: "Snapshot", icon: "snapshot", title: "Ask the probes now" },
    ...(unreachable ? [mark] : []),
  ];
  // a script that only prints has no ear
  if (run.script) return [{ ...stop, title: "Ask it to end" }, ...asked.slice(run.heartbeat_at ? 0 : 2)];
  const paused = run.phase === "paused";
  return [
    stop,
    paused
      ? { key: "resume", word: "Resume", icon: "play", title: "Go on training" }
      : { key: "pause", word: "Pause", icon: "pause", title: "Pause between two steps" },
    ...asked,
  ];
}

/** The head of the run page: name, state, buttons, progress, pulse. */
export class Header {
  #pace = new Pace();
  #shown = "";
  #busy = "";
  #unreachable = false;
  #stopClock = new StopClock();
  /** A double click makes one copy. */
  #cloneKey = newKey();
  /** @type {Map<string, Element>} */
  #facts = new Map();

  /** @param {Run} run @param {() => number} now the server's clock @param {(answer: Promise<Run>) => Promise<void>} onAnswer */
  constructor(run, now, onAnswer) {
    this.run = run;
    this.now = now;
    this.onAnswer = onAnswer;
    this.root = find("#run-head", HTMLElement);
    this.actions = find("#run-actions", HTMLElement);
    this.actions.addEventListener("click", (event) => {
      const button = /** @type {HTMLElement} */ (event.target).closest("button");
      if (button?.dataset.action) void this.#act(button.dataset.action);
    });
    const dataset = find("#run-dataset", HTMLAnchorElement);
    showSubject(run);
    setText(dataset, datasetWord(run.dataset));
    dataset.href = `/evolution/${encodeURIComponent(datasetWord(run.dataset))}?run=${encodeURIComponent(run.id)}`;
    this.update(run);
  }

  /** @param {Run} run */
  update(run) {
    this.run = run;
    setText(find("#run-name"), run.name);
    const paused = run.phase === "paused";
    const shown = [run.state, paused, run.reason, run.exit_code, run.exit_signal, JSON.stringify(run.rungs)].join("|");
    if (shown !== this.#shown) {
      this.#shown = shown;
      this.root.dataset.state = run.state;
      fill(find("#run-state"), stateBadge(run.state, { paused }));
      fill(find("#run-rungs"), runBadges(run.rungs));
      fill(find("#run-banner"), endBanner(run));
      this.#busy = "";
      this.#drawActions();
      document.title = `${stateWord(run.state)} · ${run.name} · Signalbox`;
    }
    if (!ENDED.has(run.state)) this.#pace.add(this.now(), run.step);
    this.tick();
  }

  /** What moves with the clock. */
  tick() {
    const { run } = this;
    const now = this.now();
    const ended = ENDED.has(run.state);
    this.#stopClock.tick(`/api/runs/${encodeURIComponent(run.id)}`, run, now);
    if (isUnreachable(run, now) !== this.#unreachable) {
      this.#unreachable = !this.#unreachable;
      this.#drawActions();
    }
    setText(find("#run-step"), formatCount(run.step));
    setText(find("#run-total"), run.total_steps ? ` / ${formatCount(run.total_steps)} steps` : " steps");
    setText(find("#run-epoch"), run.num_epochs ? `epoch ${formatNumber(run.epoch ?? 0, 3)} of ${run.num_epochs}` : "");
    const done = fractionDone(run);
    const bar = find("#run-progress", HTMLElement);
    bar.style.setProperty("--done", `${((done ?? 0) * 100).toFixed(2)}%`);
    bar.querySelector("span")?.style.setProperty("--done", `${((done ?? 0) * 100).toFixed(2)}%`);
    bar.setAttribute("aria-valuenow", String(Math.round((done ?? 0) * 100)));
    const left = ended || run.phase === "paused" ? null : secondsLeft(run, this.#pace.rate, now);
    setText(find("#run-left"), left === null ? "" : `${formatDuration(left)} left`);
    const loss = latestLoss(run);
    const rate = ended || run.phase === "paused" ? null : this.#pace.rate;
    this.#showFacts([
      ["Phase", ended ? "–" : run.phase ?? "–"],
      ["Heartbeat", this.#age(run.heartbeat_at, ended)],
      ["Progress", this.#age(run.progress_at, ended)],
      ["Loss", loss ? formatNumber(loss.value) : "–"],
      ["Pace", rate === null ? "–" : `${formatNumber(rate, 3)} steps/s`],
      [ended ? "Took" : "Running for", formatDuration(runningSeconds(run, now))],
      ["Device", run.device ?? "–"],
      ["Attempt", run.attempt > 0 ? String(run.attempt) : "–"],
    ]);
  }

  /** @param {number | null} at @param {boolean} ended */
  #age(at, ended) {
    if (at === null || at === undefined) return "–";
    return ended ? formatClock(at) : formatAge(this.now() - at);
  }

  /** @param {[string, string][]} facts */
  #showFacts(facts) {
    const place = find("#run-facts", HTMLElement);
    const words = facts.map(([word]) => word).join();
    if (place.dataset.words !== words) {
      place.dataset.words = words;
      this.#facts = new Map(facts.map(([word]) => [word, h("dd")]));
      fill(place, facts.map(([word]) => h("div", {}, h("dt", { text: word }), this.#facts.get(word))));
    }
    for (const [word, value] of facts) setText(this.#facts.get(word) ?? null, value);
  }

  #drawActions() {
    const focused = /** @type {HTMLElement} */ (document.activeElement)?.dataset?.action;
    fill(this.actions, actionsFor(this.run, this.#unreachable).map((action, index) => this.#button(action, index === 0)));
    if (focused) /** @type {HTMLElement | null} */ (this.actions.querySelector(`[data-action="${focused}"]`) ?? this.actions.querySelector("button"))?.focus();
  }

  /** @param {Action} action @param {boolean} main */
  #button({ key, word, icon: name, kind, title, disabled }, main) {
    const busy = this.#busy === key;
    return h(
      "button",
      {
        type: "button", title, disabled: disabled || this.#busy !== "", "aria-busy": busy ? "true" : undefined,
        class: `button${kind ? ` button-${kind}` : ""}${main ? " button-big" : ""}`,
        dataset: { action: key, testid: `${key}-run` },
      },
      icon(name), word,
    );
  }

  /** @param {string} key */
  async #act(key) {
    if (this.#busy) return;
    if (key === "mark-ended") {
      markEnded(this.run, this.onAnswer);
      return;
    }
    if (key === "delete" && !confirm(`Move “${this.run.name}” to the trash?`)) return;
    this.#busy = key;
    this.#drawActions();
    try {
      await this.#send(key);
      if (TAKEN[key]) toast(TAKEN[key]);
    } catch (error) {
      toastError(error);
      if (error instanceof ApiError && error.status === 404) location.assign("/");
    } finally {
      this.#busy = "";
      this.#drawActions();
    }
  }

  /** @param {string} key */
  async #send(key) {
    const path = `/api/runs/${encodeURIComponent(this.run.id)}`;
    if (key === "delete") {
      await request("DELETE", path);
      location.assign("/");
    } else if (key === "clone" || (key === "start" && !RESUMABLE.has(this.run.state))) {
      const fresh = await post(`${path}/clone`, {}, { "Idempotency-Key": this.#cloneKey });
      this.#cloneKey = newKey();
      location.assign(`/runs/${encodeURIComponent(fresh.id)}`);
    } else {
      await this.onAnswer(post(`${path}/${key === "start" ? "resume" : key}`));
    }
  }
}
