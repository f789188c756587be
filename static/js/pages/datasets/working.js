// @ts-check
import { setText } from "../../lib/dom.js";

const TICK_MS = 1000;

/**
 * Show that something long goes on: the words with the seconds so far, once there are any.  The caller ends it.
 * @param {(text: string) => void} show @param {string} words @returns {() => void} end
 */
export function working(show, words) {
  const begun = performance.now();
  show(words);
  const timer = setInterval(() => show(`${words} ${Math.round((performance.now() - begun) / 1000)} s`), TICK_MS);
  return () => clearInterval(timer);
}

/** The same on a button, which is disabled meanwhile. @param {HTMLButtonElement} button @param {string} words @returns {() => void} end */
export function workingButton(button, words) {
  const before = button.textContent ?? "";
  button.disabled = true;
  const end = working((text) => setText(button, text), words);
  return () => {
    end();
    setText(button, before);
    button.disabled = false;
  };
}
