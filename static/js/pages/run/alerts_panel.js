// @ts-check
import { get, post } from "../../lib/api.js";
import { LEVEL_ICONS, LEVEL_TONES, alertMarks, alertSpan, sorted } from "../../lib/alert_words.js";
import { debounce, fill, find, h, icon } from "../../lib/dom.js";
import { toastError } from "../../lib/shell.js";

/** @typedef {import("../../lib/alert_words.js").Alert} Alert */
/** @typedef {import("../../lib/run_facts.js").Run} Run */

/** What deserves attention: active alerts as a list, the others folded away. */
export class AlertsPanel {
  /** @type {Alert[]} */
  #alerts = [];
  #shown = "";
  #known = "";
  #soon = debounce(() => void this.load().catch(toastError), 250);

  /** @param {string} path of the run in the API @param {() => number} now @param {() => void} onChange the marks are others now */
  constructor(path, now, onChange) {
    this.path = path;
    this.now = now;
    this.onChange = onChange;
    this.root = find("#run-alerts", HTMLElement);
  }

  /** Where alerts were raised, for the charts. */
  get marks() {
    return alertMarks(this.#alerts);
  }

  async load() {
    const { alerts } = await get(`${this.path}/alerts`);
    this.#alerts = alerts;
    this.#show();
    this.onChange();
  }

  /** Something was said of an alert: look soon. */
  soon() {
    this.#soon();
  }

  /** Alerts also end with their run, or are dismissed on another page. @param {Run} run */
  runChanged(run) {
    const known = `${run.active_alerts}/${run.state}/${run.attempt}`;
    if (this.#known !== "" && known !== this.#known) this.#soon();
    this.#known = known;
  }

  #show() {
    const shown = JSON.stringify(this.#alerts);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const { active, over } = sorted(this.#alerts);
    const wasOpen = this.root.querySelector("details")?.open ?? false;
    if (active.length + over.length === 0) {
      fill(this.root);
      return;
    }
    fill(
      this.root,
      h(
        "section",
        { class: "alerts", "aria-label": "Alerts" },
        active.length ? h("ul", { class: "alert-list", dataset: { testid: "active-alerts" } }, active.map((alert) => this.#active(alert))) : null,
        over.length
          ? h("details", { class: "alerts-over", ...(wasOpen ? { open: true } : {}) },
              h("summary", { dataset: { testid: "alerts-over" }, text: `${over.length} earlier alert${over.length === 1 ? "" : "s"}` }),
              h("ul", { class: "alert-list" }, over.map((alert) => this.#over(alert))))
          : null,
      ),
    );
  }

  /** @param {Alert} alert */
  #active(alert) {
    return h(
      "li",
      { class: "alert", role: "status", dataset: { tone: LEVEL_TONES[alert.level], category: alert.category ?? "said" } },
      icon(LEVEL_ICONS[alert.level], alert.level),
      h("div", { class: "alert-body" },
        h("div", {}, h("strong", { text: alert.title }), " ", h("span", { class: "muted small num", text: alertSpan(alert, this.now()) })),
        h("p", { text: alert.text })),
      h("button", { type: "button", class: "button button-quiet button-small button-icon", title: "Dismiss", "aria-label": `Dismiss: ${alert.title}`, onclick: () => this.#dismiss(alert) }, icon("cross")),
    );
  }

  /** @param {Alert} alert */
  #over(alert) {
    return h(
      "li",
      { class: "alert", dataset: { tone: "over", category: alert.category ?? "said" } },
      icon(LEVEL_ICONS[alert.level], alert.level),
      h("div", { class: "alert-body" },
        h("div", {}, h("strong", { text: alert.title }), " ", h("span", { class: "muted small num", text: alertSpan(alert, this.now()) })),
        h("p", { class: "muted", text: [alert.text, alert.outcome].filter(Boolean).join(" ") })),
    );
  }

  /** @param {Alert} alert */
  async #dismiss(alert) {
    try {
      await post(`/api/alerts/${alert.id}/dismiss`);
      await this.load();
    } catch (error) {
      toastError(error);
    }
  }
}
