// @ts-check
import { currentTheme } from "../../lib/theme.js";

/** @type {Map<string, import("../../lib/point_painter.js").Rgba>} */
const known = new Map();

/** A colour of the page as the painter takes it, whatever way the style sheet writes it. @param {string} token e.g. --map-1 @returns {import("../../lib/point_painter.js").Rgba} */
export function colourOf(token) {
  const key = `${currentTheme()} ${token}`;
  const found = known.get(key);
  if (found) return found;
  const probe = document.createElement("span");
  probe.hidden = true;
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [1, 1];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.fillStyle = getComputedStyle(probe).color;
  context.fillRect(0, 0, 1, 1);
  probe.remove();
  const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
  /** @type {import("../../lib/point_painter.js").Rgba} */
  const colour = [red / 255, green / 255, blue / 255, alpha / 255];
  known.set(key, colour);
  return colour;
}
