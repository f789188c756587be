// @ts-check
/**
 * Points between the plane they lie on and the screen.  Pure.
 *
 * Places are flat: x0, y0, x1, y1, ….  On the screen y grows downwards.
 *
 * @typedef {{scale: number, x: number, y: number}} View screen x = x + scale · place x, screen y = y − scale · place y
 * @typedef {[number, number]} Place in pixels, x to the right and y down
 * @typedef {[[number, number], [number, number]]} Bounds least and largest x, least and largest y
 */

/** A view in which all of `bounds` can be seen, with a margin in pixels. @param {Bounds} bounds @param {number} width @param {number} height @param {number} margin @returns {View} */
export function fitView([[left, right], [low, high]], width, height, margin) {
  const [across, up] = [Math.max(right - left, 1e-6), Math.max(high - low, 1e-6)];
  const scale = Math.max(1e-3, Math.min((width - 2 * margin) / across, (height - 2 * margin) / up));
  return { scale, x: width / 2 - (scale * (left + right)) / 2, y: height / 2 + (scale * (low + high)) / 2 };
}

/** @param {View} view @param {number} x @param {number} y @returns {[number, number]} */
export function toScreen(view, x, y) {
  return [view.x + view.scale * x, view.y - view.scale * y];
}

/** The view larger by `factor`; what is at this place of the screen stays there. @param {View} view @param {number} factor @param {number} screenX @param {number} screenY @returns {View} */
export function zoomedAt(view, factor, screenX, screenY) {
  return { scale: view.scale * factor, x: screenX + (view.x - screenX) * factor, y: screenY + (view.y - screenY) * factor };
}

/**
 * What two fingers have done: how their middle went, and how much farther from each other they are now.
 * @param {[Place, Place]} before @param {[Place, Place]} now
 */
export function pinched(before, now) {
  const apart = (/** @type {[Place, Place]} */ [[ax, ay], [bx, by]]) => Math.max(1, Math.hypot(ax - bx, ay - by));
  const middleOf = (/** @type {[Place, Place]} */ [[ax, ay], [bx, by]]) => /** @type {Place} */ ([(ax + bx) / 2, (ay + by) / 2]);
  const [from, middle] = [middleOf(before), middleOf(now)];
  return { dx: middle[0] - from[0], dy: middle[1] - from[1], factor: apart(now) / apart(before), middle };
}

/**
 * The point nearest to a place of the screen, -1 when none is within `reach` pixels.
 * @param {Float32Array} places @param {View} view @param {number} screenX @param {number} screenY @param {number} reach
 */
export function nearestPoint(places, view, screenX, screenY, reach) {
  const [x, y, far] = [(screenX - view.x) / view.scale, (view.y - screenY) / view.scale, reach / view.scale];
  let [best, least] = [-1, far * far];
  for (let index = 0; index < places.length; index += 2) {
    const [dx, dy] = [places[index] - x, places[index + 1] - y];
    const distance = dx * dx + dy * dy;
    if (distance <= least) [best, least] = [index / 2, distance];
  }
  return best;
}

/** Slow at both ends. @param {number} t from 0 to 1 */
export function eased(t) {
  return t < 0.5 ? 4 * t ** 3 : 1 - (-2 * t + 2) ** 3 / 2;
}

/** Where points are on their way. @param {Float32Array} from @param {Float32Array} to @param {number} t from 0 to 1 */
export function between(from, to, t) {
  if (t >= 1) return to;
  const places = new Float32Array(to.length);
  for (let index = 0; index < to.length; index += 1) places[index] = from[index] + t * (to[index] - from[index]);
  return places;
}

/** @param {{x: number[], y: number[]}} frame @param {[number, number]} signs */
export function placesOf({ x, y }, [signX, signY]) {
  const places = new Float32Array(2 * x.length);
  for (let index = 0; index < x.length; index += 1) {
    places[2 * index] = signX * x[index];
    places[2 * index + 1] = signY * y[index];
  }
  return places;
}

/**
 * How a map that was calculated anew is mirrored so that it looks like the one before.
 * @param {Float32Array} before @param {Float32Array} after the same points, not yet mirrored
 * @returns {[number, number]}
 */
export function keptSigns(before, after) {
  const alike = [0, 0];
  const count = Math.min(before.length, after.length);
  for (let index = 0; index < count; index += 1) alike[index % 2] += before[index] * after[index];
  return [alike[0] < 0 ? -1 : 1, alike[1] < 0 ? -1 : 1];
}

/** @param {Bounds} bounds @param {[number, number]} signs @returns {Bounds} */
export function mirrored([[left, right], [low, high]], [signX, signY]) {
  return [signX > 0 ? [left, right] : [-right, -left], signY > 0 ? [low, high] : [-high, -low]];
}

/** How large a point is drawn, in pixels: few are large, many are small, and a closer look enlarges them. @param {number} count @param {number} zoom over the view of all */
export function pointSize(count, zoom) {
  const size = count <= 300 ? 11 : count <= 2_000 ? 8 : count <= 12_000 ? 5.5 : 4;
  return Math.min(14, size * Math.max(1, zoom) ** 0.35);
}
