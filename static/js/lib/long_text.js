// @ts-check
/** Whole texts, of which a long one is folded: a megabyte in the page would hold everything up. */
import { h } from "./dom.js";
import { formatCount } from "./format.js";

const SHOWN = 600;
const SHOWN_LINES = 14;

/** The beginning of a text that fits its place, the whole where it is short; no character is cut in two.  Pure. @param {string} text */
export function beginning(text) {
  let end = text.length > SHOWN + SHOWN / 3 ? SHOWN : text.length;
  let at = -1;
  for (let lines = 0; lines < SHOWN_LINES; lines += 1) {
    at = text.indexOf("\n", at + 1);
    if (at === -1 || at >= end) break;
  }
  if (at !== -1 && at < end && text.length - at > 200) end = at;
  const last = text.charCodeAt(end - 1);
  if (end < text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
  return text.slice(0, end);
}

/** Control characters by their pictures, and what would turn letters around by its number: what nobody sees can be meant to mislead.  Pure. @param {string} text */
export function visible(text) {
  return text
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (sign) => (sign === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + sign.charCodeAt(0))))
    .replaceAll(/[\u202d\u202e]/g, (sign) => `[U+${sign.charCodeAt(0).toString(16).toUpperCase()}]`);
}

/** @param {string} text @param {string} [testid] */
export function longText(text, testid) {
  const body = h("p", { class: "long-text", dir: "auto", ...(testid ? { dataset: { testid } } : {}) });
  const short = beginning(text);
  const show = (/** @type {boolean} */ whole) => (body.textContent = visible(whole ? text : `${short}…`));
  if (text === "") return h("p", { class: "long-text muted", text: "(empty)" });
  if (short.length === text.length) {
    body.textContent = visible(text);
    return body;
  }
  show(false);
  const more = h("button", { type: "button", class: "button button-small", "aria-expanded": "false", text: allWords(text) });
  more.addEventListener("click", () => {
    const open = more.getAttribute("aria-expanded") !== "true";
    show(open);
    more.setAttribute("aria-expanded", String(open));
    more.textContent = open ? "Show less" : allWords(text);
  });
  return h("div", { class: "long-text-fold" }, body, more);
}

/** @param {string} text */
function allWords(text) {
  return `Show all ${formatCount(text.length)} characters`;
}
