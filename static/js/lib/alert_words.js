// @ts-check
/** Alerts in words and marks. Pure. */
import { formatAge, formatCount } from "./format.js";

/**
 * @typedef {object} Alert as GET /api/alerts gives it; times in Unix seconds
 * @property {number} id @property {string} run @property {string} run_name @property {number} attempt
 * @property {string | null} category @property {"info" | "warning" | "error"} level
 * @property {string} title @property {string} text @property {number | null} raised_step @property {number} raised_at
 * @property {number | null} resolved_step @property {number | null} resolved_at @property {string | null} outcome
 * @property {number | null} dismissed_at @property {boolean} active
 */

const RANKS = { error: 0, warning: 1, info: 2 };
export const LEVEL_ICONS = { error: "failed", warning: "stalled", info: "info" };
export const LEVEL_TONES = { error: "bad", warning: "warn", info: "calm" };

/** Active ones, the most urgent first; then the others, newest first. @param {Alert[]} alerts */
export function sorted(alerts) {
  const active = alerts.filter((alert) => alert.active).sort((a, b) => RANKS[a.level] - RANKS[b.level] || b.raised_at - a.raised_at);
  const over = alerts.filter((alert) => !alert.active).sort((a, b) => b.raised_at - a.raised_at || b.id - a.id);
  return { active, over };
}

/** Since when, and until when. @param {Alert} alert @param {number} now Unix seconds */
export function alertSpan(alert, now) {
  const since = alert.raised_step === null ? "" : `since step ${formatCount(alert.raised_step)}`;
  if (alert.active) return [since, formatAge(Math.max(0, now - alert.raised_at))].filter(Boolean).join(", ");
  if (alert.resolved_at === null) return [since, "dismissed"].filter(Boolean).join(", ");
  const steps = alert.raised_step === null ? "" : alert.resolved_step === null ? `at step ${formatCount(alert.raised_step)}` : `steps ${formatCount(alert.raised_step)} to ${formatCount(alert.resolved_step)}`;
  return [steps, alert.attempt > 1 ? `attempt ${alert.attempt}` : ""].filter(Boolean).join(", ");
}

/** Where alerts were raised, for the charts; mere remarks are left out. @param {Alert[]} alerts @returns {import("./chart_marks.js").Mark[]} */
export function alertMarks(alerts) {
  return alerts
    .filter((alert) => alert.raised_step !== null && (alert.category !== null || alert.level !== "info"))
    .map((alert) => ({
      kind: "alert", level: alert.level, step: /** @type {number} */ (alert.raised_step), time: alert.raised_at,
      label: `${alert.title}, step ${formatCount(alert.raised_step)}${alert.resolved_at === null ? "" : " (over)"}`,
    }));
}
