// @ts-check
/** Light and dark: the system's choice, unless the reader made another (`before_paint.js` applies it on loading). */

const KEY = "signalbox.theme";

/** @returns {"light" | "dark"} what is on screen now */
export function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function toggleTheme() {
  const next = currentTheme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // not remembered, still applied
  }
  dispatchEvent(new CustomEvent("themechange"));
}

/** @param {() => void} listener called when the colours of the page have changed */
export function onThemeChange(listener) {
  addEventListener("themechange", listener);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", listener);
}

/** @type {Map<string, string>} */
const known = new Map();

/** The value of a custom property on the page, e.g. `--color-text`; charts ask for it at every redraw. @param {string} name */
export function token(name) {
  const theme = currentTheme();
  const key = `${theme} ${name}`;
  const value = known.get(key) ?? getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  known.set(key, value);
  return value;
}
