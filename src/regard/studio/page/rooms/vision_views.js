// @ts-check
/** What the Vision room draws: the answer's bars, the map over the picture, a map of every head, the hiding curve. */
import { curves } from "../parts/curves.js";
import { h, percent, whole } from "../parts/dom.js";
import { paintPixels, scale } from "../parts/heat.js";
import { facts } from "../parts/table.js";
import { tipped } from "../parts/tip.js";

/** @typedef {import("../parts/heat.js").Pixels} Pixels */
/** @typedef {import("../parts/heat.js").HeatMap} HeatMap */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {{pixels: string, probabilities: number[], logits: number[], grid?: [number, number], front?: number, reader?: string, weights?: number[][][], rollout?: number[]}} Looked */
/** @typedef {{values: number[], raw: number[], low: number, high: number, signed: boolean, rows: number, cols: number, front: number, unit: string, of: string}} Shown a map, and its raw numbers by patch */

const times = (/** @type {number} */ value) => `${Number(value.toPrecision(4))}×`;
export const exact = (/** @type {number} */ value) => String(Number(value.toPrecision(6))).replace("-", "−");
export const signed = (/** @type {number} */ value) => (value > 0 ? "+" : "") + exact(value);

/** Weights of tokens as a map of patches, in multiples of their even share. @param {number[]} weights @param {Looked} looked @param {string} of @returns {Shown} */
function relative(weights, looked, of) {
  const [rows, cols] = /** @type {[number, number]} */ (looked.grid), raw = weights.slice(looked.front), even = raw.reduce((x, y) => x + y, 0) / raw.length;
  const values = raw.map((one) => (even > 0 ? one / even : 1)), front = weights.slice(0, looked.front).reduce((x, y) => x + y, 0);
  return { values, raw, low: 0, high: Math.max(...values), signed: false, rows, cols, front, unit: "weight", of };
}

/** The mean weights of the chosen layers and heads (0: all). @param {Looked} looked @param {number} layer @param {number} head */
export function weightsOf({ weights }, layer, head) {
  const chosen = /** @type {number[][][]} */ (weights).filter((_, i) => !layer || i === layer - 1).flatMap((one) => one.filter((_, i) => !head || i === head - 1));
  return chosen[0].map((_, i) => chosen.reduce((sum, one) => sum + one[i], 0) / chosen.length);
}

/** @param {number} layer @param {number} head */
export const named = (layer, head) => {
  if (!layer && !head) return "mean of all layers and heads";
  return layer ? `layer ${layer}, ${head ? `head ${head}` : "mean of its heads"}` : `head ${head}, mean over the layers`;
};

/** The map that the room's state asks for; null where there is none yet. @param {Values} values @param {Looked} looked @param {any} slope @param {string[]} classes @returns {Shown | null} */
export function chosen(values, looked, slope, classes) {
  if (values.view === "gradient") {
    if (!slope) return null;
    const [rows, cols] = slope.grid, high = Math.max(...slope.scores.map(Math.abs));
    return { values: slope.scores, raw: slope.scores, low: -high, high, signed: true, rows, cols, front: 0, unit: "logit", of: `for “${classes[slope.target]}”` };
  }
  if (!looked.weights || values.view === "plain") return null;
  if (values.view === "rollout") return relative(/** @type {number[]} */ (looked.rollout), looked, "rollout through all layers");
  return relative(weightsOf(looked, values.layer, values.head), looked, named(values.layer, values.head));
}

/** Where a patch lies in the picture. @param {number} patch @param {{rows: number, cols: number}} map @param {[number, number, number]} shape */
export function place(patch, { rows, cols }, [, high, wide]) {
  const row = Math.floor(patch / cols), col = patch % cols, tall = high / rows, broad = wide / cols;
  const along = (/** @type {number} */ from, /** @type {number} */ size) => (size === 1 ? `${from + 1}` : `${from * size + 1}–${(from + 1) * size}`);
  const words = tall === 1 ? "pixel" : "patch";
  return `${words} in row ${row + 1}, column ${col + 1}${tall === 1 ? "" : ` (pixel rows ${along(row, tall)}, columns ${along(col, broad)})`}`;
}

/** A patch's numbers in words. @param {Shown} map @param {number} patch @param {[number, number, number]} shape */
export function told(map, patch, shape) {
  const name = place(patch, map, shape);
  if (map.unit === "logit") return `${name}: ${signed(map.raw[patch])} of the logit ${map.of}, estimated`;
  return `${name}: weight ${exact(map.raw[patch])}, ${times(map.values[patch])} the even share; ${map.of}`;
}

/** The scale below a map. @param {Shown} map */
export const legend = (map) => (map.signed
  ? scale(`−${Number(map.high.toPrecision(3))} against`, `for +${Number(map.high.toPrecision(3))}`, true, "0")
  : scale("0", `${Number(map.high.toPrecision(3))}× the even share`));

