// @ts-check
/** What the categories and the lists of the dynamics page are called.  Pure. */
import { formatCount, formatNumber } from "../../lib/format.js";

/** @type {[string, string, string, string][]} name, word, colour, explanation */
export const CATEGORIES = [
  ["learned", "Learned", "--chart-3", "right in the newest snapshot"],
  ["struggling", "Struggling", "--chart-2", "never right, but its loss has fallen by a tenth or more"],
  ["not_learned", "Not learned", "--chart-muted", "never right, and its loss has not fallen"],
  ["forgotten", "Forgotten", "--chart-5", "was right, is wrong now"],
  ["flip_flopping", "Flip-flopping", "--chart-4", "changed between right and wrong three times or more"],
];

/** @type {[string, string, string, (example: any) => string][]} field, title, what it is, what is told of an example */
export const LISTS = [
  ["last_learned", "Learned last", "right for good only lately", (one) => `from step ${formatCount(one.learned_at)} on`],
  ["fastest", "Learned fastest", "right early, and ever since", (one) => `from step ${formatCount(one.learned_at)} on`],
  ["hardest", "Hardest", "the right answer got the least probability", (one) => `confidence ${formatNumber(one.confidence, 3)}`],
  ["most_forgotten", "Forgotten most often", "right turned wrong, again and again", (one) => `${formatCount(one.num_forgotten)} ${one.num_forgotten === 1 ? "time" : "times"}`],
];
