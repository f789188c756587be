// @ts-check
/**
 * A small Socket.IO client: the WebSocket transport of Engine.IO 4 / Socket.IO 5, one namespace,
 * text packets only.  It connects, sends events with acknowledgements, answers pings, notices
 * a silent server, and reconnects with jittered back-off for as long as the page lives.
 *
 * @typedef {"connecting" | "live" | "reconnecting" | "refused" | "closed"} LinkState
 * @typedef {{state: LinkState, since: number, attempts: number, reason: string}} Link
 */

const ENGINE = { open: "0", close: "1", ping: "2", pong: "3", message: "4" };
const PACKET = { connect: "0", disconnect: "1", event: "2", ack: "3", connectError: "4" };
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 8000;
const HANDSHAKE_MS = 10_000;

/**
 * Take a Socket.IO packet apart: type, namespace, id of the acknowledgement, JSON payload.
 * @param {string} text what follows the Engine.IO "message" digit
 * @returns {{type: string, namespace: string, id: number | null, payload: any}}
 */
export function parsePacket(text) {
  const type = text[0] ?? "";
  let rest = text.slice(1);
  let namespace = "/";
  if (rest.startsWith("/")) {
    const comma = rest.indexOf(",");
    namespace = comma === -1 ? rest : rest.slice(0, comma);
    rest = comma === -1 ? "" : rest.slice(comma + 1);
  }
  const digits = /^\d+/.exec(rest)?.[0] ?? "";
  rest = rest.slice(digits.length);
  return {
    type,
    namespace,
    id: digits === "" ? null : Number(digits),
    payload: rest === "" ? undefined : JSON.parse(rest),
  };
}

/** Milliseconds to wait before try number `attempt` (from 0). @param {number} attempt @param {number} random 0 to 1 */
export function backoff(attempt, random) {
  const ceiling = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt, 10));
  return ceiling * (0.5 + random / 2);
}

export class SocketClient {
  /** @type {any} */
  #socket = null;
  /** @type {Map<string, Set<(payload: any) => void>>} */
  #listeners = new Map();
  /** @type {Set<(link: Link) => void>} */
  #linkListeners = new Set();
  /** @type {Map<number, {resolve: (answer: any) => void, reject: (error: Error) => void, timer: any}>} */
  #waiting = new Map();
  #nextId = 0;
  #silenceMs = 60_000;
  /** @type {any} */
  #watchdog = null;
  /** @type {any} */
  #retry = null;
  /** @type {Link} */
  #link;

  /**
   * @param {object} options
   * @param {string} options.url ws:// or wss:// address of /socket.io/
   * @param {string} options.namespace
   * @param {any} [options.WebSocketClass] @param {() => number} [options.random] @param {() => number} [options.now]
   */
  constructor({ url, namespace, WebSocketClass = globalThis.WebSocket, random = Math.random, now = Date.now }) {
    this.url = `${url}?EIO=4&transport=websocket`;
    this.namespace = namespace;
    this.WebSocketClass = WebSocketClass;
    this.random = random;
    this.now = now;
    /** When anything last came from the server, in milliseconds. */
    this.heardAt = 0;
    this.#link = { state: "closed", since: now(), attempts: 0, reason: "" };
  }

  get link() {
    return this.#link;
  }

  /** @param {string} event @param {(payload: any) => void} listener @returns {() => void} takes it off again */
  on(event, listener) {
    const listeners = this.#listeners.get(event) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(event, listeners);
    return () => listeners.delete(listener);
  }

