// @ts-check
/** What sharing saves: the weights of a convolution, of its windows without sharing, and of a dense layer. */
import { SizeError, compare } from "../../../paper/browser/sharing.js";
import { h, whole } from "../parts/dom.js";
import { copier, saveCsv, savers } from "../parts/exports.js";
import { slider } from "../parts/fields.js";
import { facts, gallery } from "../parts/table.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */

/** Name, then channels, rows, columns, filters, kernel, stride, padding. @type {[string, number[]][]} */
const LAYERS = [
  ["The sheet's layer", [3, 256, 256, 32, 5, 2, 0]], ["LeNet-5, first", [1, 32, 32, 6, 5, 1, 0]], ["AlexNet, first", [3, 227, 227, 96, 11, 4, 0]],
  ["VGG-16, second", [64, 224, 224, 64, 3, 1, 1]], ["ResNet-50, first", [3, 224, 224, 64, 7, 2, 3]], ["Patches of ViT-B", [3, 224, 224, 768, 16, 16, 0]], ["1×1 convolution", [256, 56, 56, 64, 1, 1, 0]],
];
const about = (/** @type {number} */ value) => Number(value.toPrecision(4)).toLocaleString("en");
const KEYS = ["channels", "high", "wide", "filters", "kernel", "by", "pad"];

/** State needs the keys above. @param {State} state */
export function counts(state) {
  const bars = h("div", { class: "counts" }), list = h("div"), python = h("code", { class: "python" }), results = h("div", { class: "two" });
  const kernel = slider(state, "kernel", { label: "filter side", min: 1, max: 16, most: 64 });
  const layer = (/** @type {Values} */ values) => ({ channels: values.channels, rows: values.high, cols: values.wide, filters: values.filters, kernel: values.kernel, stride: values.by, padding: values.pad });

  /** @param {Values} values */
  function show(values) {
    let found;
    try { found = compare(layer(values)); } catch (error) {
      if (!(error instanceof SizeError)) throw error;
      kernel.wrong(error.message);
      results.classList.add("stale");
      return;
    }
    kernel.wrong(null);
    results.classList.remove("stale");
    const { down, across, inputs, outputs, shared, unshared, dense } = found, { channels, high, wide, filters, kernel: k, by, pad } = values;
    const most = Math.log10(Number(dense > unshared ? dense : unshared) + 1);
    /** @type {[string, bigint, string, string][]} */
    const rows = [
      ["Shared", shared, `${filters} · ${channels} · ${k}²`, "--accent"], ["Locally connected", unshared, `${whole(shared)} · ${down} · ${across}`, "--third"], ["Dense", dense, `${whole(inputs)} · ${whole(outputs)}`, "--other"],
    ];
    bars.replaceChildren(...rows.map(([name, count, how, hue]) => h("div", { "data-count": name },
      h("div", { class: "label" }, h("span", {}, name), h("b", { class: "number" }, whole(count))), h("div", { class: "meter" }, h("i", { style: { width: `${(100 * Math.log10(Number(count) + 1)) / most}%`, background: `var(${hue})` } })),
      h("small", { class: "quiet number" }, how, count > shared ? `: ${about(Number(count) / Number(shared))} times as many` : ""))), h("p", { class: "quiet small" }, "Lengths are logarithmic. Biases are not counted."));
    list.replaceChildren(facts([
      ["input", `${channels} × ${high} × ${wide}`, `${whole(inputs)} numbers`], ["output", `${filters} × ${down} × ${across}`, `${whole(outputs)} numbers`],
      ["rows", `⌊(${high} + 2·${pad} − ${k}) / ${by}⌋ + 1 = ${down}`], ["columns", `⌊(${wide} + 2·${pad} − ${k}) / ${by}⌋ + 1 = ${across}`],
    ]));
    python.textContent = `from regard.sharing import compare; print(compare((${channels}, ${high}, ${wide}), ${filters}, ${k}, ${by}, ${pad}))`;
  }

  const files = savers({
    CSV: () => {
      const found = compare(layer(state.values));
      saveCsv("weights.csv", [["layer", "weights"], ["shared", found.shared], ["locally connected", found.unshared], ["dense", found.dense]]);
    },
  });
  files.append(copier("Copy Python", () => python.textContent ?? ""));
  results.append(h("div", { class: "card" }, h("h3", {}, "Weights"), bars), h("div", { class: "card" }, h("h3", {}, "Sizes"), list, h("h3", {}, "In Python"), python, files));
  const element = h("section", { class: "stack", "aria-label": "What sharing saves" },
    gallery(state, LAYERS.map(([name, numbers]) => ({ name, set: () => Object.fromEntries(KEYS.map((key, i) => [key, numbers[i]])) })), "Layers"),
    h("div", { class: "card controls" }, h("div", { class: "bar" },
      slider(state, "channels", { label: "channels", min: 1, max: 256, most: 4096 }), slider(state, "high", { label: "rows", min: 1, max: 512, most: 4096 }), slider(state, "wide", { label: "columns", min: 1, max: 512, most: 4096 }), slider(state, "filters", { label: "filters", min: 1, max: 256, most: 4096 }),
      kernel, slider(state, "by", { label: "stride", min: 1, max: 16, most: 64 }), slider(state, "pad", { label: "padding", min: 0, max: 16, most: 64 }))),
    results);
  return { element, show };
}
