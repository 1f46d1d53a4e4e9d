// @ts-check
/** A pad to draw on, by pointer, finger or keys; what is drawn are strokes of text, and always gives the same pixels. */
import { h } from "../parts/dom.js";

/** @typedef {import("../parts/heat.js").Pixels} Pixels */
/** @typedef {import("../parts/heat.js").Rgb} Rgb */
/** @typedef {{points: [number, number][], tool: string, radius: number, ink: number}} Stroke */
/** @typedef {{shape: [number, number, number], dark: boolean, box: [number, number] | null, fit: boolean}} Paper what a drawing becomes: `box` is how much of the height and width the data's own things fill */

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", FINE = 63;
export const MOST = 60; // strokes
const LONGEST = 400; // points of one
/** @type {[string, Rgb][]} */
export const INKS = [["black", [30, 30, 32]], ["white", [240, 240, 244]], ["grey", [125, 128, 132]], ["red", [190, 35, 40]], ["yellow", [235, 190, 50]], ["green", [85, 135, 65]], ["blue", [40, 90, 155]], ["brown", [120, 80, 45]]];
/** @type {Rgb} */
const SKY = [150, 190, 228];

/** What one stroke is as text: tool, width, ink, then points. @param {Stroke & {wide: number}} stroke */
const written = ({ tool, wide, ink, points }) => `${tool[0]}${wide}${ink}${points.map(([x, y]) => DIGITS[Math.round(x * FINE)] + DIGITS[Math.round(y * FINE)]).join("")}`;

/** Radius of the pen as a share of the side. @param {number} wide @param {Paper} paper */
const radius = (wide, { shape }) => (Math.max(shape[1], shape[2]) <= 16 ? [0.06, 0.08, 0.1] : [0.03, 0.065, 0.13])[wide - 1];

/** @param {string} text @param {Paper} paper @returns {Stroke | null} */
function parsed(text, paper) {
  const found = /^([pse])([123])([0-7])((?:[\w-]{2})+)$/.exec(text);
  if (!found) return null;
  /** @type {[number, number][]} */
  const points = [];
  for (let i = 0; i < Math.min(found[4].length, 2 * LONGEST); i += 2) points.push([DIGITS.indexOf(found[4][i]) / FINE, DIGITS.indexOf(found[4][i + 1]) / FINE]);
  const tool = /** @type {Record<string, string>} */ ({ p: "pen", s: "shape", e: "eraser" })[found[1]];
  return { tool, radius: radius(Number(found[2]), paper) * (tool === "eraser" ? 1.3 : 1), ink: Number(found[3]), points };
}

/** @param {Paper} paper @param {number} ink @param {boolean} erases @returns {Rgb} */
function colourOf({ shape, dark }, ink, erases) {
  if (shape[0] === 3) return erases ? SKY : INKS[ink][1];
  return dark === erases ? [0, 0, 0] : [255, 255, 255];
}

/** The strokes moved and stretched to where the data set has its things. @param {Stroke[]} strokes @param {Paper} paper */
function placed(strokes, { fit, box }) {
  const drawn = strokes.filter((one) => one.tool !== "eraser"), points = drawn.flatMap((one) => one.points);
  if (!fit || !points.length) return strokes;
  const edge = Math.max(0, ...drawn.map((one) => (one.tool === "pen" ? one.radius : 0))), [tall, wide] = box ?? [1, 1];
  const [left, right, top, bottom] = [Math.min(...points.map(([x]) => x)), Math.max(...points.map(([x]) => x)), Math.min(...points.map(([, y]) => y)), Math.max(...points.map(([, y]) => y))];
  const grow = (/** @type {number} */ room, /** @type {number} */ length) => (length > 0 ? Math.max(0.05, room - 2 * edge) / length : Infinity);
  const down = Math.min(4, box ? grow(tall, bottom - top) : Math.min(grow(1, bottom - top), grow(1, right - left)));
  const across = Math.min(down, grow(wide, right - left));
  const move = (/** @type {[number, number]} */ [x, y]) => /** @type {[number, number]} */ ([0.5 + (x - (left + right) / 2) * across, 0.5 + (y - (top + bottom) / 2) * down]);
  return strokes.map((one) => ({ ...one, radius: one.tool === "eraser" ? one.radius * across : one.radius, points: one.points.map(move) }));
}