  /** @param {(link: Link) => void} listener called at once and at every change */
  onLink(listener) {
    this.#linkListeners.add(listener);
    listener(this.#link);
    return () => this.#linkListeners.delete(listener);
  }

  connect() {
    if (this.#socket !== null) return;
    clearTimeout(this.#retry);
    this.#retry = null;
    if (this.#link.state === "closed") this.#become("connecting");
    const socket = new this.WebSocketClass(this.url);
    this.#socket = socket;
    socket.onmessage = (/** @type {{data: unknown}} */ message) => {
      if (this.#socket === socket && typeof message.data === "string") this.#receive(message.data);
    };
    socket.onclose = () => this.#lost(socket, "connection closed");
    socket.onerror = () => this.#lost(socket, "connection failed");
    this.#watch(HANDSHAKE_MS);
  }

  /** Try again now, if waiting to (the tab came back, the network came back). */
  poke() {
    if (this.#retry !== null) this.connect();
  }

  close() {
    clearTimeout(this.#retry);
    this.#retry = null;
    this.#become("closed");
    this.#drop("closed");
  }

  /**
   * Send an event and wait for its acknowledgement.
   * @param {string} event @param {unknown} payload @param {{timeoutMs?: number}} [options]
   * @returns {Promise<any>}
   */
  call(event, payload, { timeoutMs = 10_000 } = {}) {
    if (this.#link.state !== "live") return Promise.reject(new Error("not connected"));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`no answer to ${event}`));
      }, timeoutMs);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#send(`${PACKET.event}${this.namespace},${id}${JSON.stringify([event, payload])}`);
    });
  }

  /** @param {string} packet */
  #send(packet) {
    this.#socket?.send(ENGINE.message + packet);
  }

  /** @param {string} text */
  #receive(text) {
    this.heardAt = this.now();
    this.#watch(this.#silenceMs);
    switch (text[0]) {
      case ENGINE.open: {
        const { pingInterval = 25_000, pingTimeout = 20_000 } = JSON.parse(text.slice(1));
        this.#silenceMs = pingInterval + pingTimeout;
        this.#send(`${PACKET.connect}${this.namespace},`);
        break;
      }
      case ENGINE.ping:
        this.#socket.send(ENGINE.pong + text.slice(1));
        break;
      case ENGINE.message:
        this.#packet(parsePacket(text.slice(1)));
        break;
      case ENGINE.close:
        this.#lost(this.#socket, "the server closed the connection");
        break;
      default:
        break;
    }
  }

  /** @param {{type: string, namespace: string, id: number | null, payload: any}} packet */
  #packet({ type, namespace, id, payload }) {
    if (namespace !== this.namespace) return;
    if (type === PACKET.connect) {
      this.#become("live");
    } else if (type === PACKET.event && Array.isArray(payload)) {
      for (const listener of this.#listeners.get(payload[0]) ?? []) listener(payload[1]);
    } else if (type === PACKET.ack && id !== null) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      clearTimeout(waiting?.timer);
      waiting?.resolve(Array.isArray(payload) ? payload[0] : payload);
    } else if (type === PACKET.connectError) {
      this.#refused(String(payload?.message ?? "refused"));
    } else if (type === PACKET.disconnect) {
      this.#lost(this.#socket, "the server ended the session");
    }
  }

  /** @param {string} reason */
  #refused(reason) {
    this.#drop(reason);
    this.#become("refused", reason);
    this.#retry = setTimeout(() => this.connect(), LONGEST_DELAY_MS);
  }

  /** @param {any} socket @param {string} reason */
  #lost(socket, reason) {
    if (socket !== this.#socket || socket === null) return;
    this.#drop(reason);
    if (this.#link.state === "closed") return;
    const attempts = this.#link.attempts;
    this.#become("reconnecting", reason, attempts + 1);
    this.#retry = setTimeout(() => this.connect(), backoff(attempts, this.random()));
  }

  /** @param {string} reason */
  #drop(reason) {
    clearTimeout(this.#watchdog);
    const socket = this.#socket;
    this.#socket = null;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(new Error(reason));
    }
    this.#waiting.clear();
    socket?.close();
  }

  /** @param {number} silenceMs */
  #watch(silenceMs) {
    clearTimeout(this.#watchdog);
    const socket = this.#socket;
    this.#watchdog = setTimeout(() => this.#lost(socket, "the server has gone silent"), silenceMs);
  }

  /** @param {LinkState} state @param {string} [reason] @param {number} [attempts] */
  #become(state, reason = "", attempts = 0) {
    const since = state === this.#link.state ? this.#link.since : this.now();
    this.#link = { state, since, attempts, reason };
    for (const listener of this.#linkListeners) listener(this.#link);
  }
}
