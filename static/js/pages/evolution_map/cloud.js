// @ts-check
import { fill, h, oncePerFrame, svg } from "../../lib/dom.js";
import { between, eased, fitView, nearestPoint, pointSize, toScreen, zoomedAt } from "../../lib/map_geometry.js";
import { OTHERS } from "../../lib/map_classes.js";
import { openPainter } from "../../lib/point_painter.js";
import { onThemeChange } from "../../lib/theme.js";
import { colourOf } from "./colours.js";
import { Gestures } from "./gestures.js";

const MOVE_MS = 520;
const REACH = 14;
const MARGIN = 28;
const [CLOSEST, FARTHEST] = [400, 0.5];
const DIMMED = 0.08;

/**
 * The points: painted, moved from step to step, zoomed, pointed at and chosen.
 *
 * @typedef {object} Told what the page hears
 * @property {(index: number) => void} choose -1: none @property {(index: number) => Node[]} describe
 */
export class Cloud {
  /** @type {Float32Array} */ #from = new Float32Array();
  /** @type {Float32Array} */ #to = new Float32Array();
  #t = 1;
  #moving = 0;
  /** @type {import("../../lib/map_geometry.js").View | null} */ #view = null;
  #fitted = 1;
  /** @type {import("../../lib/map_classes.js").Class[]} */ #classes = [];
  /** @type {Set<number>} */ #dimmed = new Set();
  /** @type {import("../../lib/point_painter.js").Rgba[]} */ #colours = [];
  #chosen = -1;
  /** @type {number[]} */ #near = [];
  /** @type {import("../../lib/map_geometry.js").Bounds} */ #bounds = [[-1, 1], [-1, 1]];