/** What the strokes are to the model, in its own pixels; the same bytes on every machine. @param {string[]} draw @param {Paper} paper @returns {Pixels} */
export function raster(draw, paper) {
  const [channels, rows, cols] = paper.shape, fine = Math.max(1, Math.ceil(64 / Math.max(rows, cols))), high = rows * fine, wide = cols * fine;
  const ground = colourOf(paper, 0, true), big = Array.from({ length: 3 }, (_, c) => new Uint8Array(high * wide).fill(ground[c]));
  const strokes = /** @type {Stroke[]} */ (draw.slice(0, MOST).map((one) => parsed(one, paper)).filter(Boolean));
  for (const stroke of placed(strokes, paper)) {
    const colour = colourOf(paper, stroke.ink, stroke.tool === "eraser"), inside = stroke.tool === "shape" ? within(stroke.points) : near(stroke);
    for (let row = 0; row < high; row++)
      for (let col = 0; col < wide; col++)
        if (inside((col + 0.5) / wide, (row + 0.5) / high)) for (let c = 0; c < 3; c++) big[c][row * wide + col] = colour[c];
  }
  const data = new Uint8Array(channels * rows * cols);
  for (let c = 0; c < channels; c++)
    for (let row = 0; row < rows; row++)
      for (let col = 0; col < cols; col++) {
        let sum = 0;
        for (let i = 0; i < fine; i++) for (let j = 0; j < fine; j++) sum += big[c][(row * fine + i) * wide + col * fine + j];
        data[(c * rows + row) * cols + col] = Math.round(sum / (fine * fine));
      }
  return { shape: paper.shape, data };
}

/** Whether a place lies under a pen. @param {Stroke} stroke */
function near({ points, radius: far }) {
  const left = Math.min(...points.map(([x]) => x)) - far, right = Math.max(...points.map(([x]) => x)) + far;
  const top = Math.min(...points.map(([, y]) => y)) - far, bottom = Math.max(...points.map(([, y]) => y)) + far;
  return (/** @type {number} */ x, /** @type {number} */ y) => {
    if (x < left || x > right || y < top || y > bottom) return false;
    for (let i = 0; i < points.length; i++) {
      const [ax, ay] = points[Math.max(0, i - 1)], [bx, by] = points[i], dx = bx - ax, dy = by - ay, length = dx * dx + dy * dy;
      const t = length ? Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;
      if ((x - ax - t * dx) ** 2 + (y - ay - t * dy) ** 2 <= far * far) return true;
    }
    return false;
  };
}

/** Whether a place lies in a closed shape. @param {[number, number][]} points */
function within(points) {
  return (/** @type {number} */ x, /** @type {number} */ y) => {
    let inside = false;
    for (let i = 0, j = points.length - 1; i < points.length; j = i++) {
      const [ax, ay] = points[i], [bx, by] = points[j];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
    }
    return inside;
  };
}

/**
 * The pad itself. `onlive` is told the strokes while one draws, `onstroke` when one is done.
 * @param {{onlive: (draw: string[]) => void, onstroke: (draw: string[]) => void, undo: () => void}} given
 */
