// @ts-check
/** What is trained on what, below the run's name: a script without a file stands in the place of its dataset. */
import { find, setText } from "../../lib/dom.js";

/** The words. Pure. @param {{recipe: string, script?: string, dataset: string}} run @returns {{subject: string, hasDataset: boolean}} */
export function subjectOf({ recipe, script, dataset }) {
  return script ? { subject: dataset === script ? "script" : `script ${script}`, hasDataset: dataset !== script } : { subject: recipe, hasDataset: true };
}

/** @param {{recipe: string, script?: string, dataset: string}} run */
export function showSubject(run) {
  const { subject, hasDataset } = subjectOf(run);
  setText(find("#run-recipe"), subject);
  find("#run-on", HTMLElement).hidden = !hasDataset;
}
