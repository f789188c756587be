// @ts-check
/** Elements from data. Text always becomes text nodes: nothing here can parse HTML. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, any>} Props `class`, `text`, `dataset`, `on…` listeners, properties, attributes
 */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {Props} [props] @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  apply(element, props);
  append(element, children);
  return element;
}

/** @param {string} tag @param {Record<string, string | number>} attributes @param {...SVGElement} children */
export function svg(tag, attributes = {}, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** An icon of the sprite in base.html; decoration unless `label` is given. @param {string} name @param {string} [label] */
export function icon(name, label) {
  const use = svg("use", { href: `#icon-${name}` });
  const element = svg("svg", { class: "icon", viewBox: "0 0 16 16", ...(label ? { role: "img" } : { "aria-hidden": "true" }) }, use);
  if (label) {
    const title = svg("title");
    title.textContent = label;
    element.prepend(title);
  }
  return element;
}

/** @param {HTMLElement} element @param {Props} props */
function apply(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = String(value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
}

/** @param {Element} parent @param {(Child | Child[])[]} children */
function append(parent, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Set text only when it differs, so that nothing is repainted or announced twice. @param {Element | null} element @param {string} text */
export function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

/** @param {Element} parent @param {...(Child | Child[])} children */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/** @template {Element} T @param {string} selector @param {{new (): T}} [kind] @param {ParentNode} [root] @returns {T} */
export function find(selector, kind, root = document) {
  const element = root.querySelector(selector);
  if (element === null || (kind && !(element instanceof kind))) throw new Error(`the page lacks ${selector}`);
  return /** @type {T} */ (element);
}

/** The JSON the server put into the page under this id. @param {string} id @returns {any} */
export function pageJson(id) {
  const block = document.getElementById(id);
  return block === null ? null : JSON.parse(block.textContent ?? "null");
}

/** At most one call per animation frame. @param {() => void} work @returns {() => void} */
export function oncePerFrame(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

/** @template {unknown[]} A @param {(...args: A) => void} work @param {number} delayMs @returns {(...args: A) => void} */
export function debounce(work, delayMs) {
  /** @type {any} */
  let timer = null;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), delayMs);
  };
}
