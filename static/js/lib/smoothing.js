// @ts-check
/**
 * Exponential moving average with bias correction, as TensorBoard draws it: without the
 * correction the first points would lean towards zero.  Gaps (`null`, NaN, infinities) stay
 * gaps and do not poison what follows.
 *
 * @param {ArrayLike<number | null>} values
 * @param {number} weight 0 (no smoothing) to just under 1
 * @returns {(number | null)[]}
 */
export function smooth(values, weight) {
  const result = new Array(values.length);
  let average = 0;
  let memory = 1;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    if (value === null || !Number.isFinite(value)) {
      result[index] = null;
      continue;
    }
    average = weight * average + (1 - weight) * value;
    memory *= weight;
    result[index] = weight === 0 ? value : average / (1 - memory);
  }
  return result;
}
