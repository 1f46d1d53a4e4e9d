// @ts-check
/** A filter and its matrix, linked: point at a weight, an entry, an input or an output, and the others light up. */
import { SizeError, entries, outputSize } from "../../../paper/browser/sharing.js";
import { CellGrid } from "../parts/cells.js";
import { h } from "../parts/dom.js";
import { copier, saveCsv, saveSvgPng, saveSvg, savers } from "../parts/exports.js";
import { slider } from "../parts/fields.js";
import { facts, gallery } from "../parts/table.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */

// Grounds that stay apart for readers who confuse red and green, and under dark words: those of regard.paper.ink.
const GROUNDS = ["#8ecae6", "#ffb703", "#a7c957", "#f4a6c0", "#cdb4db", "#fb8500", "#90e0c5"], DARK = "#1a1f2b";
/** @type {[string, number, number, number, number][]} */
const EXAMPLES = [["Three on nine", 9, 3, 1, 0], ["As many outputs", 9, 3, 1, 1], ["Every other", 9, 3, 2, 0], ["Both", 9, 3, 2, 1], ["Patches", 12, 4, 4, 0], ["One weight", 9, 1, 1, 0], ["All inputs", 7, 7, 1, 0]];
const BELOW = "₀₁₂₃₄₅₆₇₈₉";
/** x₁₂ @param {string} letter @param {number} number */
export const named = (letter, number) => letter + [...String(number)].map((one) => BELOW[Number(one)]).join("");

/** What one points at: a weight, an input, an output. @typedef {{tap: number, input: number, output: number}} Lit */
const NONE = { tap: -1, input: -1, output: -1 };

