// @ts-check

/**
 * Which snapshot a step of the address means: its own, or the nearest one.  Pure.
 * @param {any[]} snapshots by step @param {string} step a number, or latest, first, best @returns {number | null}
 */
export function chosenStep(snapshots, step) {
  if (snapshots.length === 0) return null;
  if (step === "latest") return snapshots.at(-1).step;
  if (step === "first") return snapshots[0].step;
  if (step === "best") return snapshots.reduce((best, one) => (isBetter(one.summary, best.summary) ? one : best)).step;
  const wanted = Number(step);
  const far = (/** @type {any} */ one) => Math.abs(one.step - wanted);
  return snapshots.reduce((near, one) => (far(one) < far(near) ? one : near)).step;
}

/**
 * Those that asked what the newest one asked: answers to other probes cannot be compared with these.  Pure.
 * @param {any[]} snapshots by step
 */
export function askedAlike(snapshots) {
  return snapshots.filter((one) => one.probe_set === snapshots.at(-1).probe_set);
}

/** More right, then less loss; of equals the earlier stays. @param {any} one @param {any} other */
function isBetter(one, other) {
  const [right, rightThere] = [one.accuracy ?? -1, other.accuracy ?? -1];
  if (right !== rightThere) return right > rightThere;
  return (one.avg_loss ?? Infinity) < (other.avg_loss ?? Infinity);
}
