// @ts-check
/** The stages of a rehearsal as a person follows them: judged, going on, waiting. */

/** @typedef {import("./findings.js").Check} Check */
/** @typedef {{id: string, title: string}} Stage */

/**
 * Every stage with its check, or with how it stands: of those without one the first is going on.
 * @param {{running: boolean, order: Stage[], stages: Check[], report: {stages: Check[]} | null}} status
 * @returns {{stage: Stage, check: Check | null, isRunning: boolean}[]}
 */
export function stagesOf(status) {
  const judged = status.running || status.stages.length > 0 ? status.stages : status.report?.stages ?? [];
  const order = status.order.length > 0 ? status.order : judged;
  const found = new Map(judged.map((check) => [check.id, check]));
  const shown = status.running ? order : order.filter(({ id }) => found.has(id));
  const current = status.running ? shown.find(({ id }) => !found.has(id)) : undefined;
  return shown.map((stage) => ({ stage, check: found.get(stage.id) ?? null, isRunning: stage === current }));
}

/** `Passed: 8 stages in 19.4 s`, or which one broke. @param {{stages: Check[], verdict: string, took_s: number}} report */
export function outcomeOf(report) {
  const broken = report.stages.find((check) => check.verdict !== "ok");
  return broken ? `Broke at: ${broken.title}` : `Passed: ${report.stages.length} stages in ${report.took_s.toFixed(1)} s`;
}

/** @param {Check} check */
export function tookOf(check) {
  const seconds = check.details.took_s;
  return typeof seconds === "number" && seconds > 0 ? `${seconds.toFixed(1)} s` : "";
}
