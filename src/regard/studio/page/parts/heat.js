// @ts-check
/** Pictures of bytes on a canvas, sharp, and maps of patches laid over them in the colours of regard.paper.ink. */
import { h } from "./dom.js";

/** @typedef {{shape: [number, number, number], data: Uint8Array}} Pixels channels, rows, cols; channel by channel */
/** @typedef {{rows: number, cols: number, values: ArrayLike<number>, low: number, high: number, signed?: boolean}} HeatMap `low` to `high` is the scale; signed maps have 0 in its middle */
/** @typedef {[number, number, number]} Rgb */

/** @type {Rgb[]} */
const HEAT = [[46, 15, 94], [122, 28, 109], [197, 54, 84], [242, 120, 48], [253, 226, 120]];
/** @type {Rgb} */
const FOR = [235, 120, 10];
/** @type {Rgb} */
const AGAINST = [38, 104, 220];

/** @param {Rgb} colour */
const css = (colour) => `rgb(${colour.map(Math.round).join(",")})`;

/** The colour of a share from 0 to 1. @param {number} share @returns {Rgb} */
export function heat(share) {
  const at = Math.min(1, Math.max(0, share)) * (HEAT.length - 1), low = Math.min(HEAT.length - 2, Math.floor(at)), part = at - low;
  return /** @type {Rgb} */ (HEAT[low].map((one, i) => one * (1 - part) + HEAT[low + 1][i] * part));
}

/** Bytes as the page keeps them in an address: 1x8x8:… @param {Pixels} picture */
export const packed = ({ shape, data }) => `${shape.join("x")}:${base64(data).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;

/** The reverse; null for what is none. @param {string} text @returns {Pixels | null} */
export function unpacked(text) {
  const found = /^([13])x(\d{1,3})x(\d{1,3}):([\w-]+)$/.exec(text);
  if (!found) return null;
  const shape = /** @type {[number, number, number]} */ (found.slice(1, 4).map(Number));
  try {
    const data = bytes(found[4].replaceAll("-", "+").replaceAll("_", "/"));
    return data.length === shape[0] * shape[1] * shape[2] ? { shape, data } : null;
  } catch { return null; }
}

/** @param {Uint8Array} data */
export function base64(data) {
  let text = "";
  for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
  return btoa(text);
}

/** @param {string} text */
export const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));

/**
 * Paint a picture, and a map over it, into a canvas of its own pixels; style makes it larger, sharp.
 * @param {HTMLCanvasElement} canvas @param {Pixels} picture @param {HeatMap | null} [map] @param {((patch: number) => boolean) | null} [hidden] patches that are taken away
 */
export function paintPixels(canvas, { shape: [channels, rows, cols], data }, map = null, hidden = null) {
  [canvas.width, canvas.height] = [cols, rows];
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), image = ctx.createImageData(cols, rows), size = rows * cols;
  for (let i = 0; i < size; i++) {
    let colour = /** @type {Rgb} */ ([0, 1, 2].map((c) => data[(channels === 1 ? 0 : c * size) + i]));
    if (map) {
      const row = Math.floor(i / cols), col = i % cols, patch = Math.floor((row * map.rows) / rows) * map.cols + Math.floor((col * map.cols) / cols);
      if (hidden) { if (hidden(patch)) colour = (row + col) % 2 ? [120, 124, 134] : [98, 102, 112]; }
      else colour = over(colour, map, map.values[patch]);
    }
    image.data.set([...colour.map(Math.round), 255], i * 4);
  }
  ctx.putImageData(image, 0, 0);
}

/** @param {Rgb} colour @param {HeatMap} map @param {number} value @returns {Rgb} */
function over([red, green, blue], { low, high, signed }, value) {
  const grey = 0.299 * red + 0.587 * green + 0.114 * blue;
  if (!signed) {  // the picture only darkens: a bright pixel is never taken for a strong one
    const shade = 0.5 + (0.5 * grey) / 255;
    return /** @type {Rgb} */ (heat(high > low ? (value - low) / (high - low) : 0.5).map((one) => one * shade));
  }
  const strength = high > 0 ? Math.min(1, Math.abs(value) / high) * 0.88 : 0, paper = 0.55 * grey + 60, ink = value > 0 ? FOR : AGAINST;
  return /** @type {Rgb} */ (ink.map((one) => paper * (1 - strength) + one * strength));
}

/** The scale of a map: its colours with what its ends mean. @param {string} low @param {string} high @param {boolean} [signed] @param {string} [middle] */
export function scale(low, high, signed = false, middle = "") {
  const colours = signed ? [AGAINST, /** @type {Rgb} */ ([124, 126, 130]), FOR] : HEAT;
  return h("div", { class: "heat-scale" },
    h("i", { style: { background: `linear-gradient(to right, ${colours.map(css).join(", ")})` }, "aria-hidden": "true" }),
    h("span", {}, low), middle && h("span", {}, middle), h("span", {}, high));
}

/** A picture as a file, enlarged without smoothing. @param {HTMLCanvasElement} from @param {CanvasRenderingContext2D} ctx @param {number} wide @param {number} high */
export function enlarge(from, ctx, wide, high) {
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(from, 0, 0, wide, high);
}

/** The same as SVG. @param {HTMLCanvasElement} from @param {string} title */
export function svgPicture(from, title) {
  const safe = title.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`), high = Math.round((640 * from.height) / from.width);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 ${high}" width="640" height="${high}"><title>${safe}</title><image href="${from.toDataURL()}" width="640" height="${high}" style="image-rendering: pixelated"/></svg>`;
}