/** State needs n, k, stride and padding. @param {State} state */
export function filter(state) {
  const weights = new CellGrid({ most: 46, words: false }), inputs = new CellGrid({ most: 46, least: 24, words: false }), matrix = new CellGrid({ most: 46, least: 24, words: false });
  const words = h("p", { class: "readout", "aria-live": "polite", "data-read": "linked" }), list = h("div"), python = h("code", { class: "python" });
  const kernel = slider(state, "k", { label: "filter", min: 1, max: 7 });
  const stage = h("div", { class: "wide-left" });
  /** @type {Lit} */
  let lit = NONE;
  let last = "";

  const point = (/** @type {Lit} */ now, /** @type {CellGrid} */ by) => {
    lit = now;
    for (const other of [weights, inputs, matrix]) if (other !== by) { [other.row, other.col] = [-1, -1]; other.refresh(); }
    tell(state.values);
  };
  weights.onpoint = (_, tap) => point(tap < 0 ? NONE : { ...NONE, tap }, weights);
  inputs.onpoint = (_, at) => point(at < 0 ? NONE : { ...NONE, input: at - state.values.padding }, inputs);
  matrix.onpoint = (output, input) => {
    if (output < 0) { point(NONE, matrix); return; }
    const { n, k, stride, padding } = state.values;
    point({ output, input, tap: entries(n, k, stride, padding).taps[output * n + input] }, matrix);
  };

  /** Whether an entry lights up. @param {number} tap @param {number} output @param {number} input */
  const lights = (tap, output, input) => {
    if (lit === NONE) return true;
    if (lit.output >= 0) return output === lit.output;
    return lit.tap >= 0 ? tap === lit.tap : input === lit.input;
  };

  /** @param {Values} values */
  function tell({ n, k, stride, padding }) {
    const { taps, rows } = entries(n, k, stride, padding), { tap, input, output } = lit;
    const sum = (/** @type {number} */ row) => Array.from({ length: n }, (_, j) => [taps[row * n + j], j]).filter(([one]) => one >= 0).map(([one, j]) => `${named("w", one + 1)}${named("x", j + 1)}`).join(" + ") || "0";
    if (output >= 0) words.textContent = `Row ${output + 1}: ${named("y", output + 1)} = ${sum(output)}. ${tap < 0 ? `${named("x", input + 1)} is not under the filter there: its entry is 0.` : `Here ${named("w", tap + 1)} takes ${named("x", input + 1)} to ${named("y", output + 1)}.`}`;
    else if (tap >= 0) {
      const uses = taps.reduce((count, one) => count + (one === tap ? 1 : 0), 0);
      words.textContent = `${named("w", tap + 1)} stands in ${uses} of the ${rows} rows${uses < rows ? `; in the other ${rows - uses} it lies on the padding` : ""}${stride === 1 ? ": one diagonal" : ""}.`;
    } else if (input >= 0 && input < n) {
      const into = Array.from({ length: rows }, (_, i) => i).filter((i) => taps[i * n + input] >= 0);
      words.textContent = `${named("x", input + 1)} is read by ${into.map((i) => named("y", i + 1)).join(", ") || "no output: the stride leaves it out"}.`;
    } else words.textContent = input !== -1 && lit !== NONE ? "A zero of the padding: it is read, and adds nothing." : "Point at a weight, an input or an entry of the matrix, or use the arrow keys there.";
  }

  /** @param {Values} values */
  function show(values) {
    const { n, k, stride, padding } = values, now = `${n} ${k} ${stride} ${padding}`;
    try { outputSize(n, k, stride, padding); } catch (error) {
      if (!(error instanceof SizeError)) throw error;
      kernel.wrong(error.message);
      stage.classList.add("stale");
      last = "";
      return;
    }
    kernel.wrong(null);
    stage.classList.remove("stale");
    if (now === last) return;
    last = now;
    lit = NONE;
    const { rows, taps } = entries(n, k, stride, padding), wide = n + 2 * padding;
    const shade = (/** @type {number} */ tap, /** @type {boolean} */ on) => ({ fill: GROUNDS[tap % 7], ink: DARK, kind: on ? "" : "dim" });
    weights.show({
      rows: 1, cols: k, label: `A filter of ${k} weights`, tell: () => "",
      cell: (_, tap) => ({ text: named("w", tap + 1), ...shade(tap, lit === NONE || lit.tap === tap || (lit.input >= 0 && lit.output < 0 && Array.from({ length: rows }, (_, i) => taps[i * n + lit.input]).includes(tap))) }),
    });
    inputs.show({
      rows: 1, cols: wide, label: `${n} inputs${padding ? ` with ${padding} zeros at each end` : ""}`, tell: () => "",
      cell: (_, at) => {
        const input = at - padding, real = input >= 0 && input < n, under = lit.output >= 0 ? at - lit.output * stride : -1;
        const text = real ? named("x", input + 1) : "0";
        if (under >= 0 && under < k) return { text, fill: GROUNDS[under % 7], ink: DARK };
        const quiet = lit !== NONE && !(lit.output < 0 && (lit.input === input || (lit.tap >= 0 && real && Array.from({ length: rows }, (_, i) => taps[i * n + input]).includes(lit.tap))));
        return { text, fill: real ? "--wash" : "--unseen", ink: real ? "--ink" : "--quiet", kind: quiet ? "dim" : "" };
      },
    });
    matrix.show({
      rows, cols: n, label: `Its matrix: ${rows} outputs by ${n} inputs`, tell: () => "",
      tops: Array.from({ length: n }, (_, j) => named("x", j + 1)), sides: Array.from({ length: rows }, (_, i) => named("y", i + 1)),
      cell: (row, col) => {
        const tap = taps[row * n + col], on = lights(tap, row, col);
        return tap < 0 ? { text: "0", ink: "--quiet", kind: on ? "" : "dim" } : { text: named("w", tap + 1), ...shade(tap, on) };
      },
    });
    const filled = taps.reduce((count, one) => count + (one >= 0 ? 1 : 0), 0);
    list.replaceChildren(facts([
      ["outputs", `⌊(${n} + 2·${padding} − ${k}) / ${stride}⌋ + 1 = ${rows}`], ["entries not zero", `${filled} of ${rows * n}`],
      ["shared", `${k} weights`, "the same at every place"], ["unshared", `${k * rows} weights`, `locally connected: ${k} of its own for each output${padding ? ", those on the padding too" : ""}`], ["dense", `${rows * n} weights`, "one in every entry"],
    ]));
    python.textContent = `from regard.sharing import conv_matrix; conv_matrix([${Array.from({ length: k }, (_, i) => `"w${i + 1}"`).join(", ")}], ${n}, ${stride}, ${padding})`;
    tell(values);
  }

  const files = savers({
    PNG: () => saveSvgPng("matrix.png", matrix.picture), SVG: () => saveSvg("matrix.svg", matrix.picture),
    CSV: () => {
      const { n, k, stride, padding } = state.values, { rows, taps } = entries(n, k, stride, padding);
      saveCsv("matrix.csv", Array.from({ length: rows }, (_, i) => Array.from({ length: n }, (_, j) => (taps[i * n + j] < 0 ? 0 : `w${taps[i * n + j] + 1}`))));
    },
  });
  files.append(copier("Copy Python", () => python.textContent ?? ""));
  stage.append(
    h("div", { class: "card linked" }, h("div", {}, h("h3", {}, "the filter"), weights.element), h("div", {}, h("h3", {}, "the inputs"), inputs.element), h("div", {}, h("h3", {}, "its matrix"), matrix.element), words),
    h("div", { class: "card" }, h("h3", {}, "In numbers"), list, h("h3", {}, "In Python"), python, files));
  const element = h("section", { class: "stack", "aria-label": "Filter and matrix" },
    gallery(state, EXAMPLES.map(([name, n, k, stride, padding]) => ({ name, set: () => ({ n, k, stride, padding }) })), "Filters"),
    h("div", { class: "card controls" }, h("div", { class: "bar" }, slider(state, "n", { label: "inputs", min: 1, max: 16 }), kernel, slider(state, "stride", { label: "stride", min: 1, max: 4 }), slider(state, "padding", { label: "padding", min: 0, max: 3 }))), stage);
  return { element, show };
}
