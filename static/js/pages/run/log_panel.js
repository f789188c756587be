// @ts-check
import { parseAnsi, stripAnsi } from "../../lib/ansi.js";
import { get, query } from "../../lib/api.js";
import { debounce, fill, find, h, oncePerFrame, setText } from "../../lib/dom.js";
import { toastError } from "../../lib/shell.js";
import { LogText } from "./log_text.js";

const PIECE_BYTES = 128 * 1024;
const MAX_LINES = 8000;

/** The Log tab: the end of the output, live; earlier parts on request; search. */
export class LogPanel {
  #text = new LogText();
  #attempt = 0;
  #opened = false;
  #loading = false;
  #follow = true;
  #needle = "";
  #match = -1;
  /** @type {HTMLElement | null} */
  #partial = null;
  #root = find("#log-lines", HTMLElement);
  #lines = h("div", { class: "log-lines" });
  #earlier = h("button", { type: "button", class: "button button-small", text: "Show earlier output", hidden: true });
  #nothing = h("p", { class: "muted log-nothing", text: "No output yet. Whatever the trainer prints appears here." });
  #followButton = find("#log-follow", HTMLButtonElement);
  #scroll = oncePerFrame(() => {
    if (this.#follow) this.#root.scrollTop = this.#root.scrollHeight;
  });

  /** @param {string} runId */
  constructor(runId) {
    this.path = `/api/runs/${encodeURIComponent(runId)}/logs`;
    this.#root.append(this.#earlier, this.#nothing, this.#lines);
    this.#earlier.addEventListener("click", () => void this.#loadEarlier());
    this.#followButton.addEventListener("click", () => this.#setFollow(!this.#follow));
    this.#root.addEventListener("wheel", (event) => event.deltaY < 0 && this.#setFollow(false), { passive: true });
    this.#root.addEventListener("scroll", () => {
      const below = this.#root.scrollHeight - this.#root.scrollTop - this.#root.clientHeight;
      if (below < 4 && !this.#follow) this.#setFollow(true);
    });
    const wrap = find("#log-wrap", HTMLButtonElement);
    wrap.addEventListener("click", () => {
      const wrapped = wrap.getAttribute("aria-pressed") !== "true";
      wrap.setAttribute("aria-pressed", String(wrapped));
      this.#root.classList.toggle("no-wrap", !wrapped);
    });
    const field = find("#log-search", HTMLInputElement);
    field.addEventListener("input", debounce(() => this.#search(field.value), 120));
    field.addEventListener("keydown", (event) => event.key === "Enter" && this.#next(event.shiftKey ? -1 : 1));
    find("#log-attempt", HTMLSelectElement).addEventListener("change", (event) => {
      void this.#start(Number(/** @type {HTMLSelectElement} */ (event.target).value));
    });
  }

  /** @param {number} newest number of the newest attempt */
  setAttempts(newest) {
    const select = find("#log-attempt", HTMLSelectElement);
    if (select.options.length === newest) return;
    const wasNewest = this.#attempt === select.options.length;
    fill(select, Array.from({ length: newest }, (_, index) => h("option", { value: index + 1, text: `Attempt ${index + 1}` })));
    select.hidden = newest < 2;
    if (this.#opened && wasNewest) void this.#start(newest);
    else select.value = String(this.#attempt || newest);
  }

  /** The tab came up. */
  async open() {
    if (!this.#opened) {
      this.#opened = true;
      const select = find("#log-attempt", HTMLSelectElement);
      await this.#start(Number(select.value) || 1);
    }
    this.#scroll();
  }

  /** Fetch what came while the link was down. */
  async catchUp() {
    if (this.#opened) await this.#loadNewer();
  }

  /** @param {{attempt: number, offset: number, num_bytes?: number, text: string}} push */
  take(push) {
    if (!this.#opened || push.attempt !== this.#attempt) return;
    const fresh = this.#text.append(push.offset, push.text);
    if (fresh === null) void this.#loadNewer();
    else this.#show(fresh);
  }

  /** @param {number} attempt */
  async #start(attempt) {
    this.#attempt = attempt;
    find("#log-attempt", HTMLSelectElement).value = String(attempt);
    this.#text = new LogText();
    this.#partial = null;
    fill(this.#lines);
    try {
      const piece = await get(`${this.path}${query({ attempt, offset: -PIECE_BYTES, limit: PIECE_BYTES })}`);
      if (attempt !== this.#attempt) return;
      this.#text.start(piece.offset);
      this.#show(this.#text.append(piece.offset, piece.text) ?? []);
      await this.#loadNewer();
    } catch (error) {
      toastError(error);
    }
    this.#nothing.hidden = this.#lines.childElementCount > 0;
  }

  async #loadNewer() {
    if (this.#loading) return;
    this.#loading = true;
    try {
      for (let more = true; more; ) {
        const attempt = this.#attempt;
        const piece = await get(`${this.path}${query({ attempt, offset: this.#text.end, limit: PIECE_BYTES })}`);
        if (attempt !== this.#attempt) continue;
        this.#show(this.#text.append(piece.offset, piece.text) ?? []);
        more = piece.next_offset < piece.total_bytes && piece.text !== "";
      }
    } catch {
      // the link is down; the next connect catches up
    } finally {
      this.#loading = false;
    }
  }

  async #loadEarlier() {
    const end = this.#text.begin;
    const offset = Math.max(0, end - PIECE_BYTES);
    try {
      const piece = await get(`${this.path}${query({ attempt: this.#attempt, offset, limit: end - offset })}`);
      const height = this.#root.scrollHeight;
      const lines = this.#text.prepend(piece.offset, piece.text);
      this.#lines.prepend(...lines.map((line) => this.#line(line)));
      this.#root.scrollTop += this.#root.scrollHeight - height;
      this.#earlier.hidden = this.#text.begin === 0;
    } catch (error) {
      toastError(error);
    }
  }

  /** @param {{text: string, whole: boolean}[]} fresh */
  #show(fresh) {
    for (const { text, whole } of fresh) {
      const element = this.#line(text);
      if (this.#partial) this.#partial.replaceWith(element);
      else this.#lines.append(element);
      this.#partial = whole ? null : element;
    }
    if (this.#follow) while (this.#lines.childElementCount > MAX_LINES) this.#lines.firstElementChild?.remove();
    this.#nothing.hidden = this.#lines.childElementCount > 0;
    this.#earlier.hidden = this.#text.begin === 0;
    this.#scroll();
  }

  /** @param {string} line */
  #line(line) {
    const pieces = parseAnsi(line).map(({ text, classes }) => (classes.length ? h("span", { class: classes.join(" "), text }) : text));
    const element = h("div", { class: "log-line" }, pieces);
    if (this.#needle) element.classList.toggle("is-match", matches(line, this.#needle));
    return element;
  }

  /** @param {boolean} follow */
  #setFollow(follow) {
    this.#follow = follow;
    this.#followButton.setAttribute("aria-pressed", String(follow));
    if (follow) this.#scroll();
  }

  /** @param {string} needle */
  #search(needle) {
    this.#needle = needle.toLowerCase();
    this.#match = -1;
    let count = 0;
    for (const line of this.#lines.children) {
      const found = this.#needle !== "" && matches(line.textContent ?? "", this.#needle);
      line.classList.toggle("is-match", found);
      line.classList.remove("is-current");
      count += Number(found);
    }
    setText(find("#log-matches"), this.#needle ? `${count} line${count === 1 ? "" : "s"}` : "");
    if (count > 0) this.#next(1);
  }

  /** @param {number} step */
  #next(step) {
    const found = [...this.#lines.querySelectorAll(".is-match")];
    if (found.length === 0) return;
    found[this.#match]?.classList.remove("is-current");
    this.#match = (this.#match + step + found.length) % found.length;
    this.#setFollow(false);
    found[this.#match].classList.add("is-current");
    found[this.#match].scrollIntoView({ block: "center" });
    setText(find("#log-matches"), `${this.#match + 1} of ${found.length}`);
  }
}

/** @param {string} line @param {string} needle in lower case */
function matches(line, needle) {
  return stripAnsi(line).toLowerCase().includes(needle);
}