/**
 * A picture with or without a map, on which one points at patches: `onpoint(patch)`, −1 at the end; `onpick(patch)` on a click.
 * @param {string} name @param {(patch: number) => void} onpoint @param {((patch: number) => void) | null} onpick
 */
export function mapped(name, onpoint, onpick) {
  const canvas = h("canvas", { class: "pixels", "aria-hidden": "true" });
  const frames = { here: h("i", { class: "patch here", hidden: true }), from: h("i", { class: "patch from", hidden: true }) };
  const box = h("div", { class: "pixel-box", tabindex: 0, role: "img", "data-map": name }, canvas, frames.from, frames.here);
  let rows = 1, cols = 1, at = -1;
  /** @param {HTMLElement} frame @param {number} patch */
  const put = (frame, patch) => {
    frame.hidden = patch < 0 || patch >= rows * cols;
    for (const [key, value] of Object.entries({ left: (patch % cols) / cols, top: Math.floor(patch / cols) / rows, width: 1 / cols, height: 1 / rows })) frame.style.setProperty(key, `${100 * value}%`);
  };
  const move = (/** @type {number} */ patch) => { if (patch !== at) { at = patch; put(frames.here, patch); onpoint(patch); } };
  const under = (/** @type {PointerEvent | MouseEvent} */ event) => {
    const { left, top, width, height } = box.getBoundingClientRect(), row = Math.floor(((event.clientY - top) / height) * rows), col = Math.floor(((event.clientX - left) / width) * cols);
    return Math.min(rows - 1, Math.max(0, row)) * cols + Math.min(cols - 1, Math.max(0, col));
  };
  for (const kind of /** @type {const} */ (["pointermove", "pointerdown"])) box.addEventListener(kind, (event) => move(under(event)));
  box.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") move(-1); });
  box.addEventListener("blur", () => move(-1));
  box.addEventListener("click", (event) => onpick?.(under(event)));
  box.addEventListener("keydown", (event) => {
    const [down, right] = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] })[event.key] ?? [0, 0];
    if (event.key === "Escape") move(-1);
    if (event.key === "Enter" && at >= 0) onpick?.(at);
    if (!down && !right) return;
    event.preventDefault();
    move(at < 0 ? 0 : Math.min(rows - 1, Math.max(0, Math.floor(at / cols) + down)) * cols + Math.min(cols - 1, Math.max(0, (at % cols) + right)));
  });
  return {
    canvas, box,
    /** @param {Pixels} picture @param {HeatMap | null} map @param {[number, number]} grid @param {string} label @param {((patch: number) => boolean) | null} [hidden] */
    show(picture, map, grid, label, hidden = null) {
      [rows, cols] = grid;
      paintPixels(canvas, picture, map ?? (hidden ? { rows, cols, values: [], low: 0, high: 1 } : null), hidden);
      box.style.setProperty("aspect-ratio", `${picture.shape[2]} / ${picture.shape[1]}`);
      box.setAttribute("aria-label", `${label}. Arrow keys move from patch to patch.`);
      if (at >= rows * cols) at = -1;
      put(frames.here, at);
    },
    point: (/** @type {number} */ patch) => { at = patch; put(frames.here, patch); },
    from: (/** @type {number} */ patch) => put(frames.from, patch),
  };
}

/** The likeliest classes as bars; a click asks what speaks for one. @param {Looked} looked @param {string[]} classes @param {{truth: string | null, sure: string, target: number, pick: ((i: number) => void) | null}} given */
export function bars(looked, classes, { truth, sure, target, pick }) {
  const order = looked.probabilities.map((value, i) => ({ value, i })).sort((a, b) => b.value - a.value).slice(0, 10), best = order[0];
  const right = truth === null || !classes.includes(truth) ? null : classes[best.i] === truth;
  return h("div", { class: "stack tight" },
    h("div", {}, h("p", { class: "big", "data-read": "answer" }, classes[best.i]),
      h("p", { class: "quiet", "data-read": "sure" }, `${percent(best.value)} likely to the model`, truth !== null && right !== null && h("b", { class: right ? "truth good" : "truth bad" }, `${right ? "✓" : "✗"} ${sure} ${truth}`), truth !== null && right === null && `; a ${truth}, which it does not know`)),
    h("div", { class: "chances", role: "group", "aria-label": "Probabilities", style: { "--name": `${Math.min(12, Math.max(3, ...order.map(({ i }) => classes[i].length)))}ch` } }, ...order.map(({ value, i }) => {
      const row = h("button", { type: "button", "aria-pressed": String(target === i), "data-class": classes[i], onclick: () => pick?.(i), disabled: !pick }, h("span", { class: "name" }, classes[i]), h("span", { class: "track" }, h("i", { style: { width: `${100 * value}%` } })), h("span", { class: "number" }, percent(value)));
      tipped(row, () => `${classes[i]}: probability ${exact(value)}, logit ${exact(looked.logits[i])}${pick ? "\nClick: what speaks for it" : ""}`);
      return row;
    })));
}

