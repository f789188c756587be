// @ts-check
/** The words of the page of scripts.  Pure. */

/** How many there are, and how many of them cannot be used. @param {{trouble: unknown}[]} scripts */
export function summaryWords(scripts) {
  const broken = scripts.filter((one) => one.trouble).length;
  const all = `${scripts.length} ${scripts.length === 1 ? "script" : "scripts"}`;
  return broken ? `${all}, ${broken} cannot be used` : all;
}

/** @param {{entry: string, interpreter: string, resumes: boolean, dataset: string, parameters: {name: string}[]}} script */
export function parameterWords(script) {
  const names = script.parameters.map((one) => one.name);
  return [
    `${script.entry} under ${script.interpreter}`,
    names.length ? `chosen on the form: ${names.join(", ")}` : "nothing to choose",
    script.dataset === "required" ? "needs a file" : "",
    script.resumes ? "goes on from its own checkpoint" : "begins anew after a death",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** A remedy as a sentence of its own. @param {string} remedy */
export function sentence(remedy) {
  return `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}${/[.?!]$/.test(remedy) ? "" : "."}`;
}
