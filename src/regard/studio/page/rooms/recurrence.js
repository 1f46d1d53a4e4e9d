// @ts-check
/** Recurrence and sharing: a grid walked cell by cell or by diagonals, what is left of x₁, filters as matrices. */
import { STARTS } from "../../../paper/browser/recurrence.js";
import { copier } from "../parts/exports.js";
import { segments } from "../parts/fields.js";
import { lede } from "../parts/table.js";
import { counts } from "./recurrence_counts.js";
import { filter } from "./recurrence_filter.js";
import { KINDS, share } from "./recurrence_share.js";
import { wave } from "./recurrence_wave.js";

/** @typedef {import("../parts/state.js").Values} Values */

const defaults = {
  view: "wave", rows: 5, cols: 7, start: "top-left", step: 5, speed: "4",
  kind: "random", radius: 0.9, T: 60, seed: 0, matrix: "0.9 0.5; 0 0.9",
  n: 9, k: 3, stride: 1, padding: 0,
  channels: 3, high: 256, wide: 256, filters: 32, kernel: 5, by: 2, pad: 0,
};
/** Limits of whole numbers. @type {Record<string, [number, number]>} */
const LIMITS = {
  rows: [1, 10], cols: [1, 10], step: [0, 100], T: [2, 200], seed: [0, 9999], n: [1, 16], k: [1, 7], stride: [1, 4], padding: [0, 3],
  channels: [1, 4096], high: [1, 4096], wide: [1, 4096], filters: [1, 4096], kernel: [1, 64], by: [1, 64], pad: [0, 64],
};

/** @param {Values} values */
function clean(values) {
  const out = { ...values };
  for (const [key, [least, most]] of Object.entries(LIMITS)) out[key] = Math.round(Math.min(most, Math.max(least, values[key])));
  out.step = Math.min(out.step, out.rows * out.cols);
  out.radius = Math.min(1.5, Math.max(0.5, Math.round(values.radius * 100) / 100));
  out.matrix = values.matrix.slice(0, 500);
  if (!Object.hasOwn(STARTS, values.start)) out.start = "top-left";
  if (!["2", "4", "8"].includes(values.speed)) out.speed = "4";
  if (!KINDS.some(([one]) => one === values.kind)) out.kind = "random";
  if (!["wave", "share", "filter", "counts"].includes(values.view)) out.view = "wave";
  return out;
}

/** @param {HTMLElement} at @param {import("../parts/state.js").State} state @param {import("../main.js").Tools} tools */
function mount(at, state, tools) {
  tools.style("cells");
  tools.style("recurrence");
  /** @type {Record<string, View>} */
  const parts = { wave: wave(state), share: share(state, tools), filter: filter(state), counts: counts(state) };
  at.append(
    lede("Recurrence and sharing", "What must wait for what, how much of the first input is left, and how few weights do it. Point at anything: the numbers are exact.", copier("Copy link", tools.link)),
    segments(state, "view", { label: "Show", hidden: true, options: [["wave", "Wavefront"], ["share", "Share of x₁"], ["filter", "Filter and matrix"], ["counts", "What sharing saves"]] }),
    ...Object.values(parts).map((one) => one.element),
  );
  state.watch((values) => {
    for (const [name, part] of Object.entries(parts)) {
      part.element.hidden = values.view !== name;
      if (values.view === name) part.show(values);
      else part.rest?.();
    }
  });
  return () => Object.values(parts).forEach((one) => one.rest?.());
}

/** @type {import("../main.js").Room} */
export default { title: "Recurrence", defaults, clean, mount };

/**
 * What each view is.
 * @typedef {{element: HTMLElement, show: (values: Values) => void, rest?: () => void}} View
 */
