// @ts-check
/** Costs: what a model costs, counted from its description; one alone, or two side by side. */
import { AskError } from "../parts/ask.js";
import { h } from "../parts/dom.js";
import { copier, saveCsv, savers, saveSvg, saveSvgPng } from "../parts/exports.js";
import { segments, select, slider, toggle } from "../parts/fields.js";
import { empty, failed, gallery, lede } from "../parts/table.js";
import { CONFIG, side } from "./costs_side.js";
import { COUNTS, cancelled, countsTable, drawCurves, glyph } from "./costs_views.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {import("./costs_side.js").Price} Price */

const LONGEST = 1 << 20, VIEWS = ["parts", "curves", "formula", "counts", "ranks"], MODES = ["forward", "training", "decoding"];
const DTYPES = ["own", "float32", "bfloat16", "float16", "int8"];

const defaults = {
  model: "gpt2", pattern: "", config: "", compare: false, model2: "llama-3-8b", pattern2: "", config2: "",
  n: 1024, batch: 1, rows: 28, cols: 28, vocab: 10_000, t: 128, w: 256, mode: "forward", dtype: "own",
  count: "flops", view: "parts", open: ["blocks"], last: 65_536, log: true, per: false, letters: ["n", "B"], ranks: 8,
};

/** @type {[string, [number, number, string], Values][]} */
const EXAMPLES = [
  ["GPT-2", [12, 0.5, "--accent"], { model: "gpt2", n: 1024, view: "parts" }],
  ["Llama 3 8B decodes 8k", [32, 1, "--accent"], { model: "llama-3-8b", n: 8192, mode: "decoding", dtype: "bfloat16", count: "moved_bytes", view: "parts" }],
  ["GPT-2 with windows", [12, 0.5, "--third"], { model: "gpt2", pattern: "strided(t)", view: "curves", per: true }],
  ["2 against 3: caches", [32, 1, "--other"], { model: "llama-2-7b", compare: true, model2: "llama-3-8b", n: 8192, mode: "decoding", dtype: "bfloat16", count: "cache_bytes", view: "counts" }],
  ["Linear or softmax", [1, 0.8, "--third"], { model: "causal-attention", compare: true, model2: "linear-attention", view: "curves" }],
  ["Formula of BERT", [12, 0.5, "--half"], { model: "bert-base", n: 512, view: "formula", letters: ["n", "B", "d"] }],
  ["ViT-B/16 trains", [12, 0.5, "--other"], { model: "vit-b16", mode: "training", batch: 64, view: "parts" }],
  ["A million tokens on 64 ranks", [32, 1, "--half"], { model: "llama-3-8b", pattern: "strided(t)", t: 4096, n: LONGEST, dtype: "bfloat16", view: "ranks", ranks: 64 }],
];

/** @param {Values} values */
function clean(values) {
  const within = (/** @type {string} */ key, /** @type {number} */ least, /** @type {number} */ most) =>
    Math.round(Math.min(most, Math.max(least, Number.isFinite(values[key]) ? values[key] : least)));
  const one = (/** @type {string} */ key, /** @type {string[]} */ all) => (all.includes(values[key]) ? values[key] : all[0]);
  const cut = (/** @type {string} */ key, /** @type {number} */ most) => String(values[key]).slice(0, most);
  return {
    ...values, n: within("n", 1, LONGEST), batch: within("batch", 1, 65_536), rows: within("rows", 1, 4096), cols: within("cols", 1, 4096),
    vocab: within("vocab", 1, 1_000_000), t: within("t", 1, 65_536), w: within("w", 1, 65_536), last: within("last", 64, LONGEST), ranks: within("ranks", 2, 1024),
    mode: one("mode", MODES), dtype: one("dtype", DTYPES), count: one("count", COUNTS.map(([key]) => key)), view: one("view", VIEWS),
    model: cut("model", 200), model2: cut("model2", 200), pattern: cut("pattern", 1000), pattern2: cut("pattern2", 1000), config: cut("config", 20_000), config2: cut("config2", 20_000),
    open: values.open.slice(0, 40), letters: values.letters.slice(0, 12),
  };
}

