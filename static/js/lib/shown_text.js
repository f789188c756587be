// @ts-check
/** Texts of users and models as a row can show them: short, on one line, every character visible.  Pure. */

const PICTURES = 0x2400; // the block of pictures of control characters
const DELETE = 0x7f;

/**
 * The beginning of a text: white space as single blanks, control characters as their pictures
 * (the escape of a terminal colour is ␛), cut with an ellipsis.
 * @param {unknown} text @param {number} [limit] characters
 */
export function shortText(text, limit = 300) {
  const whole = text === null || text === undefined ? "" : String(text);
  const points = Array.from(whole.slice(0, limit * 4).replaceAll(/\s+/g, " ").trim()); // never half a character
  const isCut = points.length > limit || whole.length > limit * 4;
  const shown = points.slice(0, limit).join("").replaceAll(/[\u0000-\u001f\u007f]/g, pictureOf);
  return isCut ? `${shown}…` : shown;
}

/** @param {string} control */
function pictureOf(control) {
  const code = control.charCodeAt(0);
  return String.fromCharCode(code === DELETE ? 0x2421 : PICTURES + code);
}
