// @ts-check
/** Starting points: the first few in sight, the rest behind a click, and in words what the chosen one sets. */
import { fill, find, h, setText } from "../../lib/dom.js";
import { spokenName } from "../../lib/parameters.js";

/** @typedef {{name: string, title: string, params: Record<string, unknown>}} Preset */

const IN_SIGHT = 3;

/** What a preset sets, as a sentence. Pure. @param {Preset | undefined} preset */
export function presetWords(preset) {
  if (!preset) return "";
  const set = Object.entries(preset.params).map(([name, value]) => `${lower(spokenName(name))} ${value === "" ? "empty" : String(value)}`);
  return set.length ? `Sets ${set.join(", ")}; all else keeps its default.` : "Every parameter has its default.";
}

/** @param {string} words */
function lower(words) {
  return /^[A-Z][a-z]/.test(words) && !words.startsWith("LoRA") ? words.charAt(0).toLowerCase() + words.slice(1) : words;
}

/** The row of buttons above the parameters. */
export class Presets {
  /** @type {Preset[]} */
  #presets = [];

  /** @param {(preset: Preset) => void} onUse */
  constructor(onUse) {
    this.onUse = onUse;
    this.place = find("#presets", HTMLElement);
    this.words = find("#preset-words", HTMLElement);
  }

  /** @param {Preset[]} presets */
  draw(presets) {
    this.#presets = presets;
    const buttons = presets.map((preset) =>
      h("button", {
        type: "button", class: "button button-small", dataset: { preset: preset.name }, text: preset.title,
        title: presetWords(preset), onclick: () => this.onUse(preset),
      }));
    const rest = buttons.length > IN_SIGHT + 1 ? buttons.slice(IN_SIGHT) : [];
    fill(
      this.place,
      buttons.slice(0, buttons.length - rest.length),
      rest.length ? h("details", { class: "more-presets" }, h("summary", { text: `More presets (${rest.length})` }), h("div", { class: "presets" }, rest)) : null,
    );
    this.place.hidden = buttons.length === 0;
    this.mark(presets.find((preset) => Object.keys(preset.params).length === 0)?.name);
  }

  /** @param {string | undefined} chosen */
  mark(chosen) {
    for (const button of this.place.querySelectorAll("button")) {
      const is = button.dataset.preset === chosen;
      button.setAttribute("aria-pressed", String(is));
      if (is) button.closest("details")?.setAttribute("open", "");
    }
    setText(this.words, presetWords(this.#presets.find((preset) => preset.name === chosen)));
  }
}
