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

/** The value of a custom property on the page, e.g. `--color-text`. @param {string} name */
export function token(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