/** A small map of every head, layer by layer, with the means at their ends; one is chosen. @param {(layer: number, head: number) => void} pick */
export function headGrid(pick) {
  const element = h("div", { class: "head-grid", role: "group", "aria-label": "Layers and heads" });
  /** @type {HTMLButtonElement[][]} */
  let buttons = [];
  let size = "";
  element.addEventListener("keydown", (event) => {
    const [down, right] = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] })[event.key] ?? [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    const row = buttons.findIndex((one) => one.includes(/** @type {any} */ (document.activeElement))), col = buttons[row]?.indexOf(/** @type {any} */ (document.activeElement)) ?? 0;
    buttons[Math.min(buttons.length - 1, Math.max(0, row + down))]?.[Math.min(buttons[0].length - 1, Math.max(0, col + right))].focus();
  });
  return {
    element,
    /** @param {Looked} looked @param {Pixels} picture @param {{layer: number, head: number}} at */
    show(looked, picture, at) {
      const layers = looked.weights?.length ?? 0, heads = looked.weights?.[0].length ?? 0;
      if (size !== `${layers} ${heads}`) {
        size = `${layers} ${heads}`;
        buttons = Array.from({ length: layers + 1 }, (_, row) => Array.from({ length: heads + 1 }, (_, col) => {
          const button = h("button", { type: "button", "data-layer": row, "data-head": col, "aria-label": named(row, col), onclick: () => pick(row, col) }, h("canvas", { class: "pixels" }));
          tipped(button, () => button.ariaLabel ?? "");
          return button;
        }));
        element.style.setProperty("--columns", String(heads + 1));
        element.replaceChildren(h("span"), ...Array.from({ length: heads + 1 }, (_, i) => h("span", { class: "quiet", title: i ? `head ${i}` : "mean of all heads" }, i ? String(i) : "all")),
          ...buttons.flatMap((row, i) => [h("span", { class: "quiet" }, i ? `layer ${i}` : "all"), ...row]));
      }
      buttons.forEach((row, layer) => row.forEach((button, head) => {
        const map = relative(weightsOf(looked, layer, head), looked, "");
        paintPixels(/** @type {HTMLCanvasElement} */ (button.firstChild), picture, map);
        const now = layer === at.layer && head === at.head, best = map.values.indexOf(map.high), words = `${named(layer, head)}: strongest ${times(map.high)} in row ${Math.floor(best / map.cols) + 1}, column ${(best % map.cols) + 1}`;
        button.setAttribute("aria-pressed", String(now));
        button.tabIndex = now ? 0 : -1;
        button.setAttribute("aria-label", words);
      }));
    },
  };
}

/** The curves of one picture as they come. @param {any} told_ @param {string} answer @param {(x: number | null) => void} onpoint */
export function hidingCurves(told_, answer, onpoint) {
  const { points, orders } = told_, series = [["most", "strongest first", "--other"], ["random", `at random, mean of ${orders.random?.orders ?? 0} orders (an estimate)`, "--quiet"], ["least", "weakest first", "--accent"]]
    .filter(([key]) => orders[key]).map(([key, name, colour]) => ({ name, colour, points: points.map((/** @type {number} */ x, /** @type {number} */ i) => [x, 100 * orders[key].chances[i]]) }));
  return curves({ series, x: { label: "patches hidden" }, y: { label: `probability of “${answer}”, %`, from: 0, to: 100, tell: (value) => `${Number(value.toPrecision(4))} %` }, height: 250, label: `Probability of ${answer} as patches are hidden`, onpoint });
}

/** The curves of many pictures. @param {any[]} shares */
export function checkCurves(shares) {
  const of = (/** @type {string} */ key) => shares.map((one) => /** @type {[number, number]} */ ([100 * one.share, 100 * one[key][0]]));
  const series = [{ name: "strongest first", colour: "--other", points: of("most") }, { name: "at random", colour: "--quiet", points: of("random") }, { name: "weakest first", colour: "--accent", points: of("least") }];
  const gain = shares.reduce((sum, one) => sum + one.random[0] - one.most[0], 0) / shares.length, half = shares.find((one) => one.share === 0.5);
  /** @type {[string, string, string?][]} */
  const rows = [["map's advantage", `${signed(Number((100 * gain).toPrecision(3)))} points`, "how much lower “strongest first” lies than “at random”, on average"]];
  if (half) rows.push(["half hidden", `${percent(half.most[0])} right`, `95 % interval ${percent(half.most[1])} to ${percent(half.most[2])}; at random ${percent(half.random[0])}`]);
  return [curves({ series, x: { label: "patches hidden, %" }, y: { label: "right, %", from: 0, to: 100 }, height: 250, label: "Accuracy as patches are hidden" }),
    h("p", { class: "quiet" }, `${whole(shares[0].images)} test pictures; “at random” is the mean of ${shares[0].repeats} orders, an estimate.`), facts(rows)];
}
