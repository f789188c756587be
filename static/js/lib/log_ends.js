// @ts-check
const HEAD = 60_000;
const TAIL = 240_000; // even where every character takes three bytes, the request stays below its limit

/** Beginning and end of a long log: what matters stands there. Pure. @param {string} log */
export function bothEndsOf(log) {
  return log.length <= HEAD + TAIL ? log : `${log.slice(0, HEAD)}\n${log.slice(-TAIL)}`;
}

/**
 * The same of a file of any size, of which no more than both ends is ever read.
 * @param {Blob} file @returns {Promise<{text: string, isCut: boolean}>}
 */
export async function readBothEnds(file) {
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  // PowerShell's redirection writes UTF-16
  const decoder = new TextDecoder(start[0] === 0xff && start[1] === 0xfe ? "utf-16le" : start[0] === 0xfe && start[1] === 0xff ? "utf-16be" : "utf-8");
  if (file.size <= HEAD + TAIL) return { text: decoder.decode(await file.arrayBuffer()), isCut: false };
  const tailStart = file.size - TAIL - ((file.size - TAIL) % 2);
  const head = decoder.decode(await file.slice(0, HEAD).arrayBuffer());
  const tail = decoder.decode(await file.slice(tailStart).arrayBuffer());
  return { text: `${head}\n${tail}`, isCut: true };
}
