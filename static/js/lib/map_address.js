// @ts-check
/**
 * What the map shows, as its address says it.  Pure.
 *
 * @typedef {object} MapAddress
 * @property {string | null} run @property {string} step a number, or latest, which follows the newest
 * @property {import("./map_classes.js").Colouring | null} colour null: what suits the examples
 * @property {string | null} example the chosen one
 */

/** @param {string} search @returns {MapAddress} */
export function readMapAddress(search) {
  const fields = new URLSearchParams(search);
  const [step, colour] = [fields.get("step") ?? "latest", fields.get("colour") ?? ""];
  return {
    run: fields.get("run") || null,
    step: /^(\d{1,15}|latest|first|best)$/.test(step) ? step : "latest",
    colour: /^(group|label|correct|none)$/.test(colour) ? /** @type {any} */ (colour) : null,
    example: fields.get("example") || null,
  };
}

/** Only what differs from the defaults. @param {MapAddress} view */
export function writeMapAddress({ run, step, colour, example }) {
  const fields = new URLSearchParams();
  if (run) fields.set("run", run);
  if (step !== "latest") fields.set("step", step);
  if (colour) fields.set("colour", colour);
  if (example) fields.set("example", example);
  const text = fields.toString();
  return text ? `?${text}` : "";
}
