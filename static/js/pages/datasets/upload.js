// @ts-check
import { ApiError, errorFrom } from "../../lib/api.js";

/**
 * Sends a file as the body of a request; fetch cannot tell how far it is.
 * @param {File} file @param {(done: number) => void} tell fraction 0..1
 * @returns {Promise<{upload: string, name: string, num_bytes: number}>}
 */
export function sendFile(file, tell) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("POST", `/api/datasets/uploads?name=${encodeURIComponent(file.name)}`);
    sending.setRequestHeader("X-Requested-By", "signalbox");
    sending.setRequestHeader("Content-Type", "application/octet-stream");
    sending.responseType = "json";
    sending.upload.addEventListener("progress", (event) => tell(event.lengthComputable ? event.loaded / event.total : 0));
    sending.addEventListener("load", () => (sending.status === 201 ? resolve(sending.response) : reject(errorFrom(sending.status, sending.response))));
    sending.addEventListener("error", () => reject(new ApiError("The upload broke off: the server ended it, or cannot be reached.", { status: 0, code: "offline" })));
    sending.send(file);
  });
}

/** A name for a dataset, made of a file's. @param {string} file */
export function nameFrom(file) {
  const stem = file.replace(/\.[^.]*$/, "").toLowerCase();
  const plain = stem.replace(/[^a-z0-9._-]+/g, "-").replace(/^[^a-z0-9]+|[-._]+$/g, "");
  return plain.slice(0, 64) || "dataset";
}
