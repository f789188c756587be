// @ts-check
import { post } from "../../lib/api.js";
import { fill, find, setText } from "../../lib/dom.js";
import { checkRow } from "../doctor/check_row.js";
import { summaryOf, worstFirst } from "../doctor/findings.js";

/** @typedef {import("../doctor/findings.js").Check} Check */

/** What needs a person's eyes, and what is fine. @param {Check[]} checks @returns {{open: Check[], fine: Check[], isRed: boolean}} */
export function sorted(checks) {
  const open = worstFirst(checks).filter(({ verdict }) => verdict === "problem" || verdict === "warning");
  return { open, fine: checks.filter((check) => !open.includes(check)), isRed: open.some(({ verdict }) => verdict === "problem") };
}

/** The list of verdicts on the run that the form describes. */
export class Preflight {
  #asked = 0;

  /**
   * @param {() => object | null} body what the form says, null while a field is wrong
   * @param {() => void} startAnyway
   */
  constructor(body, startAnyway) {
    this.body = body;
    this.button = find("#check-first", HTMLButtonElement);
    this.smoke = find("#preflight-smoke", HTMLInputElement);
    this.anyway = find("#start-anyway", HTMLButtonElement);
    this.status = find("#preflight-status");
    this.trouble = find("#preflight-trouble", HTMLElement);
    this.fine = find("#preflight-fine", HTMLElement);
    this.button.addEventListener("click", () => void this.#check());
    this.smoke.addEventListener("input", (event) => event.stopPropagation()); // it is no part of the run
    this.anyway.addEventListener("click", startAnyway);
  }

  /** @param {boolean} yes whether the form describes a run */
  ready(yes) {
    this.button.disabled = !yes || this.button.dataset.busy === "yes";
  }

  /** The form has changed: what was found is about another run. */
  forget() {
    this.#asked += 1;
    this.#busy(false);
    this.#draw([]);
    this.#complain("");
    setText(this.status, "");
  }

  /** Before a start: whether nothing is red. @param {object} values */
  async allows(values) {
    const report = await this.#ask(values, false);
    const allowed = report !== null && !sorted(report.checks).isRed;
    if (!allowed) find("#preflight").scrollIntoView({ block: "nearest" });
    return allowed;
  }

  async #check() {
    const values = this.body();
    if (values !== null) await this.#ask(values, this.smoke.checked);
  }

  /** @param {object} values @param {boolean} smoke @returns {Promise<{checks: Check[]} | null>} */
  async #ask(values, smoke) {
    const mine = ++this.#asked;
    this.#busy(true);
    this.#complain("");
    setText(this.status, smoke ? "training a few steps, up to two minutes …" : "checking …");
    try {
      const report = await post("/api/preflight", { ...values, smoke });
      if (mine !== this.#asked) return null;
      this.#draw(report.checks);
      setText(this.status, summaryOf(report.checks));
      return report;
    } catch (error) {
      if (mine !== this.#asked) return null;
      setText(this.status, "not checked");
      this.#draw([]);
      this.#complain(/** @type {any} */ (error).message ?? String(error));
      return null;
    } finally {
      if (mine === this.#asked) this.#busy(false);
    }
  }

  /** @param {Check[]} checks */
  #draw(checks) {
    const { open, fine, isRed } = sorted(checks);
    fill(find("#preflight-checks"), open.map((check) => checkRow(check)));
    this.fine.hidden = fine.length === 0;
    setText(this.fine.querySelector("summary"), fine.length === 1 ? "1 more, fine" : `${fine.length}${open.length > 0 ? " more" : ""}, all fine`);
    fill(find("ul", HTMLUListElement, this.fine), fine.map((check) => checkRow(check)));
    this.anyway.hidden = !isRed;
  }

  /** What kept the check from being made; then only a person can decide. @param {string} message */
  #complain(message) {
    setText(this.trouble, message);
    this.trouble.hidden = message === "";
    if (message) this.anyway.hidden = false;
  }

  /** @param {boolean} yes */
  #busy(yes) {
    this.button.dataset.busy = yes ? "yes" : "no";
    this.button.disabled = yes;
  }
}
