// @ts-check
/** Curves in SVG: axes with round numbers, linear or logarithmic, and the exact values where one points. */
import { h, s } from "./dom.js";
import { tip, untip } from "./tip.js";

/** @typedef {{name: string, points: [number, number, string?][], colour?: string, dash?: string}} Series colours are variables: `--accent`; a third part of a point are its exact words */
/** @typedef {{label: string, log?: boolean, from?: number, to?: number, tell?: (value: number) => string}} Axis */

const COLOURS = ["--accent", "--other", "--third", "--quiet"], DASHES = ["", "7 4", "2 3", "10 3 2 3"];

/**
 * A picture of series over one axis. `onpoint` is told the x where one points, and null at the end.
 * @param {{series: Series[], x: Axis, y: Axis, height?: number, label: string, onpoint?: (x: number | null) => void}} given
 */
export function curves(given) {
  const box = h("div", { class: "plot" }), { series } = given;
  let wide = 0;
  new ResizeObserver(() => {  // drawn for the width it has, so that words keep their size
    const now = Math.max(240, Math.round(box.clientWidth));
    if (now !== wide) { wide = now; box.replaceChildren(drawn(given, wide)); }
  }).observe(box);
  box.style.minHeight = `${given.height ?? 260}px`;
  const names = series.length > 1 && h("div", { class: "legend" }, ...series.map((one, i) => h("span", {}, h("i", { style: { background: `var(${one.colour ?? COLOURS[i % 4]})` } }), one.name)));
  return h("div", { class: "curves" }, box, names);
}

/** @param {Parameters<typeof curves>[0]} given @param {number} wide */
function drawn({ series, x, y, height = 260, label, onpoint = () => {} }, wide) {
  const left = 58, right = 14, top = 26, bottom = 40;
  const xs = series.flatMap((one) => one.points.map(([a]) => a)), ys = series.flatMap((one) => one.points.map(([, b]) => b));
  const along = scale(x, xs, left, wide - right), up = scale(y, ys, height - bottom, top);
  const picture = s("svg", { viewBox: `0 0 ${wide} ${height}`, role: "img", tabindex: 0, "aria-label": `${label}. Arrow keys tell the values.` });
  for (const at of up.ticks) picture.append(s("line", { class: "rule", x1: left, x2: wide - right, y1: up.at(at), y2: up.at(at) }), s("text", { x: left - 8, y: up.at(at) + 4, "text-anchor": "end" }, short(at)));
  for (const at of along.ticks.filter((_, i, all) => wide > 420 || i % 2 === 0 || all.length < 4)) picture.append(s("text", { x: along.at(at), y: height - bottom + 18, "text-anchor": "middle" }, short(at)));
  picture.append(s("text", { x: wide - right, y: height - 4, "text-anchor": "end" }, x.label), s("text", { x: 4, y: 10 }, y.label));
  series.forEach((one, i) => {
    const path = one.points.filter(([a, b]) => (!x.log || a > 0) && (!y.log || b > 0)).map(([a, b], j) => `${j ? "L" : "M"}${along.at(a).toFixed(1)} ${up.at(b).toFixed(1)}`).join("");
    picture.append(s("path", { class: "line", d: path, style: { stroke: `var(${one.colour ?? COLOURS[i % 4]})` }, "stroke-dasharray": one.dash ?? DASHES[i % 4] }));
  });
  const here = s("line", { class: "here", y1: top, y2: height - bottom, visibility: "hidden" });
  picture.append(here);
  const places = [...new Set(xs)].sort((a, b) => a - b);
  let now = -1;
  /** @param {number} i @param {number} [px] @param {number} [py] */
  const point = (i, px, py) => {
    now = i;
    if (i < 0) { here.setAttribute("visibility", "hidden"); untip(); onpoint(null); return; }
    const at = along.at(places[i]);
    here.setAttribute("visibility", "visible");
    for (const end of ["x1", "x2"]) here.setAttribute(end, String(at));
    const said = series.flatMap((one) => { const found = one.points.find(([a]) => a === places[i]); return found ? [`${series.length > 1 ? `${one.name}: ` : ""}${found[2] ?? (y.tell ?? exact)(found[1])}`] : []; });
    const box = picture.getBoundingClientRect();
    tip([`${x.label} ${(x.tell ?? exact)(places[i])}`, ...said].join("\n"), px ?? box.left + (at / wide) * box.width, py ?? box.top + box.height / 2);
    onpoint(places[i]);
  };
  picture.addEventListener("pointermove", (event) => {
    const mouse = /** @type {PointerEvent} */ (event), box = picture.getBoundingClientRect(), at = ((mouse.clientX - box.left) / box.width) * wide;
    let best = 0;
    places.forEach((place, i) => { if (Math.abs(along.at(place) - at) < Math.abs(along.at(places[best]) - at)) best = i; });
    point(best, mouse.clientX, mouse.clientY);
  });
  picture.addEventListener("pointerleave", () => point(-1));
  picture.addEventListener("blur", () => point(-1));
  picture.addEventListener("keydown", (event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1 })[/** @type {KeyboardEvent} */ (event).key];
    if (!step) return;
    event.preventDefault();
    point(Math.min(places.length - 1, Math.max(0, now + step)));
  });
  return picture;
}

/** @param {Axis} axis @param {number[]} values @param {number} start where the lowest value stands @param {number} stop */
function scale({ log = false, from, to: end }, values, start, stop) {
  const lowest = Math.min(...values), highest = Math.max(...values);
  let low = from ?? (log ? lowest : Math.min(0, lowest)), high = end ?? highest;
  if (!(high > low)) [low, high] = log ? [low / 2 || 0.5, low * 2 || 2] : [low - 1, low + 1];
  const on = log ? (/** @type {number} */ v) => Math.log(Math.max(v, low)) : (/** @type {number} */ v) => v;
  const at = (/** @type {number} */ v) => start + ((on(v) - on(low)) / (on(high) - on(low))) * (stop - start);
  /** @type {number[]} */
  const ticks = [];
  if (log) {
    const each = Math.max(1, Math.ceil((Math.log10(high) - Math.log10(low)) / 6));
    for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power += each) ticks.push(10 ** power);
    if (ticks.length < 2) ticks.splice(0, ticks.length, low, high);
  } else {
    const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * ([1, 2, 5, 10].find((one) => one * unit >= rough) ?? 10);
    for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-9); i++) ticks.push(Number((i * step).toPrecision(12)));
  }
  return { at, ticks };
}

const exact = (/** @type {number} */ value) => (Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(6))));

/** A number on an axis: 1.5M, 20k, 0.25. @param {number} value */
export function short(value) {
  const size = Math.abs(value);
  for (const [unit, name] of /** @type {[number, string][]} */ ([[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]))
    if (size >= unit) return `${Number((value / unit).toPrecision(3))}${name}`;
  return String(Number(value.toPrecision(3)));
}
