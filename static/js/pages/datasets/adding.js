// @ts-check
import { post, request } from "../../lib/api.js";
import { fill, find, setText } from "../../lib/dom.js";
import { formatBytes, formatCount } from "../../lib/format.js";
import { toast } from "../../lib/shell.js";
import { MappingForm } from "./mapping.js";
import { reportView } from "./report_view.js";
import { nameFrom, sendFile } from "./upload.js";
import { working, workingButton } from "./working.js";

/** Adding a dataset: a file comes in, is looked over, its columns are mapped, it gets a name. */
export class Adding {
  /** @type {any} */
  #report = null;
  /** @type {{upload?: string, path?: string} | null} */
  #source = null;
  #asked = 0;

  /** @param {any[]} kinds @param {number} maxMib @param {() => void} onRegistered */
  constructor(kinds, maxMib, onRegistered) {
    this.onRegistered = onRegistered;
    this.maxMib = maxMib;
    this.status = find("#adding-status", HTMLElement);
    this.error = find("#adding-error", HTMLElement);
    this.form = find("#mapping", HTMLFormElement);
    this.name = find("#name", HTMLInputElement);
    this.button = find("#register", HTMLButtonElement);
    this.mapping = new MappingForm(find("#mapping-fields", HTMLElement), kinds, () => void this.#look());
    this.#listen();
  }

  #listen() {
    const file = find("#file", HTMLInputElement);
    const drop = find("#drop", HTMLElement);
    const path = find("#path", HTMLInputElement);
    file.addEventListener("change", () => file.files?.[0] && void this.send(file.files[0]));
    for (const name of ["dragover", "dragleave", "drop"]) {
      drop.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.toggle("is-over", name === "dragover");
      });
    }
    drop.addEventListener("drop", (event) => event.dataTransfer?.files[0] && void this.send(event.dataTransfer.files[0]));
    find("#open-path").addEventListener("click", () => path.value.trim() && void this.open(path.value.trim()));
    path.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      if (path.value.trim()) void this.open(path.value.trim());
    });
    this.name.addEventListener("input", () => this.#judge());
    find("#cancel").addEventListener("click", () => void this.cancel());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#register();
    });
  }

  /** @param {File} file */
  async send(file) {
    await this.cancel();
    const progress = find("#upload-progress", HTMLProgressElement);
    if (file.size > this.maxMib * 1024 * 1024) {
      this.#fail(new Error(`${file.name} has ${formatBytes(file.size)}; at most ${formatCount(this.maxMib)} MiB can be sent. Put it into a dataset folder instead.`));
      return;
    }
    progress.hidden = false;
    try {
      setText(this.status, `Sending ${file.name}…`);
      const sent = await sendFile(file, (done) => (progress.value = done));
      await this.#open({ upload: sent.upload }, file.name);
    } catch (error) {
      this.#fail(error);
    } finally {
      progress.hidden = true;
      progress.value = 0;
      find("#file", HTMLInputElement).value = "";
    }
  }

  /** @param {string} path of a file on the server */
  async open(path) {
    await this.cancel();
    await this.#open({ path }, path.split("/").at(-1) ?? path);
    this.form.scrollIntoView({ block: "nearest" });
  }

  /** @param {{upload?: string, path?: string}} source @param {string} file */
  async #open(source, file) {
    this.#source = source;
    this.#report = null;
    this.name.value = nameFrom(file);
    await this.#look();
  }

  async #look() {
    const [source, asked] = [this.#source, ++this.#asked];
    if (source === null) return;
    const chosen = this.#report ? this.mapping.read(this.#report) : { kind: "", columns: null };
    this.error.hidden = true;
    this.button.disabled = true;
    const end = working((text) => asked === this.#asked && setText(this.status, text), "Looking it over…");
    try {
      const wish = { ...source, kind: chosen.kind, quick: true, tokenizer: this.mapping.tokenizer, ...(chosen.columns ? { columns: chosen.columns } : {}) };
      const report = await post("/api/datasets/inspect", wish);
      if (asked !== this.#asked) return;
      end();
      this.#report = report;
      this.#show();
      setText(this.status, "");
    } catch (error) {
      if (asked === this.#asked) this.#fail(error);
    } finally {
      end();
    }
  }

  #show() {
    const report = this.#report;
    if (!report.format) {
      this.#fail(new Error(report.check.error));
      return;
    }
    this.form.hidden = false;
    setText(find("#mapping-name"), report.name);
    setText(find("#mapping-facts"), `${report.format.toUpperCase()}, ${formatBytes(report.num_bytes)}`);
    this.mapping.show(report);
    fill(find("#found"), reportView(report));
    this.#judge();
  }

  #judge() {
    const { check, statistics, is_whole: isWhole } = this.#report ?? { check: {} };
    const verdict = find("#verdict", HTMLElement);
    verdict.dataset.tone = check.ok ? "good" : "warn";
    const rows = formatCount(statistics?.rows ?? 0);
    setText(verdict.querySelector(".banner-words"), check.ok ? `${isWhole ? `All ${rows} rows` : `The first ${rows} rows`} can be read. Registering reads the whole file as training does.` : check.error);
    this.button.disabled = !check.ok || !/^[a-z0-9][a-z0-9._-]{0,63}$/.test(this.name.value);
  }

  async #register() {
    if (this.button.disabled || !this.#source) return;
    this.error.hidden = true;
    const end = this.#reading();
    try {
      const { kind, columns } = this.mapping.read(this.#report);
      const made = await post("/api/datasets", { ...this.#source, name: this.name.value, kind, columns, tokenizer: this.mapping.tokenizer });
      end();
      this.#source = null;
      this.#close();
      toast(`${made.dataset}: ${formatCount(made.num_rows)} rows.`);
      this.onRegistered();
    } catch (error) {
      end();
      this.#fail(error);
      this.button.disabled = false;
      this.error.scrollIntoView({ block: "nearest" });
    }
  }

  /** Say beside the button that the whole file is being read: a large one takes its time. @returns {() => void} end */
  #reading() {
    const [progress, help, cancel] = [find("#register-progress", HTMLElement), find("#name-help"), find("#cancel", HTMLButtonElement)];
    const end = workingButton(this.button, "Registering…");
    const before = help.textContent ?? "";
    setText(help, `All ${formatBytes(this.#report.num_bytes)} are read as training reads them. Keep this page open; everything else goes on meanwhile.`);
    setText(this.status, "Reading the whole file…");
    [progress.hidden, cancel.disabled] = [false, true];
    return () => {
      end();
      setText(help, before);
      setText(this.status, "");
      [progress.hidden, cancel.disabled] = [true, false];
    };
  }

  async cancel() {
    const upload = this.#source?.upload;
    this.#source = null;
    this.#close();
    if (upload) await request("DELETE", `/api/datasets/uploads/${upload}`).catch(() => {});
  }

  #close() {
    this.#asked += 1;
    this.#report = null;
    this.form.hidden = true;
    this.error.hidden = true;
    setText(this.status, "");
  }

  /** @param {any} error */
  #fail(error) {
    setText(this.status, "");
    setText(this.error, error.hint ? `${error.message} (${error.hint})` : error.message);
    this.error.hidden = false;
  }
}
