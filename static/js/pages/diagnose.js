// @ts-check
import { post } from "../lib/api.js";
import { fill, find, h } from "../lib/dom.js";
import { openShell, toastError } from "../lib/shell.js";
import { bothEnds } from "../lib/log_ends.js";
import { cardOf } from "./run/banner.js";

openShell();
const form = find("#diagnose-form", HTMLFormElement);
const text = find("#log-text", HTMLTextAreaElement);
const code = find("#exit-code", HTMLInputElement);

async function diagnose() {
  const exit = code.value.trim();
  try {
    const { findings } = await post("/api/diagnose", { text: bothEnds(text.value), ...(exit ? { exit_code: Number(exit) } : {}) });
    fill(
      find("#findings"),
      findings.length ? findings.map(cardOf) : h("p", { class: "card finding", text: "Nothing in this log says that it died of anything." }),
    );
  } catch (error) {
    toastError(error);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void diagnose();
});
form.addEventListener("dragover", (event) => event.preventDefault());
form.addEventListener("drop", (event) => {
  const file = event.dataTransfer?.files[0];
  if (!file) return;
  event.preventDefault();
  file.text().then((content) => {
    text.value = bothEnds(content);
    return diagnose();
  }, toastError);
});