export function pad({ onlive, onstroke, undo }) {
  const canvas = h("canvas", { class: "pad", tabindex: 0, role: "application", "data-pad": true, width: 512, height: 512, "aria-label": "Drawing pad. Arrow keys move the pen, the space bar puts it down and lifts it, Backspace undoes." });
  /** @type {Paper} */
  let paper = { shape: [1, 8, 8], dark: true, box: null, fit: true };
  /** @type {string[]} */
  let strokes = [];
  let how = { tool: "pen", wide: 2, ink: 0 };
  /** @type {[number, number][] | null} */
  let points = null;
  /** @type {[number, number] | null} */
  let pen = null;
  const live = () => (points ? [...strokes, written({ ...how, radius: 0, points })] : strokes);

  function draw() {
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), side = canvas.width;
    const css = (/** @type {Rgb} */ rgb) => `rgb(${rgb.join(",")})`;
    ctx.fillStyle = css(colourOf(paper, 0, true));
    ctx.fillRect(0, 0, side, side);
    for (const text of live()) {
      const one = parsed(text, paper);
      if (!one) continue;
      ctx.strokeStyle = ctx.fillStyle = css(colourOf(paper, one.ink, one.tool === "eraser"));
      ctx.lineWidth = one.radius * 2 * side;
      ctx.lineCap = ctx.lineJoin = "round";
      ctx.beginPath();
      one.points.forEach(([x, y], i) => {  // through the middles, so that a line is smooth
        const [nx, ny] = one.points[i + 1] ?? [x, y];
        if (!i || one.tool === "shape") ctx[i ? "lineTo" : "moveTo"](x * side, y * side);
        else ctx.quadraticCurveTo(x * side, y * side, ((x + nx) / 2) * side, ((y + ny) / 2) * side);
      });
      if (one.tool === "shape") { ctx.closePath(); ctx.fill(); if (points && text === live().at(-1)) { ctx.lineWidth = 3; ctx.stroke(); } }
      else { if (one.points.length === 1) ctx.lineTo(one.points[0][0] * side + 0.1, one.points[0][1] * side); ctx.stroke(); }
    }
    if (pen) {
      ctx.lineWidth = 3;
      ctx.strokeStyle = "#f5a623";
      ctx.strokeRect(pen[0] * side - 8, pen[1] * side - 8, 16, 16);
    }
  }

  /** @param {PointerEvent} event @returns {[number, number]} */
  const place = (event) => {
    const box = canvas.getBoundingClientRect(), share = (/** @type {number} */ at, /** @type {number} */ from, /** @type {number} */ size) => Math.min(1, Math.max(0, (at - from) / size));
    return [share(event.clientX, box.left, box.width), share(event.clientY, box.top, box.height)];
  };
  /** @param {[number, number]} at */
  const add = (at) => {
    if (!points || points.length >= LONGEST) return;
    const last = points.at(-1);
    if (last && Math.hypot(last[0] - at[0], last[1] - at[1]) < 1 / FINE) return;
    points.push(at);
    draw();
    onlive(live());
  };
  const begin = (/** @type {[number, number]} */ at) => {
    if (strokes.length >= MOST) return;
    points = [];
    add(at);
  };
  const end = () => {
    if (!points) return;
    const done = live();
    points = null;
    if (done.length) { strokes = done; onstroke(done); }
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    pen = null;
    end();
    canvas.setPointerCapture(event.pointerId);
    begin(place(event));
    event.preventDefault();
    canvas.focus({ preventScroll: true });
  });
  canvas.addEventListener("pointermove", (event) => { if (points && !pen) for (const one of event.getCoalescedEvents?.() ?? [event]) add(place(one)); });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { if (!pen) end(); });
  canvas.addEventListener("blur", () => { end(); pen = null; draw(); });
  canvas.addEventListener("keydown", (event) => {
    const step = (event.shiftKey ? 4 : 1) * (2 / FINE), [right, down] = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [0, -step], ArrowDown: [0, step], ArrowLeft: [-step, 0], ArrowRight: [step, 0] })[event.key] ?? [0, 0];
    if (event.key === "Backspace") { event.preventDefault(); points = null; undo(); return; }
    if (event.key === " " || right || down) event.preventDefault(); else return;
    pen ??= [0.5, 0.5];
    if (event.key === " ") { if (points) end(); else begin([...pen]); }
    pen = [Math.min(1, Math.max(0, pen[0] + right)), Math.min(1, Math.max(0, pen[1] + down))];
    if (points) add([...pen]);
    draw();
  });

  return {
    canvas,
    /** @param {string[]} next @param {Paper} on @param {{tool: string, wide: number, ink: number}} by */
    show(next, on, by) {
      [paper, how] = [on, by];
      if (!points) strokes = next;
      draw();
    },
  };
}