/** @param {HTMLElement} at @param {State} state @param {import("../main.js").Tools} tools */
function mount(at, state, tools) {
  tools.style("costs");
  const examples = EXAMPLES.map(([name, shape, set]) => ({
    name, picture: () => glyph(...shape),
    set: () => ({ ...Object.fromEntries(["pattern", "compare", "mode", "dtype", "count", "per", "batch", "t", "n"].map((key) => [key, /** @type {Values} */ (defaults)[key]])), ...set }),
  }));
  const n = slider(state, "n", { label: "n", hint: "tokens", min: 1, max: LONGEST, log: true }), batch = slider(state, "batch", { label: "batch", min: 1, max: 65_536, log: true });
  const rows = slider(state, "rows", { label: "rows", hint: "of the image", min: 1, max: 4096, log: true }), cols = slider(state, "cols", { label: "cols", min: 1, max: 4096, log: true });
  const vocab = slider(state, "vocab", { label: "vocabulary", hint: "the data decides", min: 1, max: 1_000_000, log: true });
  const t = slider(state, "t", { label: "t", hint: "in patterns", min: 1, max: 65_536, log: true }), w = slider(state, "w", { label: "w", hint: "in patterns", min: 1, max: 65_536, log: true });
  const mode = segments(state, "mode", { label: "Cost of", options: [["forward", "a forward pass"], ["training", "a training step"], ["decoding", "decoding"]] });
  const dtype = select(state, "dtype", { label: "numbers in", options: [["own", "its own type"], ...DTYPES.slice(1).map((one) => /** @type {[string, string]} */ ([one, one]))] });
  const count = select(state, "count", { label: "counted", options: COUNTS.map(([key, words]) => [key, words]) });
  const view = segments(state, "view", { label: "Show", hidden: true, options: [["parts", "Parts"], ["curves", "Curves"], ["formula", "Formula"], ["counts", "All counts"], ["ranks", "Ranks"]] });
  const first = side(0, state, tools), second = side(1, state, tools), sides = [first, second];
  const both = h("div", { class: "sides" }, first.element, second.element);
  const common = h("section", { class: "card common", "aria-label": "Comparison" });
  const ranks = slider(state, "ranks", { label: "ranks", hint: "that share a sequence", min: 2, max: 1024, log: true });
  const last = slider(state, "last", { label: "up to", hint: "the longest", min: 64, max: LONGEST, log: true });
  const log = toggle(state, "log", { label: "Log axes" }), per = toggle(state, "per", { label: "Per token" });
  const more = h("div", { class: "bar more" }, last, log, per, ranks);
  const conventions = h("details", {}, h("summary", {}, "How it is counted"), h("ul", { class: "quiet" }));
  at.append(
    lede("What a model costs", "Counted from its description: nothing is built, nothing is run. All counts are exact; the one that is an estimate says so.", copier("Copy link", tools.link)),
    gallery(state, examples, "Examples"),
    h("div", { class: "card controls" }, h("div", { class: "bar" }, n, batch, rows, cols, vocab, t, w), h("div", { class: "bar" }, mode, dtype)),
    h("div", { class: "bar choices" }, view, count, toggle(state, "compare", { label: "Compare two" })), more, both, common, conventions,
  );

  tools.ask("models", {}).then((said) => {
    if (!said) return;
    const plain = (/** @type {string[]} */ names) => names.map((one) => /** @type {[string, string]} */ ([one, one.replace(/^\w+:/, "")]));
    for (const one of sides) one.models.fill([["Your runs", plain(said.runs)], ["Presets", plain(said.presets)], ["The zoo", plain(said.zoo)], ["Recipes", plain(said.recipes)], ["Hugging Face", [[CONFIG, "a config.json of yours"]]]]);
    conventions.lastElementChild?.replaceChildren(...said.conventions.map((/** @type {string} */ one) => h("li", {}, one)));
  }).catch((error) => first.fail(error));

  let drawn = "", asked = "", timer = 0;
  /** @type {any} */
  let seen = null;

  /** What both sides have in common, once their prices are known. */
  function shared() {
    const { values } = state, shown = values.compare ? sides : [first];
    const any = (/** @type {(price: Price) => boolean} */ test) => shown.some((one) => one.price && test(one.price));
    const used = shown.map((one) => one.source()).join(" ");
    const known = shown.every((one) => one.price);
    n.classList.toggle("idle", known && !any((one) => one.takes === "n"));
    for (const one of [rows, cols]) one.hidden = !any((price) => price.takes === "image");
    vocab.hidden = !any((price) => price.vocab);
    t.hidden = !/\bt\b/.test(used);
    w.hidden = !/\bw\b/.test(used);
    last.hidden = log.hidden = per.hidden = values.view !== "curves";
    ranks.hidden = values.view !== "ranks";
    more.hidden = !["curves", "ranks"].includes(values.view);
    common.hidden = !["curves", "counts"].includes(values.view);
    const key = JSON.stringify([values.view, values.count, values.compare, values.log, values.per, asked, shown.map((one) => one.known)]);
    if (values.view === "counts" && !known && shown.some((one) => one.element.querySelector(".empty, .failed"))) { drawn = ""; common.replaceChildren(empty("Nothing to compare yet", "Mend what is marked above, and it is here at once.")); common.classList.remove("stale"); return; }
    if (values.view === "counts" && known && key !== drawn) {
      drawn = key;
      const prices = shown.map((one) => /** @type {Price} */ (one.price)), names = shown.map((one) => one.title());
      common.replaceChildren(countsTable(prices, names), savers({ CSV: () => saveCsv("costs.csv", [["count", ...names], ...prices[0].counts.map(([field, name, value]) => [name, value, ...prices.slice(1).map((one) => one.counts.find(([other]) => other === field)?.[2] ?? "")])]) }));
    }
    common.classList.toggle("stale", values.view === "counts" && !known);
  }

  const none = () => {
    tools.cancel("curves");
    clearTimeout(timer);
    asked = "";
    common.replaceChildren(empty("No curve yet", "Mend what is marked above, and it is here at once."));
    common.classList.remove("stale");
  };

  /** The curves, asked for as soon as nothing changes. */
  function curve() {
    const { values } = state, shown = values.compare ? sides : [first];
    if (values.view !== "curves") { tools.cancel("curves"); clearTimeout(timer); asked = ""; return; }
    const questions = shown.map((one) => one.family());
    if (questions.some((one) => one === null)) { none(); return; }
    const body = { sides: questions.map((one) => /** @type {any} */ (one).question), count: values.count, last: values.last, batch: values.batch, mode: values.mode, dtype: values.dtype };
    const question = JSON.stringify(body), look = JSON.stringify([values.log, values.per, values.compare]);
    const names = questions.map((one) => /** @type {any} */ (one).names), titles = shown.map((one) => one.title());
    const show = () => {
      drawn = look;
      common.replaceChildren(...drawCurves(seen, values, names, titles, (value) => { state.set({ n: value }); state.commit(); }), savers({
        PNG: () => { const picture = common.querySelector("svg"); if (picture) void saveSvgPng("cost-curves.png", picture); },
        SVG: () => { const picture = common.querySelector("svg"); if (picture) saveSvg("cost-curves.svg", picture); },
        CSV: () => saveCsv("cost-curves.csv", [[seen.x || "n", "what", values.count], ...seen.series.flatMap((/** @type {any} */ [i, source, points]) => points.map((/** @type {any} */ [x, y]) => [x, `${titles[i]} ${names[i][source] ?? ""}`.trim(), y]))]),
      }));
    };
    if (question === asked) { if (seen && look !== drawn) show(); return; }
    asked = question;
    seen = null;
    common.classList.add("stale");
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      try {
        const said = await tools.ask("curves", body, { at: common });
        if (asked !== question) return;
        if (said === null) {
          asked = "";
          common.replaceChildren(cancelled(curve));
          common.classList.remove("stale");
          return;
        }
        seen = said;
        show();
        common.classList.remove("stale");
      } catch (error) {
        if (asked !== question) return;
        if (error instanceof AskError && ["model", "pattern", "config"].includes(error.field ?? "")) none();
        else common.replaceChildren(failed(error));
        common.classList.remove("stale");
        asked = "";
      }
    }, 150);
  }

  for (const one of sides) one.onprice = () => { shared(); first.compare(state.values.compare ? second : null); second.compare(state.values.compare ? first : null); };
  state.watch((values) => {
    second.element.hidden = !values.compare;
    both.classList.toggle("pair", values.compare);
    first.ask();
    if (values.compare) second.ask(); else second.leave();
    shared();
    for (const one of sides) one.show();
    first.compare(values.compare ? second : null);
    curve();
  });
  return () => { clearTimeout(timer); };
}

/** @type {import("../main.js").Room} */
export default { title: "Costs", defaults, clean, mount };
