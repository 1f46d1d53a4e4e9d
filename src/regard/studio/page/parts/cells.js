// @ts-check
/** A few cells with words in them, as SVG: hover and arrow keys tell each; what lights up is the owner's to say. */
import { h, s } from "./dom.js";

/**
 * @typedef {object} Cell
 * @property {string} [text]
 * @property {string} [fill] a variable of the style sheet, or a colour
 * @property {string} [ink] the same for its words
 * @property {string} [kind] classes, such as `dim` or `lit`
 */
/**
 * @typedef {object} Shown
 * @property {number} rows
 * @property {number} cols
 * @property {(row: number, col: number) => Cell} cell
 * @property {(row: number, col: number) => string} tell a cell in words
 * @property {string} label what the picture shows
 * @property {string[]} [tops] words above the columns
 * @property {string[]} [sides] words beside the rows
 */

const SIDE = 40, EDGE = 26;
/** @param {string} one */
const paint = (one) => (one.startsWith("--") ? `var(${one})` : one);

/** `show` draws, `onpoint(row, col)` is told where one points, (−1, −1) at the end; `refresh` paints the same cells anew. */
export class CellGrid {
  /** @param {{most?: number, least?: number, words?: boolean}} [given] `most` and `least`: pixels of a cell; `words`: whether it tells cells below itself */
  constructor({ most = SIDE, least = 0, words = true } = {}) {
    this.most = most;
    this.least = least;
    this.picture = s("svg", { tabindex: 0, role: "img", "data-cells": true });
    this.words = h("p", { class: "readout", "aria-live": "polite" });
    this.element = h("div", { class: "picture cells" }, this.picture, words && this.words);
    /** @type {Shown | null} */
    this.shown = null;
    /** @type {SVGElement[]} */
    this.nodes = [];
    /** @type {(row: number, col: number) => void} */
    this.onpoint = () => {};
    this.idle = "";
    this.row = -1;
    this.col = -1;
    this.picture.addEventListener("pointermove", (event) => this._pointed(event));
    this.picture.addEventListener("pointerdown", (event) => this._pointed(event));
    this.picture.addEventListener("pointerleave", (event) => { if (/** @type {PointerEvent} */ (event).pointerType === "mouse") this.move(-1, -1); });
    this.picture.addEventListener("keydown", (event) => this._pressed(/** @type {KeyboardEvent} */ (event)));
    this.picture.addEventListener("blur", () => this.move(-1, -1));
  }

  /** @param {Shown} shown */
  show(shown) {
    const { rows, cols, tops, sides } = shown, before = this.shown;
    this.shown = shown;
    this.left = sides ? EDGE + 4 : 0;
    this.top = tops ? EDGE : 0;
    if (!before || before.rows !== rows || before.cols !== cols || String(before.tops) !== String(tops) || String(before.sides) !== String(sides)) this._build(shown);
    this.picture.setAttribute("aria-label", `${shown.label}. Arrow keys move from cell to cell.`);
    if (this.row >= rows || this.col >= cols) [this.row, this.col] = [-1, -1];
    this.refresh();
  }

  /** @param {Shown} shown */
  _build({ rows, cols, tops, sides }) {
    const wide = this.left + cols * SIDE, high = this.top + rows * SIDE;
    this.picture.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    this.picture.style.maxWidth = `${Math.round((wide / SIDE) * this.most)}px`;
    this.picture.style.minWidth = `${Math.round((wide / SIDE) * this.least)}px`;  // beyond that it scrolls
    this.nodes = Array.from({ length: rows * cols }, (_, i) => {
      const x = this.left + (i % cols) * SIDE, y = this.top + Math.floor(i / cols) * SIDE;
      return s("g", {}, s("rect", { x: x + 1, y: y + 1, width: SIDE - 2, height: SIDE - 2, rx: 4 }), s("text", { x: x + SIDE / 2, y: y + SIDE / 2 + 5, "text-anchor": "middle" }));
    });
    const edge = (/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y) => s("text", { class: "edge", x, y, "text-anchor": "middle" }, text);
    this.picture.replaceChildren(...this.nodes,
      ...(tops ?? []).map((text, j) => edge(text, this.left + (j + 0.5) * SIDE, 17)), ...(sides ?? []).map((text, i) => edge(text, EDGE / 2, this.top + (i + 0.5) * SIDE + 5)));
  }

  /** Paint and tell anew. */
  refresh() {
    const { shown } = this;
    if (!shown) return;
    this.nodes.forEach((node, i) => {
      const row = Math.floor(i / shown.cols), col = i % shown.cols, { text = "", fill = "--unseen", ink = "--ink", kind = "" } = shown.cell(row, col);
      const [square, words] = /** @type {[SVGElement, SVGElement]} */ (/** @type {unknown} */ ([...node.children]));
      node.setAttribute("class", `${kind}${row === this.row && col === this.col ? " here" : ""}`.trim());
      square.style.fill = paint(fill);
      words.style.fill = paint(ink);
      if (words.textContent !== text) {
        words.textContent = text;
        words.style.fontSize = `${text.length > 5 ? 10 : text.length > 3 ? 12 : 14}px`;
      }
    });
    this.words.textContent = this.row >= 0 ? shown.tell(this.row, this.col) : this.idle;
  }

  /** Point at a cell without telling others. @param {number} row @param {number} col */
  point(row, col) {
    [this.row, this.col] = [row, col];
    this.refresh();
  }

  /** Point at a cell and tell. @param {number} row @param {number} col */
  move(row, col) {
    if (row === this.row && col === this.col) return;
    [this.row, this.col] = [row, col];
    this.onpoint(row, col);
    this.refresh();
  }

  /** @param {Event} event */
  _pointed(event) {
    const { shown } = this, mouse = /** @type {PointerEvent} */ (event), box = this.picture.getBoundingClientRect();
    if (!shown) return;
    const scale = (this.left + shown.cols * SIDE) / box.width;
    const row = Math.floor(((mouse.clientY - box.top) * scale - this.top) / SIDE), col = Math.floor(((mouse.clientX - box.left) * scale - this.left) / SIDE);
    if (row >= 0 && col >= 0 && row < shown.rows && col < shown.cols) this.move(row, col);
    else this.move(-1, -1);
  }

  /** @param {KeyboardEvent} event */
  _pressed(event) {
    if (!this.shown) return;
    const [down, right] = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] })[event.key] ?? [0, 0];
    if (event.key === "Escape") this.move(-1, -1);
    if (!down && !right) return;
    event.preventDefault();
    const { rows, cols } = this.shown;
    if (this.row < 0) this.move(0, 0);
    else this.move(Math.min(rows - 1, Math.max(0, this.row + down)), Math.min(cols - 1, Math.max(0, this.col + right)));
  }

  left = 0;
  top = 0;
}
