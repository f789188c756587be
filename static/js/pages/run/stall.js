// @ts-check
import { get, query } from "../../lib/api.js";
import { fill, find, h } from "../../lib/dom.js";

/** @typedef {import("../../lib/run_facts.js").Run} Run */
/** @typedef {{verdict: string, frame: string, caller: string, code: string, threads: string[]}} Story */

/** @type {Record<string, string>} */
const TITLES = {
  slow: "Alive, but far slower than before",
  "busy-stuck": "Computing, but not advancing",
  deadlocked: "Deadlocked: nothing moves any more",
  stopped: "Suspended from outside",
  "blocked-on-io": "Blocked: it waits for input or output",
  "silent-phase": "Silent for longer than this phase should be",
};

/** @type {Record<string, string>} */
const REMEDIES = {
  OpenMP: "A native library waits for its threads. Stop it and start it again with the profile “safe”, which gives every library one thread.",
  DataLoader: "It waits for the processes that load its batches. Stop it and start it again with 0 workers.",
  generate: "It is generating text, which can take very long in the middle of training. Fewer or shorter generations help.",
  lock: "It waits for a lock or for another thread that never comes back.",
  io: "It waits for a file, a pipe or the network. Look whether disk and network answer.",
  "user code": "It is in the code of the recipe itself, at the place named above.",
};

/**
 * What a stalled run's reason says, as a title and a sentence. Pure.
 * @param {string} reason @returns {{title: string, text: string}}
 */
export function stallWords(reason) {
  const [verdict = ""] = reason.split(":", 1);
  const title = TITLES[verdict];
  return title ? { title, text: reason.slice(verdict.length + 1).trim() } : { title: "Alive, but not advancing", text: reason };
}

/**
 * Where the attempt stood when it stalled last, unless it got going again; the main thread first. Pure.
 * @param {any[]} events stall and stacks events, oldest first @param {number} attempt @returns {Story | null}
 */
export function stallStory(events, attempt) {
  const mine = events.filter((event) => event.attempt === attempt);
  const began = mine.findLastIndex((event) => event.type === "stall");
  if (began < 0 || mine[began].what !== "began") return null;
  const stacks = mine.slice(began).findLast((event) => event.type === "stacks");
  if (!stacks) return null;
  const threads = String(stacks.text).trim().split(/\n\s*\n/).reverse();
  return { verdict: stacks.verdict, frame: stacks.frame, caller: stacks.caller, code: stacks.code, threads };
}

/** @param {Story} story */
function stackCard(story) {
  const place = story.caller === story.frame ? null : h("p", {}, "Called from ", h("code", { text: story.caller }), ".");
  const [main = "", ...others] = story.threads;
  return h(
    "section",
    { class: "card stall", dataset: { testid: "stall" } },
    h("div", { class: "card-head" }, h("h2", { text: "Where it stands" }), h("span", { class: "end chip", text: story.code })),
    h(
      "div",
      { class: "card-body" },
      h("p", {}, "In ", h("code", { dataset: { testid: "stall-frame" }, text: story.frame }), "."),
      place,
      REMEDIES[story.code] ? h("p", { class: "muted", text: REMEDIES[story.code] }) : null,
      h("details", {}, h("summary", { text: "Stack of the main thread" }), h("pre", { class: "stack", text: main })),
      others.length ? h("details", {}, h("summary", { text: `Other threads (${others.length})` }), h("pre", { class: "stack", text: others.join("\n\n") })) : null,
    ),
  );
}

/** Show where the run stands while it is stalled, and where it stood if it ended so. @param {string} path @param {Run} run */
export async function showStall(path, run) {
  const may = ["stalled", "stopping", "failed", "stopped", "lost"].includes(run.state);
  const story = may ? stallStory((await get(`${path}/events${query({ types: "stall,stacks", limit: 50 })}`)).events, run.attempt) : null;
  const shown = story ? `${story.frame}|${story.threads.length}|${story.verdict}` : "";
  const root = find("#run-stall", HTMLElement);
  if (root.dataset.shown === shown) return; // leave open what a reader has opened
  root.dataset.shown = shown;
  fill(root, story ? stackCard(story) : null);
}
