// @ts-check
/** What the widgets of notebooks are made of: elements, sliders, and a grid that tells its cells. */

/** What anywidget gives. @typedef {{get: (name: string) => any, set: (name: string, value: any) => void, save_changes: () => void, on: (event: string, act: () => void) => void, off: (event: string, act: () => void) => void}} Model */
/** @typedef {{rows: number, cols: number, shade: (row: number, col: number) => number, tell: (row: number, col: number) => string}} Shades a shade is from 0 to 1 */

/** @template {keyof HTMLElementTagNameMap} T @param {T} tag @param {Record<string, string>} [given] */
export function make(tag, given = {}) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) node.setAttribute(name, value);
  return node;
}

/** A slider with its number. @param {string} name @param {number} least @param {number} most @param {number} value @param {(value: number) => void} set */
export function range(name, least, most, value, set) {
  const box = make("label"), words = make("span"), number = make("output"), input = make("input", { type: "range", min: String(least), max: String(most), "aria-label": name });
  words.textContent = name;
  input.value = number.textContent = String(value);
  input.addEventListener("input", () => { number.textContent = input.value; set(Number(input.value)); });
  box.append(words, input, number);
  return box;
}

const SIDE = 420; // pixels of the widest grid

/** A grid of shades on a canvas: hover and arrow keys tell a cell. */
export function cells() {
  const canvas = make("canvas", { tabindex: "0", role: "img", "aria-label": "A grid. Arrow keys move from cell to cell." }), words = make("p", { class: "regard-told", "aria-live": "polite" }), element = make("div", { class: "regard-grid" });
  element.append(canvas, words);
  /** @type {Shades | null} */
  let shown = null;
  let row = -1, col = -1;

  function draw() {
    if (!shown) return;
    const { rows, cols, shade } = shown, size = Math.max(1, Math.min(28, Math.floor(SIDE / Math.max(rows, cols)))), dots = devicePixelRatio || 1, gap = size >= 9 ? 1 : 0;
    canvas.width = cols * size * dots;
    canvas.height = rows * size * dots;
    canvas.style.width = `${cols * size}px`;
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), [r, g, b] = (getComputedStyle(element).color.match(/\d+/g) ?? ["0", "0", "0"]).map(Number), dark = r + g + b > 382;
    ctx.scale(dots, dots);
    for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) {
      ctx.fillStyle = dark ? "#343c4c" : "#e9edf2";
      ctx.globalAlpha = 1;
      ctx.fillRect(j * size, i * size, size - gap, size - gap);
      ctx.fillStyle = dark ? "#8fb0f5" : "#1f3a6e";
      ctx.globalAlpha = Math.min(1, Math.max(0, shade(i, j)));
      ctx.fillRect(j * size, i * size, size - gap, size - gap);
    }
    ctx.globalAlpha = 1;
    words.textContent = row >= 0 ? shown.tell(row, col) : "Point at a cell.";
    if (row < 0) return;
    ctx.strokeStyle = "#f5a623";
    ctx.lineWidth = 2;
    ctx.strokeRect(col * size, row * size, size, size);
  }
  /** @param {number} i @param {number} j */
  const move = (i, j) => { if (i !== row || j !== col) { [row, col] = [i, j]; draw(); } };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    if (shown) move(Math.min(shown.rows - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * shown.rows))), Math.min(shown.cols - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * shown.cols))));
  });
  canvas.addEventListener("pointerleave", () => move(-1, -1));
  canvas.addEventListener("blur", () => move(-1, -1));
  canvas.addEventListener("keydown", (event) => {
    const step = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] })[event.key];
    if (!step || !shown) return;
    event.preventDefault();
    event.stopPropagation(); // a notebook moves between its cells by them
    if (row < 0) move(0, 0);
    else move(Math.min(shown.rows - 1, Math.max(0, row + step[0])), Math.min(shown.cols - 1, Math.max(0, col + step[1])));
  });
  return {
    element,
    /** @param {Shades} shades */
    show(shades) { shown = shades; if (row >= shades.rows || col >= shades.cols) [row, col] = [-1, -1]; draw(); },
    close() { shown = null; },
  };
}
