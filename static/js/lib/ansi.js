// @ts-check
/**
 * Terminal output as coloured pieces of plain text.
 *
 * Only colours and weight survive (SGR codes on an allow-list); every other escape sequence and
 * control character is dropped, so nothing in a log can reach beyond its own text.
 *
 * @typedef {{text: string, classes: string[]}} Piece
 */

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// CSI … letter | OSC … BEL or ST | two-character escapes
const ESCAPE = /\u001b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** @param {string} line @returns {string} without escapes and control characters */
export function stripAnsi(line) {
  return line.replace(ESCAPE, "").replace(CONTROL, "");
}

/**
 * @param {string} line one line; what a carriage return overwrote is dropped
 * @returns {Piece[]}
 */
export function parseAnsi(line) {
  const shown = afterCarriageReturns(line);
  /** @type {Piece[]} */
  const pieces = [];
  let colour = "";
  let bold = false;
  let from = 0;
  const push = (/** @type {string} */ raw) => {
    const text = raw.replace(CONTROL, "");
    if (text === "") return;
    const classes = [];
    if (colour) classes.push(`ansi-${colour}`);
    if (bold) classes.push("ansi-bold");
    pieces.push({ text, classes });
  };
  for (const match of shown.matchAll(ESCAPE)) {
    push(shown.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") ({ colour, bold } = applySgr(match[1], colour, bold));
  }
  push(shown.slice(from));
  return pieces;
}

/** @param {string} line */
function afterCarriageReturns(line) {
  const whole = line.endsWith("\r") ? line.slice(0, -1) : line;
  return whole.slice(whole.lastIndexOf("\r") + 1);
}

/** @param {string} parameters @param {string} colour @param {boolean} bold */
function applySgr(parameters, colour, bold) {
  const codes = parameters === "" ? [0] : parameters.split(/[;:]/).map(Number);
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index];
    if (code === 38 || code === 48) {
      index += codes[index + 1] === 5 ? 2 : 4; // palette and true colours have operands: skip them
    } else if (code === 0) {
      [colour, bold] = ["", false];
    } else if (code === 1) {
      bold = true;
    } else if (code === 22) {
      bold = false;
    } else if (code === 39) {
      colour = "";
    } else if (code >= 30 && code <= 37) {
      colour = COLOURS[code - 30];
    } else if (code >= 90 && code <= 97) {
      colour = COLOURS[code - 90];
    }
  }
  return { colour, bold };
}
