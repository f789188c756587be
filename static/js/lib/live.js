// @ts-check
/**
 * The page's live link: topics that survive reconnects.
 *
 * After every (re)connect each topic is watched again *before* its owner is told to catch up, so
 * nothing can fall between the catching up and the first push.
 */
import { SocketClient } from "./socket.js";

export class Live {
  /** @type {Map<string, Set<() => void>>} */
  #topics = new Map();
  /** Server clock minus browser clock, in seconds. */
  #offset = 0;

  /** @param {SocketClient} socket */
  constructor(socket) {
    this.socket = socket;
    socket.onLink(({ state }) => {
      if (state === "live") for (const topic of this.#topics.keys()) void this.#subscribe(topic);
    });
  }

  /** The server's clock, in Unix seconds, as well as it is known. */
  now() {
    return Date.now() / 1000 + this.#offset;
  }

  /** @param {number} serverTime Unix seconds */
  setServerTime(serverTime) {
    if (Number.isFinite(serverTime)) this.#offset = serverTime - Date.now() / 1000;
  }

  /**
   * Watch a topic for as long as the page lives or until the returned function is called.
   * @param {string} topic @param {() => void} catchUp fetch what may have been missed
   */
  watch(topic, catchUp) {
    const owners = this.#topics.get(topic) ?? new Set();
    owners.add(catchUp);
    this.#topics.set(topic, owners);
    if (this.socket.link.state === "live") void this.#subscribe(topic);
    return () => {
      owners.delete(catchUp);
      if (owners.size > 0) return;
      this.#topics.delete(topic);
      if (this.socket.link.state === "live") this.socket.call("unwatch", { topic }).catch(() => {});
    };
  }

  /** @param {string} event @param {(payload: any) => void} listener */
  on(event, listener) {
    return this.socket.on(event, listener);
  }

  /** @param {string} topic */
  async #subscribe(topic) {
    try {
      const answer = await this.socket.call("watch", { topic });
      if (typeof answer?.server_time === "number") this.setServerTime(answer.server_time);
      for (const catchUp of this.#topics.get(topic) ?? []) catchUp();
    } catch {
      // the link broke meanwhile; the next connect subscribes again
    }
  }
}

/** @returns {Live} connected to this page's server */
export function openLive() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new SocketClient({ url: `${scheme}://${location.host}/socket.io/`, namespace: "/viewer" });
  const live = new Live(socket);
  socket.connect();
  addEventListener("online", () => socket.poke());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && socket.poke());
  return live;
}
