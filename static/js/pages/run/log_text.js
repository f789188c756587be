// @ts-check
/**
 * Output by byte offsets, cut into lines: repeats are dropped, holes are noticed, a last line
 * without its end is shown and later replaced.  Pure.
 */
export class LogText {
  #encoder = new TextEncoder();
  #decoder = new TextDecoder();
  #partial = "";
  /** First and one-past-last byte held. */
  begin = 0;
  end = 0;

  /** @param {number} offset where the first piece begins */
  start(offset) {
    this.begin = offset;
    this.end = offset;
  }

  /**
   * @param {number} offset @param {string} text
   * @returns {{text: string, whole: boolean}[] | null} new lines, the first one continuing the
   *   partial one; null when bytes in between are missing
   */
  append(offset, text) {
    if (offset > this.end) return null;
    const bytes = this.#encoder.encode(text);
    const known = this.end - offset;
    if (known >= bytes.length) return [];
    const fresh = known === 0 ? text : this.#decoder.decode(bytes.subarray(known));
    this.end = offset + bytes.length;
    const parts = (this.#partial + fresh).split("\n");
    this.#partial = parts.pop() ?? "";
    const lines = parts.map((line) => ({ text: line, whole: true }));
    return this.#partial === "" ? lines : [...lines, { text: this.#partial, whole: false }];
  }

  /** Earlier output, up to `begin`. @param {number} offset @param {string} text @returns {string[]} its lines */
  prepend(offset, text) {
    this.begin = offset;
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    return lines;
  }
}
