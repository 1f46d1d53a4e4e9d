// @ts-check
/** Vectors and matrices as coloured strips: blue below zero, orange above, the exact number where one points. */
import { colour, h } from "./dom.js";
import { digits, largest, softened } from "./tensors.js";
import { tip, untip } from "./tip.js";

/** @typedef {import("./tensors.js").Matrix} Matrix */
/** @typedef {[number, number, number]} Rgb */

/** The parts of a colour of the style sheet. @param {string} name @returns {Rgb} */
export const rgb = (name) => /** @type {Rgb} */ ((colour(name).match(/[\d.]+/g) ?? ["0", "0", "0"]).slice(0, 3).map(Number));

/** @param {Rgb} a @param {Rgb} b @param {number} share */
export const mixed = (a, b, share) => /** @type {Rgb} */ (a.map((one, i) => Math.round(one + (b[i] - one) * share)));

/** So many colours from one to another, for a `Grid`. @param {Rgb} a @param {Rgb} b @param {number} count */
export const scale = (a, b, count) => Array.from({ length: count }, (_, i) => `rgb(${mixed(a, b, i / (count - 1)).join(",")})`);

/**
 * One picture of a matrix, a row of cells for each row. `lines` is how many pixels a row is high; a long vector may
 * be folded into several rows by the caller, who then tells `name` what a cell is.
 */
export class Strips {
  /** @param {{label: string, lines?: number, name?: (row: number, col: number) => string, onpoint?: (row: number) => void}} given */
  constructor({ label, lines = 18, name = (_, col) => `component ${col}`, onpoint = () => {} }) {
    this.label = label;
    this.lines = lines;
    this.name = name;
    this.onpoint = onpoint;
    this.canvas = h("canvas", { tabindex: 0, role: "img", class: "strip", "aria-label": label });
    this.element = h("div", { class: "strips" }, this.canvas);
    /** @type {Matrix | null} */
    this.matrix = null;
    this.marked = -1;
    /** @type {[number, number] | null} */
    this.at = null;
    this.canvas.addEventListener("pointermove", (event) => this._pointed(event));
    this.canvas.addEventListener("pointerdown", (event) => this._pointed(event));
    this.canvas.addEventListener("pointerleave", () => this._move(null));
    this.canvas.addEventListener("blur", () => this._move(null));
    this.canvas.addEventListener("keydown", (event) => this._pressed(event));
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.element);
  }

  /** @param {Matrix} matrix @param {number} [marked] a row that is outlined */
  show(matrix, marked = -1) {
    this.matrix = matrix;
    this.marked = marked;
    const { rows, cols } = matrix;
    this.canvas.setAttribute("aria-label", `${this.label}, ${rows > 1 ? `${rows} × ` : ""}${cols} numbers. Arrow keys tell each.`);
    if (this.at && (this.at[0] >= rows || this.at[1] >= cols)) this.at = null;
    this.draw();
  }

  /** Outline another row. @param {number} marked */
  mark(marked) { if (marked !== this.marked) { this.marked = marked; this.draw(); } }

  draw() {
    const wide = this.element.clientWidth;
    if (!this.matrix || !wide) return;
    const { values, rows, cols } = this.matrix, dots = devicePixelRatio, most = largest(values);
    const ground = rgb("--unseen"), [below, above] = [rgb("--against"), rgb("--for")];
    const image = new ImageData(cols, rows);
    for (let i = 0; i < values.length; i++) {
      const share = softened(values[i], most);
      image.data.set([...mixed(ground, share < 0 ? below : above, Math.abs(share)), 255], i * 4);
    }
    const small = h("canvas", { width: cols, height: rows });
    /** @type {CanvasRenderingContext2D} */ (small.getContext("2d")).putImageData(image, 0, 0);
    const [w, t] = [Math.round(wide * dots), Math.round(this.lines * rows * dots)];
    if (this.canvas.width !== w || this.canvas.height !== t) [this.canvas.width, this.canvas.height] = [w, t];
    this.canvas.style.height = `${this.lines * rows}px`;
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(small, 0, 0, w, t);
    ctx.strokeStyle = colour("--ink");
    ctx.lineWidth = 1.5 * dots;
    if (this.marked >= 0 && rows > 1) ctx.strokeRect(1, (this.marked * t) / rows + 1, w - 2, t / rows - 2);
    if (!this.at) return;
    const [row, col] = this.at;
    ctx.strokeStyle = colour("--now");
    ctx.lineWidth = 2 * dots;
    ctx.strokeRect((col * w) / cols, (row * t) / rows + 1, Math.max(4, w / cols), t / rows - 2);
  }

  /** @param {PointerEvent} event */
  _pointed(event) {
    if (!this.matrix) return;
    const box = this.canvas.getBoundingClientRect(), { rows, cols } = this.matrix;
    const row = Math.min(rows - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * rows)));
    const col = Math.min(cols - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * cols)));
    this._move([row, col], event.clientX, event.clientY);
  }

  /** @param {KeyboardEvent} event */
  _pressed(event) {
    if (!this.matrix) return;
    const by = event.shiftKey ? 10 : 1, { rows, cols } = this.matrix;
    const step = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-by, 0], ArrowDown: [by, 0], ArrowLeft: [0, -by], ArrowRight: [0, by] })[event.key];
    if (event.key === "Escape") this._move(null);
    if (!step) return;
    event.preventDefault();
    const [row, col] = this.at ? [this.at[0] + step[0], this.at[1] + step[1]] : [0, 0];
    this._move([Math.min(rows - 1, Math.max(0, row)), Math.min(cols - 1, Math.max(0, col))]);
  }

  /** @param {[number, number] | null} at @param {number} [x] @param {number} [y] */
  _move(at, x, y) {
    const before = this.at;
    if (!at && !before) return;
    this.at = at;
    this.draw();
    if (!at || !this.matrix) { untip(); this.onpoint(-1); return; }
    const [row, col] = at, { values, rows, cols } = this.matrix, box = this.canvas.getBoundingClientRect();
    tip(`${this.name(row, col)}\n${digits(values[row * cols + col])}`, x ?? box.left + ((col + 0.5) / cols) * box.width, y ?? box.top + (row / rows) * box.height);
    if (before?.[0] !== row) this.onpoint(row);
  }

  close() { this.watcher.disconnect(); }
}
