// @ts-check
import { get } from "../lib/api.js";
import { fill, find, h, setText } from "../lib/dom.js";
import { openShell, toastError } from "../lib/shell.js";
import { parameterWords, sentence, summaryWords } from "./scripts/words.js";

openShell();

/** @param {any} script */
function row(script) {
  const address = `/runs/new?recipe=script&script=${encodeURIComponent(script.name)}`;
  return h(
    "li",
    { class: "script-row", dataset: { testid: `script-${script.name}` } },
    h(
      "div",
      { class: "words" },
      h("strong", { text: script.title }),
      script.trouble
        ? [h("p", { class: "trouble", text: `${script.trouble.place}: ${script.trouble.message}.` }), h("p", { class: "muted", text: sentence(script.trouble.remedy) })]
        : [script.summary ? h("p", { text: script.summary }) : null, h("p", { class: "muted small", text: parameterWords(script) })],
    ),
    script.trouble ? null : h("a", { class: "button", href: address, text: "New run" }),
  );
}

async function open() {
  try {
    const { scripts, folder } = await get("/api/scripts");
    setText(find("#scripts-folder"), folder);
    setText(find("#scripts-summary"), summaryWords(scripts));
    fill(find("#scripts"), scripts.map(row));
    find("#no-scripts", HTMLElement).hidden = scripts.length > 0;
  } catch (error) {
    toastError(error);
  }
}

void open();
