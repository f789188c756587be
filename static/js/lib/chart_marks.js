// @ts-check
/** Marks on a curve: where attempts begin, alerts were raised and checkpoints saved.  Lines, and words to point at. Pure. */

/**
 * @typedef {"attempt" | "checkpoint" | "best" | "alert"} MarkKind
 * @typedef {{step: number, time: number, kind: MarkKind, label: string, level?: string}} Mark
 * @typedef {{x: (mark: Mark) => number, log: boolean, range: number[]}} Place `x` in the axis's plain units; `range` as Plotly has it
 */

const SYMBOLS = { attempt: "▸", alert: "▲", checkpoint: "", best: "" };
const MAX_NOTES = 60; // each is an element of its own

/** The colour a mark is drawn in, as the name of a token. @param {Mark} mark */
export function markToken(mark) {
  if (mark.kind === "attempt") return "--violet";
  if (mark.kind === "alert") return mark.level === "error" ? "--red" : mark.level === "info" ? "--blue" : "--amber";
  return mark.kind === "best" ? "--chart-3" : "--chart-muted";
}

/** Full-height lines for attempts and alerts, ticks at the foot for checkpoints. @param {Mark[]} marks @param {Place} place @param {(name: string) => string} token */
export function markShapes(marks, place, token) {
  return marks.map((mark) => {
    const tall = mark.kind === "attempt" || mark.kind === "alert";
    const x = place.x(mark);
    return {
      type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: tall ? 1 : 0.045, layer: "below",
      line: { color: token(markToken(mark)), width: tall ? 1 : 2, dash: mark.kind === "attempt" ? "dash" : mark.kind === "alert" ? "dot" : "solid" },
    };
  });
}

/**
 * A small sign at the top of each tall line; pointing at it shows its words.  Only those in view: Plotly would
 * put the others at the edge.
 * @param {Mark[]} marks @param {Place} place @param {(name: string) => string} token
 */
export function markNotes(marks, place, token) {
  const [low, high] = place.range;
  return marks
    .filter((mark) => SYMBOLS[mark.kind] !== "")
    .map((mark) => ({ mark, x: placed(place, mark) }))
    .filter(({ x }) => x >= low && x <= high)
    .slice(-MAX_NOTES)
    .map(({ mark, x }) => {
      const color = token(markToken(mark));
      return {
        // annotations on a logarithmic axis count in powers of ten, shapes do not
        x, xref: "x", y: 1, yref: "paper", xanchor: "center", yanchor: "top", showarrow: false, captureevents: true,
        text: SYMBOLS[mark.kind], font: { size: 11, color }, hovertext: escaped(mark.label),
        hoverlabel: { bordercolor: color }, borderpad: 1,
      };
    });
}

/** @param {Place} place @param {Mark} mark */
function placed(place, mark) {
  const x = place.x(mark);
  return place.log ? Math.log10(Math.max(x, 0.5)) : x;
}

/** Plotly reads a few tags in its texts: what a run says is text. @param {string} words */
function escaped(words) {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
