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

/** Variables, each with its reason. @param {{name: string, value: string, reason: string, source: string}[]} variables */
export function environmentTable(variables) {
  return h(
    "div",
    { class: "environment" },
    variables.map(({ name, value, reason, source }) =>
      h(
        "div",
        { class: "variable" },
        h("code", { class: "variable-name" }, name, h("span", { class: "muted", text: "=" }), h("span", { class: "variable-value", text: value })),
        h("p", { class: "muted small" }, reason, source ? h("span", { class: "chip", text: source }) : null),
      ),
    ),
  );
}
