// @ts-check
/** Marks on a curve: where attempts begin, alerts were raised and checkpoints saved.  Lines, and words to point at. Pure. */

/**
 * @typedef {"attempt" | "checkpoint" | "best" | "alert"} MarkKind
 * @typedef {{step: number, time: number, kind: MarkKind, label: string, level?: string}} Mark
 * @typedef {{x: (mark: Mark) => number, log: boolean, range: number[], width: number}} Place
 *   `x` in the axis's plain units; `range` as Plotly has it; `width` of the axis in pixels
 */

const SYMBOLS = { attempt: "▸", alert: "▲", checkpoint: "", best: "" };
const RANKS = { alert: 0, attempt: 1, checkpoint: 2, best: 2 };
const LEVELS = ["error", "warning", "info"];
const MAX_NOTES = 60; // each is an element of its own
const MAX_WORDS = 8; // lines in one tooltip
const APART_PX = 14; // nearer ones could not be pointed at one by one

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
 * A small sign at the top of each tall line; pointing at it shows its words.  Lines that are nearly at one place
 * share a sign that tells all of them.  Only those in view: Plotly would put the others at the edge.
 * @param {Mark[]} marks @param {Place} place @param {(name: string) => string} token
 */
export function markNotes(marks, place, token) {
  const [low, high] = place.range;
  const inView = marks
    .filter((mark) => SYMBOLS[mark.kind] !== "")
    .map((mark) => ({ mark, x: placed(place, mark) }))
    .filter(({ x }) => x >= low && x <= high)
    .sort((one, other) => one.x - other.x);
  return together(inView, (APART_PX * (high - low)) / Math.max(1, place.width))
    .slice(-MAX_NOTES)
    .map((group) => {
      const told = group.map(({ mark }) => mark).sort((one, other) => weight(one) - weight(other));
      const color = token(markToken(told[0]));
      const words = told.slice(0, MAX_WORDS).map((mark) => (told.length > 1 ? `${SYMBOLS[mark.kind]} ` : "") + escaped(mark.label));
      if (told.length > MAX_WORDS) words.push(`and ${told.length - MAX_WORDS} more`);
      return {
        // annotations on a logarithmic axis count in powers of ten, shapes do not
        x: (group[0].x + group[group.length - 1].x) / 2, xref: "x", y: 1, yref: "paper", xanchor: "center", yanchor: "top",
        showarrow: false, captureevents: true, text: [...new Set(told.map((mark) => SYMBOLS[mark.kind]))].join(""),
        font: { size: 11, color }, hovertext: words.join("<br>"), hoverlabel: { bordercolor: color }, borderpad: 3,
      };
    });
}

/**
 * Neighbours that are less than `apart` from the first of them. @template {{x: number}} T
 * @param {T[]} sorted @param {number} apart @returns {T[][]}
 */
function together(sorted, apart) {
  /** @type {T[][]} */
  const groups = [];
  for (const one of sorted) {
    const last = groups.at(-1);
    if (last && one.x - last[0].x < apart) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

/** What is told first: alerts, the worst before the others. @param {Mark} mark */
function weight(mark) {
  return RANKS[mark.kind] * LEVELS.length + (mark.kind === "alert" ? Math.max(0, LEVELS.indexOf(mark.level ?? "warning")) : 0);
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
