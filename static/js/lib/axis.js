// @ts-check
/**
 * What a chart's x axis shows: steps, time since the start, or the clock.  Zoom is kept in the
 * axis's own plain units (steps, or Unix seconds), so that it means the same on every chart. Pure.
 *
 * @typedef {"step" | "relative" | "wall"} XKind
 * @typedef {{kind: XKind, origin: number, log: boolean}} XView `origin` in Unix seconds
 * @typedef {{divisor: number, word: string}} Unit
 */

/** Seconds, minutes or hours, whichever gives short numbers. @param {number} spanSeconds @returns {Unit} */
export function timeUnit(spanSeconds) {
  if (spanSeconds < 300) return { divisor: 1, word: "seconds" };
  if (spanSeconds < 3 * 3600) return { divisor: 60, word: "minutes" };
  return { divisor: 3600, word: "hours" };
}

/** @param {number} unixSeconds local time as Plotly's time-zone-less milliseconds */
function localMilliseconds(unixSeconds) {
  return unixSeconds * 1000 - new Date(unixSeconds * 1000).getTimezoneOffset() * 60_000;
}

/** One x value on the axis. @param {XView} view @param {Unit} unit @param {number} step @param {number} time */
export function toAxis(view, unit, step, time) {
  if (view.kind === "step") return step;
  if (view.kind === "relative") return (time - view.origin) / unit.divisor;
  return localMilliseconds(time);
}

/** @param {XView} view @param {Unit} unit @param {{steps: number[], times: number[]}} columns */
export function axisValues(view, unit, { steps, times }) {
  return steps.map((step, index) => toAxis(view, unit, step, times[index]));
}

/**
 * A range as Plotly reports it, in steps or Unix seconds.
 * @param {XView} view @param {Unit} unit @param {[number | string, number | string]} range
 * @returns {[number, number]}
 */
export function fromAxisRange(view, unit, range) {
  const [from, to] = range.map((edge) => {
    if (view.kind === "wall") {
      const utc = typeof edge === "number" ? edge : Date.parse(`${edge.replace(" ", "T")}Z`);
      return (utc + new Date(utc).getTimezoneOffset() * 60_000) / 1000;
    }
    const plain = view.log ? 10 ** Number(edge) : Number(edge);
    return view.kind === "relative" ? plain * unit.divisor + view.origin : plain;
  });
  return from <= to ? [from, to] : [to, from];
}

/** The inverse: a kept zoom as a Plotly range. @param {XView} view @param {Unit} unit @param {[number, number]} zoom */
export function toAxisRange(view, unit, zoom) {
  return zoom.map((edge) => {
    const value = toAxis(view, unit, edge, edge);
    return view.log ? Math.log10(Math.max(value, 0.5)) : value;
  });
}

/**
 * The range that shows every point.  Worked out here: Plotly's own would remember the shapes of the axis's earlier kind.
 * @param {XView} view @param {Unit} unit @param {{steps: number[], times: number[]}[]} columns @param {number} margin share of the width
 * @returns {number[]}
 */
export function fullRange(view, unit, columns, margin) {
  let [low, high] = [Infinity, -Infinity];
  for (const { steps, times } of columns) {
    // points come in order, so the ends of each series are enough
    for (const index of steps.length > 0 ? [0, steps.length - 1] : []) {
      const value = toAxis(view, unit, steps[index], times[index]);
      const place = view.log ? Math.log10(Math.max(value, 0.5)) : value;
      low = Math.min(low, place);
      high = Math.max(high, place);
    }
  }
  if (high - low < 1e-9) {
    const half = view.kind === "wall" ? 1000 : 1;
    return [low - half, high + half];
  }
  return [low - (high - low) * margin, high + (high - low) * margin];
}

/** Which field of a point the zoom is about. @param {XView} view @returns {"step" | "time"} */
export function zoomField(view) {
  return view.kind === "step" ? "step" : "time";
}