  /** @param {HTMLElement} root @param {Told} told */
  constructor(root, told) {
    this.told = told;
    this.root = root;
    this.canvas = h("canvas", { class: "map-canvas", "aria-hidden": "true", dataset: { testid: "map-canvas" } });
    this.marks = svg("svg", { class: "map-marks", "aria-hidden": "true" });
    this.tip = h("div", { class: "map-tip", hidden: true, role: "status", dataset: { testid: "map-tip" } });
    fill(root, this.canvas, this.marks, this.tip);
    this.refresh = oncePerFrame(() => this.#paint());
    this.painter = openPainter(this.canvas, () => this.refresh());
    this.canvas.dataset.painter = this.painter.kind;
    new ResizeObserver(() => this.#resize()).observe(root);
    onThemeChange(() => {
      this.#recolour();
      this.refresh();
    });
    new Gestures(this.canvas, {
      pan: (dx, dy) => this.pan(dx, dy),
      zoom: (factor, x, y) => this.zoom(factor, x, y),
      point: (x, y) => this.#point(x, y),
      press: (x, y) => told.choose(this.#pointAt(x, y)),
      leave: () => this.#tell(-1),
    });
    this.canvas.addEventListener("dblclick", () => this.reset());
  }

  /**
   * Put the points at new places.
   * @param {Float32Array} places @param {Uint8Array} classOf @param {{moves: boolean}} how whether one sees them go
   * @returns {Promise<void>} when they are there
   */
  show(places, classOf, { moves }) {
    this.#from = this.#to.length === places.length ? between(this.#from, this.#to, eased(this.#t)) : places;
    this.#to = places;
    this.painter.load(this.#from, this.#to, classOf);
    this.canvas.dataset.points = String(classOf.length);
    const mine = ++this.#moving;
    this.#t = moves ? 0 : 1;
    this.refresh();
    if (!moves) return Promise.resolve();
    const begun = performance.now();
    return new Promise((resolve) => {
      const move = (/** @type {number} */ now) => {
        if (mine !== this.#moving) return resolve();
        this.#t = Math.min(1, Math.max(0, (now - begun) / MOVE_MS));
        this.#paint();
        return this.#t < 1 ? requestAnimationFrame(move) : resolve();
      };
      requestAnimationFrame(move);
    });
  }

  /** Other classes for the same places. @param {import("../../lib/map_classes.js").Class[]} classes @param {Set<number>} dimmed */
  colour(classes, dimmed) {
    this.#classes = classes;
    this.#dimmed = dimmed;
    this.#recolour();
    this.refresh();
  }

  /** @param {import("../../lib/map_geometry.js").Bounds} bounds that can be seen after a reset */
  bound(bounds) {
    this.#bounds = bounds;
    if (this.#view === null) this.reset();
  }

  /** All of it in view. */
  reset() {
    const { clientWidth: width, clientHeight: height } = this.root;
    if (width === 0) return;
    this.#view = fitView(this.#bounds, width, height, MARGIN);
    this.#fitted = this.#view.scale;
    this.refresh();
  }

  /** Along with a hand, in pixels. @param {number} dx @param {number} dy */
  pan(dx, dy) {
    if (this.#view === null) return;
    this.#view = { ...this.#view, x: this.#view.x + dx, y: this.#view.y + dy };
    this.refresh();
  }

  /** Closer, or farther away. @param {number} factor @param {number} [x] @param {number} [y] where on the screen; its middle */
  zoom(factor, x = this.root.clientWidth / 2, y = this.root.clientHeight / 2) {
    if (this.#view === null) return;
    const zoom = (this.#view.scale * factor) / this.#fitted;
    if (zoom > CLOSEST || zoom < FARTHEST) return;
    this.#view = zoomedAt(this.#view, factor, x, y);
    this.refresh();
  }

  /** Mark one point and those near to it. @param {number} index -1: none @param {number[]} near */
  mark(index, near) {
    this.#chosen = index;
    this.#near = near;
    this.refresh();
  }

  #recolour() {
    this.#colours = this.#classes.map(({ token }, index) => {
      const [red, green, blue] = colourOf(token);
      const alpha = token === OTHERS ? 0.45 : 0.85; // those that share a colour are the ground for those that have one
      return [red, green, blue, this.#dimmed.has(index) ? DIMMED : alpha];
    });
  }

  #resize() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const { clientWidth: width, clientHeight: height } = this.root;
    const [before, beforeHeight] = [this.canvas.width / ratio, this.canvas.height / ratio];
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    if (this.#view === null || this.#view.scale === this.#fitted) this.reset();
    else this.#view = { ...this.#view, x: this.#view.x + (width - before) / 2, y: this.#view.y + (height - beforeHeight) / 2 };
    this.#paint(); // at once: a canvas of another size is empty
  }

  #paint() {
    if (this.#view === null || this.#to.length === 0) return;
    const zoom = this.#view.scale / this.#fitted;
    const size = pointSize(this.#to.length / 2, zoom);
    this.painter.paint({ t: eased(this.#t), view: this.#view, size, colours: this.#colours, ratio: this.canvas.width / Math.max(1, this.root.clientWidth) });
    this.#paintMarks(size);
    if (this.canvas.dataset.painted) return;
    this.canvas.dataset.painted = "true";
    requestAnimationFrame(() => performance.mark("map-painted"));
  }

  /** @param {number} size of a point */
  #paintMarks(size) {
    /** @type {SVGElement[]} */
    const marks = [];
    if (this.#chosen >= 0) {
      const [x, y] = this.#screenOf(this.#chosen);
      for (const index of this.#near) {
        const [nearX, nearY] = this.#screenOf(index);
        marks.push(svg("line", { x1: x, y1: y, x2: nearX, y2: nearY }), svg("circle", { class: "near", cx: nearX, cy: nearY, r: size / 2 + 2 }));
      }
      marks.push(svg("circle", { class: "chosen", cx: x, cy: y, r: size / 2 + 5, "data-testid": "map-chosen" }));
    }
    this.marks.replaceChildren(...marks);
  }

  /** @param {number} index */
  #screenOf(index) {
    const t = eased(this.#t);
    const along = (/** @type {number} */ at) => this.#from[at] + t * (this.#to[at] - this.#from[at]);
    return toScreen(/** @type {any} */ (this.#view), along(2 * index), along(2 * index + 1));
  }

  /** @param {number} x @param {number} y on the screen */
  #pointAt(x, y) {
    if (this.#view === null) return -1;
    return nearestPoint(between(this.#from, this.#to, eased(this.#t)), this.#view, x, y, REACH);
  }

  /** @param {number} x @param {number} y on the screen */
  #point(x, y) {
    const index = this.#pointAt(x, y);
    this.canvas.classList.toggle("is-over-point", index >= 0);
    this.#tell(index);
  }

  /** @param {number} index of the point that is pointed at */
  #tell(index) {
    this.tip.hidden = index < 0;
    if (index < 0) return;
    fill(this.tip, this.told.describe(index));
    const [x, y] = this.#screenOf(index);
    const { clientWidth: width, clientHeight: height } = this.root;
    const [across, down] = [this.tip.offsetWidth, this.tip.offsetHeight];
    this.tip.style.left = `${Math.max(4, Math.min(width - across - 4, x - across / 2))}px`;
    this.tip.style.top = `${y + down + 18 > height ? Math.max(4, y - down - 14) : y + 14}px`;
  }
}
