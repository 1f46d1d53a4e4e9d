// @ts-check
/** A grid of cells on a canvas, up to some hundred a side: hover and arrow keys tell each cell, lines cross there. */
import { colour, h } from "./dom.js";

/**
 * @typedef {object} Cells
 * @property {number} rows
 * @property {number} cols
 * @property {ArrayLike<number>} levels row by row; each picks a colour
 * @property {string[]} colours names of variables of the style sheet (`--seen`), or `#rrggbb`, by level
 * @property {(row: number, col: number) => string} tell a cell in words, with its exact numbers
 * @property {number[]} [bars] one number a row, drawn at the right
 * @property {[number, number][]} [cuts] lines under a row and right of a column, such as ranks or tiles; −1 for none
 * @property {string} label what the picture shows, for those who do not see it
 */

/**
 * `show` draws; `onpoint(row, col)` is called where one points, with (−1, −1) at the end, and `point` shows the place
 * that another view points at.
 */
export class Grid {
  /** @param {{most?: number}} [given] `most`: pixels of the widest picture */
  constructor({ most = 640 } = {}) {
    this.most = most;
    this.canvas = h("canvas", { tabindex: 0, role: "img", "data-grid": true });
    this.words = h("p", { class: "readout", "aria-live": "polite" });
    this.element = h("div", { class: "picture" }, this.canvas, this.words);
    /** @type {Cells | null} */
    this.cells = null;
    /** @type {(row: number, col: number) => void} */
    this.onpoint = () => {};
    /** what the readout says while nobody points */
    this.idle = "";
    this.row = -1;
    this.col = -1;
    this.side = 0; // pixels of the cells, without the bars
    this.canvas.addEventListener("pointermove", (event) => this._pointed(event));
    this.canvas.addEventListener("pointerdown", (event) => this._pointed(event));
    this.canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.move(-1, -1); });
    this.canvas.addEventListener("keydown", (event) => this._pressed(event));
    this.canvas.addEventListener("blur", () => this.move(-1, -1));
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.element);
  }

  /** @param {Cells} cells */
  show(cells) {
    this.cells = cells;
    this.canvas.setAttribute("aria-label", `${cells.label}. Arrow keys move from cell to cell.`);
    if (this.row >= cells.rows || this.col >= cells.cols) [this.row, this.col] = [-1, -1];
    this.draw();
    this._say();
  }

  /** Point at a cell without telling others. @param {number} row @param {number} col */
  point(row, col) {
    if (row === this.row && col === this.col) return;
    [this.row, this.col] = [row, col];
    this.draw();
    this._say();
  }

  /** Point at a cell and tell. @param {number} row @param {number} col */
  move(row, col) {
    if (row === this.row && col === this.col) return;
    this.point(row, col);
    this.onpoint(row, col);
  }

  draw() {
    if (!this.cells) return;
    const { rows, cols, bars } = this.cells, wide = Math.min(this.most, this.element.clientWidth);
    if (!wide) return;
    const dots = devicePixelRatio, strip = bars ? Math.round(Math.min(56, wide * 0.12)) : 0;
    const side = wide - strip, high = Math.round((side * rows) / cols);
    const size = [Math.round(wide * dots), Math.round(high * dots)];
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) {
      [this.canvas.width, this.canvas.height] = size;
      this.canvas.style.width = `${wide}px`;
      this.canvas.style.height = `${high}px`;
    }
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    this.side = side;
    paint(ctx, this.cells, Math.round(side * dots), size[1], colour);
    if (bars) this._bars(ctx, bars, Math.round(side * dots), size);
    if (this.row < 0) return;
    const x = (/** @type {number} */ i) => Math.round((i * side * dots) / cols), y = (/** @type {number} */ i) => Math.round((i * size[1]) / rows);
    ctx.fillStyle = colour("--now");
    ctx.globalAlpha = 0.24;
    ctx.fillRect(0, y(this.row), size[0], y(this.row + 1) - y(this.row));
    ctx.fillRect(x(this.col), 0, x(this.col + 1) - x(this.col), size[1]);
    ctx.globalAlpha = 1;
    ctx.lineWidth = 2 * dots;
    ctx.strokeStyle = colour("--now");
    ctx.strokeRect(x(this.col), y(this.row), Math.max(4, x(this.col + 1) - x(this.col)), Math.max(4, y(this.row + 1) - y(this.row)));
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number[]} bars @param {number} from @param {number[]} size */
  _bars(ctx, bars, from, [wide, high]) {
    const most = Math.max(1, ...bars), gap = Math.round((wide - from) * 0.16), room = wide - from - gap, count = bars.length;
    ctx.clearRect(from, 0, wide - from, high);
    ctx.fillStyle = colour("--half");
    const apart = high / count > 6 ? Math.max(1, Math.round(devicePixelRatio)) : 0;
    bars.forEach((value, i) => {
      const top = Math.round((i * high) / count), next = Math.round(((i + 1) * high) / count);
      ctx.fillRect(from + gap, top, Math.round((room * value) / most), Math.max(1, next - top - apart));
    });
  }

  /** @param {PointerEvent} event */
  _pointed(event) {
    if (!this.cells) return;
    const { rows, cols } = this.cells, box = this.canvas.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows), col = Math.floor(((event.clientX - box.left) / (this.side || box.width)) * cols);
    if (row >= 0 && row < rows) this.move(row, Math.min(cols - 1, Math.max(0, col)));
  }

  /** @param {KeyboardEvent} event */
  _pressed(event) {
    if (!this.cells) return;
    const step = event.shiftKey ? 10 : 1;
    const [down, right] = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] })[event.key] ?? [0, 0];
    if (event.key === "Escape") this.move(-1, -1);
    if (!down && !right) return;
    event.preventDefault();
    const { rows, cols } = this.cells;
    if (this.row < 0) this.move(0, 0);
    else this.move(Math.min(rows - 1, Math.max(0, this.row + down)), Math.min(cols - 1, Math.max(0, this.col + right)));
  }

  _say() {
    this.words.textContent = this.cells && this.row >= 0 ? this.cells.tell(this.row, this.col) : this.idle;
  }

  close() { this.watcher.disconnect(); }
}

