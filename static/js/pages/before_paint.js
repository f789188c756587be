// @ts-check
// Runs before the page is painted (a plain script, modules come too late): the chosen theme, without a flash.
(() => {
  try {
    const chosen = localStorage.getItem("signalbox.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // storage is switched off; the system's choice stands
  }
})();
