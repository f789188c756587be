// @ts-check
/**
 * A recipe's parameters between text on the page and values for the API.  Pure.
 *
 * @typedef {object} Parameter as GET /api/recipes describes it
 * @property {string} name @property {"int" | "float" | "bool" | "str" | "choice"} type @property {any} default
 * @property {number | null} minimum @property {number | null} maximum @property {string[] | null} choices
 * @property {string} help @property {string} group @property {boolean} advanced @property {string} unit
 */

/** The words of a field's range, e.g. `1 to 10,000 epochs`. @param {Parameter} parameter */
export function rangeWords({ type, minimum, maximum, unit }) {
  if (type !== "int" && type !== "float") return "";
  const unitWord = unit ? ` ${unit}` : "";
  if (minimum !== null && maximum !== null) return `${plain(minimum)} to ${plain(maximum)}${unitWord}`;
  if (minimum !== null) return `at least ${plain(minimum)}${unitWord}`;
  return maximum === null ? unit : `at most ${plain(maximum)}${unitWord}`;
}

/** @param {number} value */
function plain(value) {
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-4)) return value.toExponential().replace("e+", "e");
  return value.toLocaleString("en-US", { maximumFractionDigits: 10 });
}

/**
 * @param {Parameter} parameter @param {string} text what stands in the field
 * @returns {{value: any} | {error: string}}
 */
export function readParameter(parameter, text) {
  const { type, minimum, maximum } = parameter;
  if (type === "bool") return { value: text === "true" };
  if (type === "str" || type === "choice") return { value: text };
  const cleaned = text.trim().replaceAll(/[,_\s]/g, "");
  const value = Number(cleaned);
  if (cleaned === "" || !Number.isFinite(value)) return { error: "Enter a number." };
  if (type === "int" && !Number.isInteger(value)) return { error: "Enter a whole number." };
  if ((minimum !== null && value < minimum) || (maximum !== null && value > maximum)) {
    return { error: `Allowed: ${rangeWords(parameter)}.` };
  }
  return { value };
}

/** @param {unknown} value */
export function writeParameter(value) {
  return value === null || value === undefined ? "" : String(value);
}

/** Words of names that are short for something. @type {Record<string, string>} */
const WHOLE = {
  dim: "dimension", eval: "evaluate", grad: "gradient", lora: "LoRA", lr: "learning rate", mrr: "MRR", ms: "(ms)",
  ngram: "n-gram", vocab: "vocabulary",
};

/** `max_grad_norm` as `Max gradient norm`, `num_epochs` as `Epochs`. @param {string} name */
export function spokenName(name) {
  const words = name
    .replace(/^num_(?=.)/, "")
    .replace(/(recall|contain)_(\d+)/, "$1@$2")
    .split("_")
    .map((word) => WHOLE[word] ?? word)
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Parameters in their groups, in order of first appearance. @param {Parameter[]} parameters @returns {[string, Parameter[]][]} */
export function grouped(parameters) {
  /** @type {Map<string, Parameter[]>} */
  const groups = new Map();
  for (const parameter of parameters) {
    const group = parameter.group || "Other";
    groups.set(group, [...(groups.get(group) ?? []), parameter]);
  }
  return [...groups];
}

/** Name of the parameter an API error is about; null for other fields. @param {string | undefined} field */
export function parameterOf(field) {
  return field?.startsWith("params.") ? field.slice("params.".length) : null;
}
