// @ts-check
import { h, icon } from "../../lib/dom.js";
import { formatAge, formatBytes, formatCount } from "../../lib/format.js";

/**
 * @typedef {object} Item one entry of GET /api/inbox
 * @property {string} id @property {string} name @property {string} state @property {string | null} reason
 * @property {string} priority @property {string} folder @property {number} bytes @property {string | null} sha256
 * @property {{kind?: string, num_pairs?: number, num_groups?: number} | null} facts @property {string | null} recipe
 * @property {{id: string, name: string, state: string} | null} run
 * @property {boolean} can_retry @property {boolean} can_forget @property {number} created_at @property {number} changed_at
 */

/** @type {Record<string, {word: string, icon: string}>} */
export const ITEM_STATES = {
  waiting: { word: "Waiting", icon: "queued" },
  checking: { word: "Checking", icon: "search" },
  queued: { word: "Queued", icon: "queued" },
  training: { word: "Training", icon: "running" },
  done: { word: "Done", icon: "finished" },
  failed: { word: "Failed", icon: "failed" },
  cancelled: { word: "Cancelled", icon: "stopped" },
  duplicate: { word: "Duplicate", icon: "copy" },
};

/** What is known of a dataset, in a line. Pure. @param {Item} item */
export function factWords(item) {
  const { facts } = item;
  const words = item.bytes ? [formatBytes(item.bytes)] : [];
  if (facts?.num_pairs) words.push(`${formatCount(facts.num_pairs)} rows (${facts.kind})`);
  if (item.recipe) words.push(item.recipe);
  if (item.priority !== "normal") words.push(`${item.priority} priority`);
  return words.join(" · ");
}

/** The end of a folder's path, which tells them apart. Pure. @param {string} folder */
export function folderWord(folder) {
  return folder.split("/").slice(-2).join("/");
}

/** What a click on Retry will do. Pure. @param {Item} item */
export function retryWord(item) {
  if (item.state === "duplicate") return "Train it all the same";
  return item.run ? "Start its run again" : "Try again";
}

/** How many stand where, in a line. Pure. @param {Record<string, number>} counts */
export function countWords(counts) {
  const told = Object.entries(ITEM_STATES).filter(([state]) => counts[state] > 0).map(([state, { word }]) => `${counts[state]} ${word.toLowerCase()}`);
  return told.join(", ") || "empty";
}

/** @param {Item} item @param {number} now */
export function itemRow(item, now) {
  const { word, icon: name } = ITEM_STATES[item.state] ?? ITEM_STATES.waiting;
  return h(
    "li",
    { class: "queue-row", dataset: { item: item.id, testid: "inbox-item", state: item.state } },
    h("span", { class: "item-state", dataset: { state: item.state } }, icon(name), word),
    h(
      "div",
      { class: "queue-name" },
      item.run ? h("a", { href: `/runs/${encodeURIComponent(item.run.id)}`, text: item.name }) : h("strong", { text: item.name }),
      h("div", { class: "muted small", text: factWords(item) }),
    ),
    h("div", { class: "queue-when muted small num", title: item.sha256 ? `sha256 ${item.sha256}` : "" }, formatAge(now - item.changed_at), h("div", {}, h("code", { title: item.folder, text: folderWord(item.folder) }))),
    h(
      "div",
      { class: "queue-actions" },
      item.can_retry ? h("button", { type: "button", class: "button button-small", dataset: { action: "retry", testid: "inbox-retry" } }, icon("retrying"), retryWord(item)) : null,
      item.can_forget ? h("button", { type: "button", class: "button button-quiet button-icon", title: "Take it off the list", "aria-label": `Take ${item.name} off the list`, dataset: { action: "forget", testid: "inbox-forget" } }, icon("trash")) : null,
    ),
    item.reason ? h("p", { class: "inbox-reason small", text: item.reason }) : null,
  );
}
