// @ts-check
/** @type {Promise<any> | null} */
let loading = null;

/** plotly.js of the installed package, loaded once, when the first chart needs it. @param {string} url @returns {Promise<any>} */
export function loadPlotly(url) {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.addEventListener("load", () => resolve(/** @type {any} */ (globalThis).Plotly));
    script.addEventListener("error", () => reject(new Error("The charts' library did not load; reload the page.")));
    document.head.append(script);
  });
  return loading;
}
