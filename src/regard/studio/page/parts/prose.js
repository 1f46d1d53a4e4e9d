// @ts-check
/** Text as people write it, and MathML, as nodes: nothing is parsed as HTML. */
import { h } from "./dom.js";

const MATH = "http://www.w3.org/1998/Math/MathML";
const PIECES = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|<([A-Z]+)>|_(\{[^}]*\}|[A-Za-z0-9]+(?![A-Za-z0-9]*[({]))|\^(\{[^}]*\}|\([^)]*\)|[A-Za-z0-9⊤]+)/;
const bare = (/** @type {string} */ text) => text.replace(/^[{(]|[})]$/g, "");

/** One line: `code`, **bold**, *emphasis*, x_1, n^2 and <START>. @param {string} text @returns {(Node | string)[]} */
export function inline(text) {
  /** @type {(Node | string)[]} */
  const out = [];
  for (let rest = text; rest;) {
    const found = PIECES.exec(rest);
    if (!found) { out.push(rest); break; }
    const [all, code, bold, slanted, token, below, above] = found;
    if (found.index) out.push(rest.slice(0, found.index));
    rest = rest.slice(found.index + all.length);
    if (code !== undefined) out.push(h("code", {}, code));
    else if (bold !== undefined) out.push(h("b", {}, ...inline(bold)));
    else if (slanted !== undefined) out.push(h("em", {}, ...inline(slanted)));
    else if (token !== undefined) out.push(h("span", { class: "token" }, token.toLowerCase()));
    else if (below !== undefined) out.push(h("sub", {}, ...inline(bare(below))));
    else out.push(h("sup", {}, ...inline(bare(above))));
  }
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
