// @ts-check
import { h, icon } from "./dom.js";
import { toast } from "./shell.js";

/** An argument as a shell would need it, for reading and pasting. @param {string} argument */
export function shellWord(argument) {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

/** A button that copies what `text` gives. @param {() => string} text @param {string} [word] */
export function copyButton(text, word = "Copy") {
  return h(
    "button",
    {
      type: "button",
      class: "button button-small button-quiet",
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text());
          toast("Copied.");
        } catch {
          toast("This browser does not let the page copy; select the text instead.", { tone: "bad" });
        }
      },
    },
    icon("copy"),
    word,
  );
}

/** @param {string[]} command */
export function commandBlock(command) {
  const text = command.map(shellWord).join(" ");
  return h("div", { class: "command-block" }, h("pre", {}, h("code", { text })), copyButton(() => text));
}

/**
 * @typedef {object} Variable
 * @property {string} name @property {string} value @property {string} reason @property {string} source
 * @property {string} [reference] @property {{value: string, source: string} | null} [replaced]
 */

/** Where a reason is known from: an address as a link, anything else as a word. @param {string | undefined} reference */
function referenceOf(reference) {
  if (!reference) return null;
  if (!reference.startsWith("https://")) return h("span", { class: "chip", text: reference });
  return h("a", { href: reference, rel: "noreferrer", target: "_blank", title: reference, text: "source" });
}

/** What a variable has taken over, in words; empty where it replaced nothing. Pure. @param {Variable} variable */
export function replacedWords({ value, replaced }) {
  if (!replaced) return "";
  if (replaced.value === value) return `the same as before (${replaced.source})`;
  return `instead of ${replaced.value === "" ? "nothing" : replaced.value} (${replaced.source})`;
}

/** Variables, each with its reason. @param {Variable[]} variables */
export function environmentTable(variables) {
  return h(
    "div",
    { class: "environment" },
    variables.map((variable) => {
      const { name, value, reason, source, reference } = variable;
      const replaced = replacedWords(variable);
      return h(
        "div",
        { class: "variable", dataset: { variable: name } },
        h("code", { class: "variable-name" }, name, h("span", { class: "muted", text: "=" }), h("span", { class: "variable-value", text: value })),
        h("p", { class: "muted small" }, reason, source ? h("span", { class: "chip", text: source, dataset: { source } }) : null, " ", referenceOf(reference)),
        replaced ? h("p", { class: "variable-replaced", text: replaced }) : null,
      );
    }),
  );
}
