// @ts-check
/** What a run leaves to be used elsewhere: its exported files, one by one or as an archive. */
import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { formatBytes, formatClock } from "../../lib/format.js";

/** The address of one exported file; its slashes stay. Pure. @param {string} path of the run in the API @param {string} name */
export function fileAddress(path, name) {
  return `${path}/export/${name.split("/").map(encodeURIComponent).join("/")}`;
}

/** @param {HTMLElement} place @param {string} path of the run in the API */
export async function showExport(place, path) {
  const { files, total_bytes } = await get(`${path}/export`);
  if (!files.length) {
    fill(place, h("div", { class: "card empty" }, h("h2", { text: "Nothing exported yet" }),
      h("p", { text: "When a run has finished, what is needed to use its model in another program is here to be downloaded. Not every recipe exports; the checkpoints are listed under Checkpoints." })));
    return;
  }
  const count = files.length === 1 ? "1 file" : `${files.length} files`;
  fill(
    place,
    h(
      "section",
      { class: "card", "aria-label": "Export" },
      h("div", { class: "card-head" }, h("h2", { text: "Export" }), h("span", { class: "muted small num", text: `${count}, ${formatBytes(total_bytes)}` }),
        h("span", { class: "end" }, h("a", { class: "button", href: `${path}/export.zip`, download: "", dataset: { testid: "export-zip" } }, "Download all as ZIP"))),
      h("div", { class: "table-scroll" }, h(
        "table",
        { class: "table num" },
        h("caption", { class: "visually-hidden", text: "Exported files" }),
        h("thead", {}, h("tr", {}, ["File", "Size", "Written"].map((word) => h("th", { scope: "col", text: word })))),
        h("tbody", {}, files.map((/** @type {any} */ one) => h("tr", {},
          h("td", {}, h("a", { class: "mono", href: fileAddress(path, one.name), download: "", text: one.name })),
          h("td", { class: "nowrap", text: formatBytes(one.bytes) }),
          h("td", { class: "nowrap", text: formatClock(one.changed_at) })))),
      )),
    ),
  );
}
