// @ts-check
import { get, query } from "../../lib/api.js";

const MOST_KEPT = 60;

/**
 * The frames of a map, each fetched when it is first looked at; what the points are comes once.
 *
 * @typedef {{step: number, x: number[], y: number[], correct: number[], disparity: number | null}} Frame
 * @typedef {{example_id: string, index: number, group: string | null, label: string | null, text: string}} Point
 */
export class Frames {
  /** @type {Map<number, Promise<Frame>>} */
  #kept = new Map();
  /** @type {any} what the server said beside the frame */
  facts = null;

  /** @param {string} path of the map's address */
  constructor(path) {
    this.path = path;
  }

  /** @returns {Point[]} */
  get points() {
    return this.facts?.probes ?? [];
  }

  /** @returns {number[]} */
  get steps() {
    return this.facts?.steps ?? [];
  }

  /** Fetch anew: what the points are, and one frame. @param {string | null} run @param {string} step @returns {Promise<Frame>} */
  async open(run, step) {
    const facts = await get(`${this.path}${query({ run, step })}`);
    this.#kept.clear();
    this.facts = facts;
    const [frame] = facts.frames;
    this.#kept.set(frame.step, Promise.resolve(frame));
    return frame;
  }

  /** The frame at a step; null when the map has been calculated anew and must be opened again. @param {number} step @returns {Promise<Frame | null>} */
  async at(step) {
    const { facts } = this;
    const asked = this.#kept.get(step) ?? this.#fetch(step);
    this.#kept.delete(step);
    this.#kept.set(step, asked);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break;
      this.#kept.delete(oldest);
    }
    try {
      const frame = await asked;
      return facts === this.facts ? frame : null;
    } catch (error) {
      if (this.#kept.get(step) === asked) this.#kept.delete(step);
      if (error instanceof Changed) return null;
      throw error;
    }
  }

  /** Have the frame at a step ready soon. @param {number | undefined} step */
  prepare(step) {
    if (step !== undefined && !this.#kept.has(step)) void this.at(step).catch(() => {});
  }

  /** @param {number} step @returns {Promise<Frame>} */
  async #fetch(step) {
    const { run, version } = this.facts;
    const found = await get(`${this.path}${query({ run, step, probes: "false" })}`);
    if (found.version !== version) throw new Changed();
    return found.frames[0];
  }
}

class Changed extends Error {}
