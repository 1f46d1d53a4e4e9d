// @ts-check
/** Elements in a line: `h("p", {class: "quiet"}, "text")`; `s` makes SVG. */

/** @typedef {Node | string | number | null | undefined | false} Child */

/** @param {Element} node @param {Record<string, any>} given @param {Child[]} children */
function filled(node, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style")  // an object: the page's policy takes no style as text
      for (const [key, one] of Object.entries(value)) /** @type {HTMLElement} */ (node).style.setProperty(key, String(one));
    else if (name === "value") /** @type {any} */ (node).value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((one) => one !== null && one !== undefined && one !== false).map((one) => (one instanceof Node ? one : String(one))));
}

/**
 * An HTML element. Listeners are named `onclick` and the like; nothing is parsed as HTML.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, any>} [given] @param {...Child} children @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, given = {}, ...children) {
  const node = document.createElement(tag);
  filled(node, given, children);
  return node;
}

/** The same in SVG. @param {string} tag @param {Record<string, any>} [given] @param {...Child} children @returns {SVGElement} */
export function s(tag, given = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  filled(node, given, children);
  return node;
}

let count = 0;
/** A new id, for labels. */
export const id = () => `part-${++count}`;

/** A number as readers write it: 1,234,567. @param {number | bigint} value */
export const whole = (value) => value.toLocaleString("en");

/** A share as a percentage with three digits that say something, and as many more as keep it from being all; `fully` also where it is next to nothing. @param {number} share @param {boolean} [fully] */
export function percent(share, fully = false) {
  if (share === 0) return "0 %";
  const value = share * 100;
  let digits = 3;
  while (value < 100 && digits < 12 && Number(value.toPrecision(digits)) === 100) digits++;
  if (value < 1e-4) return fully ? `${value.toLocaleString("en", { maximumSignificantDigits: 3 })} %` : "< 0.0001 %";
  return `${Number(value.toPrecision(digits))} %`;
}

/** @type {Map<string, string>} */
const known = new Map();
/** @type {HTMLElement | null} */
let probe = null;

/** The colour that a variable of the style sheet has now, as a canvas takes it. @param {string} name */
export function colour(name) {
  let found = known.get(name);
  if (found === undefined) {
    if (!probe) { probe = h("span", { hidden: true }); document.body.append(probe); }
    probe.style.color = `var(${name})`;
    found = getComputedStyle(probe).color;
    known.set(name, found);
  }
  return found;
}

/** Light became dark, or the reverse. */
export const recolour = () => known.clear();
