// @ts-check
import { svg } from "../../lib/dom.js";
import { formatCount } from "../../lib/format.js";

const [WIDTH, HEIGHT, MIDDLE] = [100, 60, 34];

/** Per snapshot how many were learned (up) and forgotten (down) since the one before. @param {any[]} steps @returns {SVGElement} */
export function stepBars(steps) {
  const most = Math.max(1, ...steps.map((one) => Math.max(one.learned, one.forgotten)));
  const width = WIDTH / steps.length;
  const tall = (/** @type {number} */ count, /** @type {number} */ room) => (count / most) * room;
  const bars = steps.flatMap((one, index) => {
    const up = tall(one.learned, MIDDLE - 2);
    const down = tall(one.forgotten, HEIGHT - MIDDLE - 2);
    const x = index * width + width * 0.12;
    const group = svg("g", { class: "step-bar" });
    const title = svg("title");
    title.textContent = `Step ${formatCount(one.step)}: ${formatCount(one.right)} right, ${formatCount(one.learned)} learned, ${formatCount(one.forgotten)} forgotten`;
    group.append(
      title,
      svg("rect", { class: "bar-room", x: index * width, y: 0, width, height: HEIGHT }),
      svg("rect", { class: "bar-learned", x, y: MIDDLE - up, width: width * 0.76, height: up }),
      svg("rect", { class: "bar-forgotten", x, y: MIDDLE, width: width * 0.76, height: down }),
    );
    return [group];
  });
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", class: "step-bars", role: "img", "data-testid": "step-bars" }, ...bars, svg("line", { class: "bar-base", x1: 0, x2: WIDTH, y1: MIDDLE, y2: MIDDLE }));
  drawing.setAttribute("aria-label", `Learned and forgotten at ${formatCount(steps.length)} snapshots`);
  return drawing;
}
