// @ts-check
/** Points on two axes, drawn on a canvas: thousands are drawn in a few milliseconds.  The geometry is pure. */
import { formatNumber } from "../../lib/format.js";
import { token } from "../../lib/theme.js";

export const MARGIN = { left: 46, right: 14, top: 12, bottom: 38 };
const NEAR_PX = 14;

/**
 * @typedef {{x: number, y: number, color: string, index: number}} Point color is a custom property
 * @typedef {{width: number, height: number, maxX: number, maxY: number}} Frame
 */

/** Where a point lies, in pixels. @param {Frame} frame @param {{x: number, y: number}} point */
export function place({ width, height, maxX, maxY }, { x, y }) {
  return {
    left: MARGIN.left + (x / maxX) * (width - MARGIN.left - MARGIN.right),
    top: height - MARGIN.bottom - (y / maxY) * (height - MARGIN.top - MARGIN.bottom),
  };
}

/** The point nearest to a place, if any is near; of equally near ones the last, which lies on top. @param {Frame} frame @param {Point[]} points @param {number} left @param {number} top */
export function nearest(frame, points, left, top) {
  let found = null;
  let least = NEAR_PX ** 2;
  for (const point of points) {
    const at = place(frame, point);
    const distance = (at.left - left) ** 2 + (at.top - top) ** 2;
    if (distance <= least) [found, least] = [point, distance];
  }
  return found;
}

/** A round number at or above. @param {number} value */
export function ceiling(value) {
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((one) => one * size).find((one) => one >= value * 0.999) ?? value;
}

/** @param {HTMLCanvasElement} canvas @param {Frame} frame @param {Point[]} points @param {Point | null} chosen @param {{x: string, y: string}} titles */
export function draw(canvas, frame, points, chosen, titles) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(frame.width * ratio);
  canvas.height = Math.round(frame.height * ratio);
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, frame.width, frame.height);
  drawAxes(pen, frame, titles);
  const radius = points.length > 3_000 ? 2 : points.length > 400 ? 3 : 4.5;
  pen.globalAlpha = points.length > 3_000 ? 0.55 : 0.75;
  for (const color of new Set(points.map((point) => point.color))) {
    pen.fillStyle = token(color);
    pen.beginPath();
    for (const point of points) {
      if (point.color !== color) continue;
      const { left, top } = place(frame, point);
      pen.moveTo(left + radius, top);
      pen.arc(left, top, radius, 0, 2 * Math.PI);
    }
    pen.fill();
  }
  pen.globalAlpha = 1;
  if (chosen === null) return;
  const { left, top } = place(frame, chosen);
  pen.strokeStyle = token("--color-text");
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc(left, top, radius + 3, 0, 2 * Math.PI);
  pen.stroke();
}

/** @param {CanvasRenderingContext2D} pen @param {Frame} frame @param {{x: string, y: string}} titles */
function drawAxes(pen, frame, titles) {
  const { width, height, maxX, maxY } = frame;
  pen.font = `12px ${token("--font")}`;
  pen.strokeStyle = token("--color-grid");
  pen.fillStyle = token("--color-muted");
  pen.lineWidth = 1;
  for (let mark = 0; mark <= 4; mark += 1) {
    const { left, top } = place(frame, { x: (maxX * mark) / 4, y: (maxY * mark) / 4 });
    pen.beginPath();
    pen.moveTo(MARGIN.left, Math.round(top) + 0.5);
    pen.lineTo(width - MARGIN.right, Math.round(top) + 0.5);
    pen.moveTo(Math.round(left) + 0.5, MARGIN.top);
    pen.lineTo(Math.round(left) + 0.5, height - MARGIN.bottom);
    pen.stroke();
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(formatNumber((maxY * mark) / 4, 3), MARGIN.left - 8, top);
    pen.textAlign = mark === 4 ? "right" : "center";
    pen.textBaseline = "top";
    pen.fillText(formatNumber((maxX * mark) / 4, 3), left, height - MARGIN.bottom + 6);
  }
  pen.textAlign = "center";
  pen.fillText(titles.x, (MARGIN.left + width - MARGIN.right) / 2, height - 16);
  pen.save();
  pen.translate(10, (MARGIN.top + height - MARGIN.bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.textBaseline = "middle";
  pen.fillText(titles.y, 0, 0);
  pen.restore();
}
