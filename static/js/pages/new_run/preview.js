// @ts-check
import { post } from "../../lib/api.js";
import { fill, find, h, setText } from "../../lib/dom.js";
import { commandBlock, environmentTable } from "../../lib/environment_view.js";

/** The exact command and environment of the run that Start would make. */
export class Preview {
  #asked = 0;

  /**
   * @param {(error: any) => void} onRefusal what the server said about a value
   * @param {(warnings: {name: string, message: string}[]) => void} onWarnings of the user's own variables
   */
  constructor(onRefusal, onWarnings) {
    this.onRefusal = onRefusal;
    this.onWarnings = onWarnings;
    this.place = find("#preview");
    this.status = find("#preview-status");
  }

  /** @param {object} body @returns {Promise<boolean>} whether such a run could start */
  async show(body) {
    const mine = ++this.#asked;
    setText(this.status, "checking…");
    try {
      const answer = await post("/api/preview", body);
      if (mine !== this.#asked) return false;
      setText(this.status, "up to date");
      this.place.classList.remove("is-stale");
      this.onWarnings(answer.warnings);
      fill(
        this.place,
        h("h3", { text: "Command" }),
        commandBlock(answer.command),
        h("h3", { class: "spaced" }, "Environment", h("span", { class: "muted small", text: ` ${answer.environment.length} variables, nothing else is passed on` })),
        environmentTable(answer.environment),
      );
      return true;
    } catch (error) {
      if (mine !== this.#asked) return false;
      this.#stale();
      this.onRefusal(error);
      return false;
    }
  }

  /** The values cannot be sent yet. */
  hold() {
    this.#asked += 1;
    this.#stale();
  }

  #stale() {
    setText(this.status, "not ready");
    this.place.classList.add("is-stale");
  }
}
