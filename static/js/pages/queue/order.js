// @ts-check
/** The order of what waits, and the words for when it will be its turn. Pure. */
import { formatClock, formatDuration } from "../../lib/format.js";

/**
 * @typedef {object} Waiting one entry of GET /api/queue
 * @property {number} position @property {import("../../lib/run_facts.js").Run} run @property {string} priority
 * @property {number | null} start_at @property {boolean} start_is_latest @property {number | null} end_at
 * @property {number | null} duration_s @property {string} basis
 */

export const PRIORITIES = ["high", "normal", "low"];

/**
 * The queue with one run in another place; a place among runs of another priority gives it that priority.
 * @param {Waiting[]} waiting @param {string} id @param {number} to index it shall have
 * @returns {{ids: string[], priority: string} | null} null when nothing changes
 */
export function moved(waiting, id, to) {
  const from = waiting.findIndex((one) => one.run.id === id);
  const target = Math.max(0, Math.min(waiting.length - 1, to));
  if (from < 0 || from === target) return null;
  const rest = waiting.filter((one) => one.run.id !== id);
  const before = rest[target - 1]?.priority ?? PRIORITIES[0];
  const after = rest[target]?.priority ?? PRIORITIES[PRIORITIES.length - 1];
  const mine = waiting[from].priority;
  const fits = rank(before) <= rank(mine) && rank(mine) <= rank(after);
  // between two priorities it takes that of the neighbour it was moved past
  const priority = fits ? mine : from < target ? before : after;
  const ids = rest.map((one) => one.run.id);
  ids.splice(target, 0, id);
  return { ids, priority };
}

/** @param {string} priority */
function rank(priority) {
  return PRIORITIES.indexOf(priority);
}

/**
 * When it starts, in words; honest where nobody knows.
 * @param {Waiting} one @param {number} now Unix seconds
 */
export function startWords(one, now) {
  if (one.start_at === null) return "start unknown";
  const left = one.start_at - now;
  if (left < 2) return "starts now";
  return `starts ${one.start_is_latest ? "by" : "about"} ${formatClock(one.start_at, now)}, in ${formatDuration(left)}`;
}

/** When it will have ended, in words. @param {Waiting} one @param {number} now */
export function endWords(one, now) {
  if (one.end_at !== null) return `done about ${formatClock(one.end_at, now)}`;
  return one.duration_s === null ? "end unknown" : `takes about ${formatDuration(one.duration_s)}`;
}

/** How an active run stands. @param {{end_at: number | null, basis: string}} one @param {number} now */
export function leftWords(one, now) {
  if (one.end_at === null) return `end unknown: ${one.basis}`;
  const left = one.end_at - now;
  return left < 1 ? "about to end" : `done about ${formatClock(one.end_at, now)}, in ${formatDuration(left)}`;
}

/** One line over the whole queue. @param {{max_runs: number, active: unknown[], waiting: unknown[]}} queue */
export function summary(queue) {
  return `${queue.active.length} of ${queue.max_runs} running, ${queue.waiting.length} waiting`;
}
