// @ts-check
/** Which series a chart draws. Pure. */

/**
 * @typedef {{series: string, label: string, color: string, smooth: boolean}} Line
 * @typedef {{key: string, title: string, section: string, help: string, empty: string, log: boolean, over_time: boolean, y_format: string, lines: Line[], figure: {data: any[], layout: any}}} Definition
 */

/** What `*` stands for when `pattern` matches `name`; null when it does not. @param {string} pattern @param {string} name */
export function matchSeries(pattern, name) {
  const star = pattern.indexOf("*");
  if (star === -1) return pattern === name ? "" : null;
  const [head, tail] = [pattern.slice(0, star), pattern.slice(star + 1)];
  const fits = name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail);
  return fits ? name.slice(head.length, name.length - tail.length) : null;
}

/**
 * The lines of `definition` that have a series among `names`, patterns spelled out.
 * @param {Definition} definition @param {string[]} names
 * @returns {{name: string, label: string, line: Line, trace: any}[]}
 */
export function boundLines(definition, names) {
  return definition.lines.flatMap((line, index) =>
    names.flatMap((name) => {
      const matched = matchSeries(line.series, name);
      if (matched === null) return [];
      return [{ name, label: line.label.replace("*", matched), line, trace: definition.figure.data[index] }];
    }),
  );
}

/** Names that no definition draws: each gets a plain chart of its own, so that nothing stays unseen. @param {Definition[]} definitions @param {string[]} names */
export function unclaimed(definitions, names) {
  const lines = definitions.flatMap((definition) => definition.lines);
  return names.filter((name) => !lines.some((line) => matchSeries(line.series, name) !== null));
}

/** A chart for a series nobody declared one for. @param {string} name @param {Definition} like @returns {Definition} */
export function plainDefinition(name, like) {
  const trace = { ...like.figure.data[0], name, mode: "lines" };
  const { yaxis2, ...layout } = structuredClone(like.figure.layout);
  void yaxis2;
  layout.yaxis = { zeroline: false };
  layout.showlegend = false;
  return {
    key: `series-${name.replaceAll(/[^a-zA-Z0-9]+/g, "-")}`,
    title: name,
    section: "Also reported",
    help: "",
    empty: "",
    log: true,
    over_time: name.startsWith("system/"),
    y_format: "number",
    lines: [{ series: name, label: name, color: "--chart-1", smooth: true }],
    figure: { data: [trace], layout },
  };
}
