// @ts-check
import { get, post, request } from "../lib/api.js";
import { find, setText } from "../lib/dom.js";
import { formatAge, formatCount } from "../lib/format.js";
import { notifierState, show, switchOff, switchOn } from "../lib/notifier.js";
import { openShell, toast, toastError } from "../lib/shell.js";

const WORDS = {
  on: "On in this browser.",
  off: "Off. Your browser will ask for permission when you switch it on.",
  denied: "Your browser refuses notifications of this address. Allow them in its settings for this site, then switch on here.",
  unsupported: "This browser shows no notifications of pages at this address: it wants localhost, 127.0.0.1 or https.",
};
const COUNTS_EVERY_MS = 3000;
const live = openShell();

function openNotifications() {
  const button = find("#notify-switch", HTMLButtonElement);
  const test = find("#notify-test", HTMLButtonElement);
  const draw = () => {
    const state = notifierState();
    button.setAttribute("aria-checked", String(state === "on"));
    button.disabled = state === "unsupported";
    test.hidden = state !== "on";
    setText(find("#notify-state"), WORDS[state]);
  };
  button.addEventListener("click", () => {
    if (notifierState() === "on") {
      switchOff();
      draw();
    } else {
      void switchOn().then(draw);
    }
  });
  test.addEventListener("click", () => show({ key: "test", tag: "signalbox/test", title: "Signalbox", body: "Notifications work.", url: location.pathname }));
  draw();
}

/** @param {HTMLElement} card */
function openWebhook(card) {
  const toggle = find("#webhook-switch", HTMLButtonElement, card);
  const url = find("#webhook-url", HTMLInputElement, card);
  const secret = find("#webhook-secret", HTMLInputElement, card);
  const level = find("#webhook-level", HTMLSelectElement, card);
  const outcome = find("#webhook-outcome", HTMLElement, card);
  let enabled = false;

  /** @param {any} webhook */
  const draw = (webhook) => {
    enabled = webhook.enabled;
    toggle.disabled = false;
    toggle.setAttribute("aria-checked", String(enabled));
    setText(find("#webhook-counts", HTMLElement, card), countWords(webhook));
  };
  /** @param {any} webhook */
  const fillIn = (webhook) => {
    url.value = webhook.url;
    url.readOnly = webhook.is_fixed;
    level.value = webhook.min_level;
    secret.value = "";
    secret.placeholder = webhook.has_secret ? "set; leave empty to keep it" : "none";
    setText(find("#webhook-url-note", HTMLElement, card), webhook.is_fixed ? "Set by SIGNALBOX_WEBHOOK_URL or signalbox.toml." : "http or https; redirects are not followed.");
    draw(webhook);
  };
  /** @param {object} changes @returns {Promise<boolean>} */
  const change = async (changes) => {
    try {
      fillIn(await request("PATCH", "/api/settings/webhook", { body: changes }));
      url.removeAttribute("aria-invalid");
      return true;
    } catch (error) {
      if (/** @type {any} */ (error)?.field === "url") url.setAttribute("aria-invalid", "true");
      toastError(error);
      return false;
    }
  };
  const entered = () => ({
    ...(url.readOnly ? {} : { url: url.value.trim() }),
    ...(secret.value ? { secret: secret.value } : {}),
    min_level: level.value,
  });
  find("#webhook-form", HTMLFormElement, card).addEventListener("submit", (event) => {
    event.preventDefault();
    const removed = !url.readOnly && url.value.trim() === "" ? { enabled: false } : {};
    void change({ ...entered(), ...removed }).then((saved) => saved && toast("Saved"));
  });
  toggle.addEventListener("click", () => void change({ ...(enabled ? {} : entered()), enabled: !enabled }));
  find("#webhook-test", HTMLButtonElement, card).addEventListener("click", async () => {
    if (!(await change(entered()))) return;
    setText(outcome, "sending …");
    try {
      const { ok, words } = await post("/api/settings/webhook/test");
      outcome.dataset.tone = ok ? "good" : "bad";
      setText(outcome, ok ? `It arrived: ${words}.` : `It failed: ${words}.`);
    } catch (error) {
      setText(outcome, "");
      toastError(error);
    }
  });
  get("/api/settings/webhook").then(fillIn).catch(toastError);
  setInterval(() => {
    if (document.visibilityState === "visible") get("/api/settings/webhook").then(draw).catch(() => {});
  }, COUNTS_EVERY_MS);
}

/** What became of the messages, in words. @param {any} webhook */
function countWords(webhook) {
  const parts = [`${formatCount(webhook.sent)} sent`];
  if (webhook.waiting) parts.push(`${formatCount(webhook.waiting)} waiting`);
  if (webhook.failed) parts.push(`${formatCount(webhook.failed)} failed`);
  if (webhook.dropped) parts.push(`${formatCount(webhook.dropped)} dropped because too many waited`);
  const trouble = webhook.last_error === null ? "" : ` Last trouble, ${formatAge(Math.max(0, live.now() - webhook.last_error_at))}: ${webhook.last_error}.`;
  return `Since the dashboard was started: ${parts.join(", ")}.${trouble}`;
}

openNotifications();
const card = document.getElementById("webhook");
if (card) openWebhook(card);
