// @ts-check
/** Rungs of the fallback ladder, as badges. */
import { h, icon } from "./dom.js";

/** @typedef {{rung: string, title: string, changes_numbers?: boolean, is_unsafe?: boolean}} Rung */

/** How a rung is marked: what may make results wrong, what makes them different, or neither. Pure. @param {Rung} rung */
export function rungTone(rung) {
  if (rung.is_unsafe) return "unsafe";
  return rung.changes_numbers ? "numbers" : "plain";
}

/** @type {Record<string, {word: string, help: string}>} */
const TONES = {
  unsafe: { word: "unsafe", help: "Results may be silently wrong" },
  numbers: { word: "changes numbers", help: "Losses differ from those of a run that never needed it" },
  plain: { word: "same numbers", help: "Losses are those of a run that never needed it" },
};

/** @param {string} tone @param {string} [why] what it is about, for the tooltip */
export function toneBadge(tone, why = "") {
  const { word, help } = TONES[tone] ?? TONES.plain;
  return h(
    "span",
    { class: "rung-badge", title: why ? `${why}: ${help.toLowerCase()}` : help, dataset: { tone, testid: `badge-${tone}` } },
    tone === "plain" ? null : icon("stalled"),
    word,
  );
}

/** The badges of a run: at most one per tone, worst first; plain rungs need none. Pure.
 * @param {Rung[] | undefined} rungs @returns {{tone: string, why: string}[]} */
export function badgesOf(rungs) {
  return ["unsafe", "numbers"].flatMap((tone) => {
    const titles = (rungs ?? []).filter((rung) => rungTone(rung) === tone).map((rung) => rung.title);
    return titles.length ? [{ tone, why: titles.join(", ") }] : [];
  });
}

/** @param {Rung[] | undefined} rungs */
export function runBadges(rungs) {
  return badgesOf(rungs).map(({ tone, why }) => toneBadge(tone, why));
}
