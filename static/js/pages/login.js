// @ts-check
import { ApiError, request } from "../lib/api.js";
import { find, setText } from "../lib/dom.js";
import { codeFrom, safeNext } from "../lib/next_address.js";
import { openStillShell } from "../lib/shell.js";

openStillShell();
const status = find("#login-status", HTMLElement);
const help = find("#login-help", HTMLElement);
const form = find("#login-form", HTMLFormElement);
const field = find("#login-code", HTMLInputElement);

/** @param {string} code */
async function logIn(code) {
  status.dataset.tone = "";
  setText(status, "Logging in…");
  try {
    await request("POST", "/api/login", { body: { code } });
    location.replace(safeNext(new URLSearchParams(location.search).get("next"), location.origin));
  } catch (error) {
    status.dataset.tone = "bad";
    setText(status, error instanceof ApiError && error.status !== 0 ? sentence(error.message) : "The server cannot be reached. Is it running?");
    help.hidden = false;
  }
}

/** @param {string} text */
function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

function useFragment() {
  const fragment = location.hash;
  if (!fragment.startsWith("#code=")) return;
  // the code must not stay in the history, nor in a copied address
  history.replaceState(null, "", location.pathname + location.search);
  help.hidden = true;
  void logIn(codeFrom(fragment));
}

useFragment();
// the link may be opened in a tab that shows this page already: only the fragment changes then
addEventListener("hashchange", useFragment);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const code = codeFrom(field.value);
  if (code) void logIn(code);
  else field.focus();
});
