// @ts-check
/** Where things stand on the charts of an example.  Snapshots stand evenly, as on the slider: early ones are close in steps and tell most.  Pure. */

/** @typedef {{at: (value: number) => number, ticks: {value: number, label: string}[]}} Scale `at`: 0 at the foot, 1 at the top */

/** @param {number} index @param {number} count @returns {number} 0 to 1 */
export function shareOf(index, count) {
  return count < 2 ? 0.5 : index / (count - 1);
}

/** The snapshot nearest to a share of the width. @param {number} share @param {number} count */
export function indexAt(share, count) {
  return Math.min(count - 1, Math.max(0, Math.round(share * (count - 1))));
}

/** Snapshots whose steps are written below, so that they do not touch: the first, the last and even ones between. @param {number} count @param {number} room how many labels fit */
export function labelled(count, room) {
  if (count === 0) return [];
  const stride = Math.max(1, Math.ceil((count - 1) / Math.max(1, room - 1)));
  const places = [];
  for (let index = 0; index < count - 1; index += stride) places.push(index);
  if (places.length > 1 && count - 1 - places[places.length - 1] < stride / 2) places.pop();
  return [...places, count - 1];
}

/** Even ticks from 0 or below to what is needed. @param {(number | null)[]} values @param {(value: number) => string} write @returns {Scale} */
export function linearScale(values, write) {
  const [low, high] = extent(values);
  const floor = Math.min(0, low);
  const step = niceStep((high - floor || 1) / 3);
  const [first, last] = [Math.floor(floor / step), Math.max(Math.floor(floor / step) + 1, Math.ceil(high / step - 1e-9))];
  const ticks = [];
  for (let count = first; count <= last; count += 1) ticks.push({ value: count * step, label: write(count * step) });
  return { at: (value) => (value / step - first) / (last - first), ticks };
}

/** Shares from 0 to 1. @returns {Scale} */
export function shareScale() {
  return { at: (value) => value, ticks: [0, 0.25, 0.5, 0.75, 1].map((value) => ({ value, label: `${value * 100} %` })) };
}

/** Ranks on a logarithmic axis, 1 on top. @param {(number | null)[]} ranks @returns {Scale} */
export function rankScale(ranks) {
  const worst = Math.max(10, extent(ranks)[1]);
  const height = Math.log(worst);
  const ticks = [];
  for (let power = 1; power <= worst; power *= 10) ticks.push({ value: power, label: power.toLocaleString("en-US") });
  return { at: (rank) => 1 - Math.log(Math.max(1, rank)) / height, ticks };
}

/** @param {(number | null)[]} values @returns {[number, number]} */
function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? [0, 1] : [low, high];
}

/** 1, 2 or 5 times a power of ten, at least as large. @param {number} least */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

/** 1,500 as 1.5k: there is little room below a chart. @param {number} step */
export function shortStep(step) {
  if (step < 1000) return String(step);
  const [size, unit] = step < 1_000_000 ? [step / 1000, "k"] : [step / 1_000_000, "M"];
  return `${Number(size.toPrecision(4))}${unit}`;
}
