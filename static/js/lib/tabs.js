// @ts-check
/**
 * A row of tabs after the ARIA pattern: arrow keys move, Home and End jump, the address's fragment remembers.
 * @param {HTMLElement} list @param {(key: string) => void} onShow called each time a tab comes up
 * @returns {(key: string) => void} shows a tab
 */
export function tabs(list, onShow) {
  const buttons = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('[role="tab"]')]);
  /** @param {string} key */
  function show(key) {
    for (const button of buttons) {
      const chosen = button.dataset.tab === key;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
      const panel = document.getElementById(`panel-${button.dataset.tab}`);
      if (panel) panel.hidden = !chosen;
    }
    onShow(key);
  }
  /** @param {HTMLElement} button */
  function choose(button) {
    const key = button.dataset.tab ?? "";
    history.replaceState(null, "", key === buttons[0].dataset.tab ? location.pathname + location.search : `#${key}`);
    show(key);
  }
  list.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest('[role="tab"]');
    if (button instanceof HTMLElement) choose(button);
  });
  list.addEventListener("keydown", (event) => {
    const index = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const target = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (index === -1 || target === undefined) return;
    event.preventDefault();
    const button = buttons[(target + buttons.length) % buttons.length];
    button.focus();
    choose(button);
  });
  const fromAddress = () => {
    const wanted = location.hash.slice(1);
    show(buttons.some((button) => button.dataset.tab === wanted) ? wanted : buttons[0].dataset.tab ?? "");
  };
  addEventListener("hashchange", fromAddress);
  fromAddress();
  return show;
}
