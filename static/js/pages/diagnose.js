// @ts-check
import { post } from "../lib/api.js";
import { fill, find, h, setText } from "../lib/dom.js";
import { formatBytes } from "../lib/format.js";
import { openShell, toastError } from "../lib/shell.js";
import { bothEndsOf, readBothEnds } from "../lib/log_ends.js";
import { cardOf } from "./run/finding_card.js";

openShell();
const form = find("#diagnose-form", HTMLFormElement);
const text = find("#log-text", HTMLTextAreaElement);
const code = find("#exit-code", HTMLInputElement);
const platform = find("#platform", HTMLSelectElement);
const stopped = find("#stopped", HTMLInputElement);
const file = find("#log-file", HTMLInputElement);
const button = find("#tell-me", HTMLButtonElement);

const agent = navigator.userAgent;
platform.value = agent.includes("Windows") ? "windows" : agent.includes("Mac OS") ? "darwin" : "linux";

async function diagnose() {
  const exit = code.value.trim();
  button.disabled = true;
  try {
    const { findings } = await post("/api/diagnose", {
      text: bothEndsOf(text.value),
      platform: platform.value,
      stopped_by_user: stopped.checked,
      ...(exit ? { exit_code: Number(exit) } : {}),
    });
    fill(find("#findings"), findings.length ? findings.map((/** @type {any} */ one) => cardOf(one)) : h("p", { class: "card finding", text: nothingFound(exit) }));
  } catch (error) {
    toastError(error);
  } finally {
    button.disabled = false;
  }
}

/** @param {string} exit */
function nothingFound(exit) {
  if (stopped.checked) return "You stopped it yourself: there is nothing to explain.";
  return `Nothing in this log says that it died of anything.${exit ? "" : " If it did die, tell the exit code: some ends leave no words."}`;
}

/** @param {File} chosen */
async function read(chosen) {
  try {
    const { text: content, isCut } = await readBothEnds(chosen);
    text.value = content;
    setText(find("#log-note"), isCut ? `${chosen.name}: the beginning and the end of ${formatBytes(chosen.size)}.` : chosen.name);
    await diagnose();
  } catch (error) {
    toastError(error);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void diagnose();
});
file.addEventListener("change", () => {
  if (file.files?.[0]) void read(file.files[0]);
});
for (const type of ["dragenter", "dragover"]) {
  form.addEventListener(type, (event) => {
    event.preventDefault();
    form.classList.add("is-dropping");
  });
}
form.addEventListener("dragleave", (event) => {
  if (!form.contains(/** @type {Node | null} */ (event.relatedTarget))) form.classList.remove("is-dropping");
});
form.addEventListener("drop", (event) => {
  form.classList.remove("is-dropping");
  const dropped = event.dataTransfer?.files[0];
  if (!dropped) return;
  event.preventDefault();
  void read(dropped);
});
