// @ts-check
import { readAddress, writeAddress } from "../../lib/evolution_address.js";

/** @typedef {import("../../lib/evolution_address.js").EvolutionView} EvolutionView */
/** @typedef {{place: number, shift: number}} Position how far the list was scrolled */

/**
 * Keeps the address of what is on screen.  Each choice is a step for the back button; a row of the
 * same kind of small changes (a drag along the timeline, letters of a search) is one step.
 */
export class AddressBar {
  #kind = "";

  /** @param {(view: EvolutionView) => void} onBack */
  constructor(onBack) {
    history.scrollRestoration = "manual"; // the list is empty when the browser would restore it
    addEventListener("popstate", () => {
      this.#kind = "";
      onBack(readAddress(location.search));
    });
  }

  /** @param {EvolutionView} view @param {"" | "step" | "search"} [kind] of a small change */
  say(view, kind = "") {
    const address = location.pathname + writeAddress(view);
    if (address === location.pathname + location.search) return;
    if (kind !== "" && kind === this.#kind) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    this.#kind = kind;
  }

  /** Remember for the way back where the reader was. @param {Position} position */
  keep(position) {
    history.replaceState({ position }, "", location.href);
  }

  /** @returns {Position | null} where the reader was, coming back to this page */
  get position() {
    const kept = history.state?.position;
    return Number.isInteger(kept?.place) && Number.isFinite(kept?.shift) ? kept : null;
  }
}
