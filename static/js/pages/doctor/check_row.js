// @ts-check
import { h, icon } from "../../lib/dom.js";
import { VERDICTS, detailText } from "./findings.js";

/**
 * One line of a report: verdict, what was looked at and found, remedy, details.
 * @param {import("./findings.js").Check} check
 * @param {Node | null} [action] a button that does something about it
 */
export function checkRow(check, action = null) {
  const { word, icon: name } = VERDICTS[check.verdict] ?? VERDICTS.note;
  const details = detailText(check.details);
  return h(
    "li",
    { class: "check", dataset: { testid: `check-${check.id}`, verdict: check.verdict } },
    h("span", { class: "verdict", dataset: { verdict: check.verdict } }, icon(name), word),
    h(
      "div",
      { class: "check-body" },
      h("h3", { text: check.title }),
      h("p", { text: check.found }),
      check.remedy ? h("p", { class: "remedy", text: check.remedy }) : null,
      action,
      details ? h("details", {}, h("summary", { text: "Details" }), h("pre", { text: details })) : null,
    ),
  );
}
