// @ts-check
import { find } from "../../lib/dom.js";

/** The word the person chose for the run's place in the queue. */
export function chosenPriority() {
  return find("#priority", HTMLSelectElement).value;
}