/**
 * Draw cells into a rectangle of a canvas at (0, 0).
 * @param {CanvasRenderingContext2D} ctx @param {Cells} cells @param {number} wide @param {number} high @param {(name: string) => string} named
 */
export function paint(ctx, { rows, cols, levels, colours, cuts }, wide, high, named) {
  const found = colours.map((one) => (one.startsWith("--") ? named(one) : one));
  ctx.fillStyle = found[0];
  ctx.fillRect(0, 0, wide, high);
  const gap = Math.min(wide / cols, high / rows) >= 9 ? Math.max(1, Math.round(wide / cols / 16)) : 0;
  const x = Array.from({ length: cols + 1 }, (_, i) => Math.round((i * wide) / cols));
  for (let row = 0; row < rows; row++) {
    const top = Math.round((row * high) / rows), tall = Math.round(((row + 1) * high) / rows) - top - gap;
    for (let col = 0; col < cols;) {
      const level = levels[row * cols + col], begin = col++;
      if (!gap) while (col < cols && levels[row * cols + col] === level) col++;
      if (!level) continue;
      ctx.fillStyle = found[level];
      ctx.fillRect(x[begin], top, x[col] - x[begin] - gap, tall);
    }
  }
  if (gap) {  // lines between the cells that nobody sees, too
    ctx.fillStyle = named("--card");
    for (let i = 1; i <= cols; i++) ctx.fillRect(x[i] - gap, 0, gap, high);
    for (let i = 1; i <= rows; i++) ctx.fillRect(0, Math.round((i * high) / rows) - gap, wide, gap);
  }
  ctx.fillStyle = named("--other");
  for (const [row, col] of cuts ?? []) {
    if (row > 0) ctx.fillRect(0, Math.round((row * high) / rows) - 1, wide, 2);
    if (col > 0) ctx.fillRect(x[col] - 1, 0, 2, high);
  }
}

/** The cells as an SVG file in the colours of light paper. @param {Cells} cells @param {(name: string) => string} named @param {string} title */
export function svgOf({ rows, cols, levels, colours }, named, title) {
  const safe = title.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
  const shapes = colours.map(() => "");
  for (let row = 0; row < rows; row++)
    for (let col = 0; col < cols;) {
      const level = levels[row * cols + col], begin = col++;
      while (col < cols && levels[row * cols + col] === level) col++;
      shapes[level] += `M${begin} ${row}h${col - begin}v1h${begin - col}z`;
    }
  const paths = shapes.map((path, i) => (i && path ? `<path fill="${named(colours[i])}" d="${path}"/>` : "")).join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${cols} ${rows}" width="640" height="${Math.round((640 * rows) / cols)}" shape-rendering="crispEdges"><title>${safe}</title><rect width="${cols}" height="${rows}" fill="${named(colours[0])}"/>${paths}</svg>`;
}
