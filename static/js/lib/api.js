// @ts-check
/** REST calls: JSON in, JSON out, and one kind of error with a message for people. */

export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {{status: number, code?: string, field?: string, hint?: string, facts?: any}} facts
   */
  constructor(message, { status, code = "unknown", field, hint, facts }) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.field = field;
    this.hint = hint;
    this.facts = facts; // what the server says beside the message
  }
}

/**
 * The error a response stands for.  `error` is an object, except under /api/evolution/ where it
 * is the message itself; a proxy's HTML page gives neither.
 * @param {number} status @param {any} body
 * @returns {ApiError}
 */
export function errorFrom(status, body) {
  const error = body?.error;
  if (typeof error === "string") {
    return new ApiError(error, { status, code: body.code, field: body.field, hint: body.hint });
  }
  if (error && typeof error.message === "string") {
    return new ApiError(error.message, { status, code: error.code, field: error.field, hint: error.hint, facts: error });
  }
  return new ApiError(`The server answered ${status}.`, { status });
}

/**
 * @param {string} method @param {string} path
 * @param {{body?: unknown, headers?: Record<string, string>, signal?: AbortSignal}} [options]
 * @returns {Promise<any>} the parsed body, or null for an empty one
 */
export async function request(method, path, { body, headers = {}, signal } = {}) {
  const unsafe = method !== "GET";
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers: {
        Accept: "application/json",
        "X-Requested-By": "signalbox",
        ...(unsafe ? { "Content-Type": "application/json" } : {}),
        ...headers,
      },
      body: unsafe ? JSON.stringify(body ?? {}) : undefined,
      credentials: "same-origin",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError("The server cannot be reached.", { status: 0, code: "offline" });
  }
  const text = await response.text();
  let parsed = null;
  try {
    parsed = text === "" ? null : JSON.parse(text);
  } catch {
    if (response.ok) throw new ApiError("The server sent something that is not JSON.", { status: response.status });
  }
  if (response.ok) return parsed;
  if (response.status === 401 && typeof location !== "undefined" && location.pathname !== "/login") {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  throw errorFrom(response.status, parsed);
}

/** @param {string} path @param {{signal?: AbortSignal}} [options] */
export function get(path, options) {
  return request("GET", path, options);
}

/** @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers] */
export function post(path, body, headers) {
  return request("POST", path, { body, headers });
}

/** `?a=1&b=2` of everything that is set. @param {Record<string, string | number | null | undefined>} fields */
export function query(fields) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null && value !== undefined && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}

/** Metric names hold slashes and at-signs; the slashes stay. @param {string} name */
export function metricPath(name) {
  return name.split("/").map(encodeURIComponent).join("/");
}

/** A key that makes a repeated POST one run; works without a secure context too. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
