// @ts-check
/** Text as people write it, and MathML, as nodes: nothing is parsed as HTML. */
import { h } from "./dom.js";

const MATH = "http://www.w3.org/1998/Math/MathML";
// A subscript belongs to a single letter: x_1, W_in, and not strided_mask.
const PIECES = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|<([A-Z]+)>|(?<=(?<![A-Za-z_])[A-Za-zΑ-ω])_(\{[^}]*\}|[A-Za-z0-9]+)|\^(\{[^}]*\}|\([^)]*\)|[A-Za-z0-9⊤]+)|(?<=\d)e([+-]\d+)/gu;
const bare = (/** @type {string} */ text) => text.replace(/^[{(]|[})]$/g, "");

/** One line: `code`, **bold**, *emphasis*, x_1, n^2, 1e-9 and <START>. @param {string} text @returns {(Node | string)[]} */
export function inline(text) {
  /** @type {(Node | string)[]} */
  const out = [];
  let at = 0;
  for (const found of text.matchAll(PIECES)) {
    const [all, code, bold, slanted, token, below, above, power] = found;
    if (found.index > at) out.push(text.slice(at, found.index));
    at = found.index + all.length;
    if (code !== undefined) out.push(h("code", {}, code));
    else if (bold !== undefined) out.push(h("b", {}, ...inline(bold)));
    else if (slanted !== undefined) out.push(h("em", {}, ...inline(slanted)));
    else if (token !== undefined) out.push(h("span", { class: "token" }, token.toLowerCase()));
    else if (below !== undefined) out.push(h("sub", {}, ...inline(bare(below))));
    else if (above !== undefined) out.push(h("sup", {}, ...inline(bare(above))));
    else out.push(" × 10", h("sup", {}, String(Number(power)).replace("-", "−")));
  }
  if (at < text.length) out.push(text.slice(at));
  return out;
}

/** Paragraphs. @param {string} text */
export const paragraphs = (text) => text.split(/\n\s*\n/).map((one) => h("p", {}, ...inline(one.replaceAll("\n", " "))));

const ALLOWED = new Set("math mrow mi mn mo mtext mfrac msup msub msubsup msqrt mroot mover munder munderover mtable mtr mtd mfenced mstyle mspace mpadded".split(" "));
const KEPT = ["display", "class", "displaystyle", "mathvariant", "stretchy", "open", "close", "separators", "accent", "linethickness"];

/** A formula, from MathML: elements and attributes of formulas alone. @param {string} text */
export function math(text) {
  const found = new DOMParser().parseFromString(text.replace("<math", `<math xmlns="${MATH}"`), "application/xml").documentElement;
  return h("div", { class: "math" }, copied(found));
}

/** @param {Element} from @returns {Node} */
function copied(from) {
  if (!ALLOWED.has(from.localName)) return document.createTextNode(from.textContent ?? "");
  const node = document.createElementNS(MATH, from.localName);
  for (const name of KEPT) if (from.hasAttribute(name)) node.setAttribute(name, from.getAttribute(name) ?? "");
  for (const one of from.childNodes) node.append(one.nodeType === 1 ? copied(/** @type {Element} */ (one)) : document.createTextNode(one.textContent ?? ""));
  return node;
}
