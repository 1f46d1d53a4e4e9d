// @ts-check
/** What one can play with in the text of the lessons, each behind the step that it belongs to. */
import { dense, parse, write } from "../../../paper/browser/pattern.js";
import { CellGrid } from "../parts/cells.js";
import { curves } from "../parts/curves.js";
import { h, whole } from "../parts/dom.js";
import { segments, slider } from "../parts/fields.js";
import { Grid } from "../parts/grid.js";
import { facts } from "../parts/table.js";
import { filter, named } from "./recurrence_filter.js";
import { written } from "./recurrence_share.js";
import { wave } from "./recurrence_wave.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {{title: string, about: string, defaults: Values, clean: (values: Values) => Values, make: (state: State) => {element: HTMLElement, show: (values: Values) => void, rest?: () => void}}} Widget */

/** Numbers within [least, most, step]; words that are known. @param {Record<string, [number, number, number?]>} limits @param {Record<string, string[]>} [words] @returns {(values: Values) => Values} */
const within = (limits, words = {}) => (values) => {
  const out = { ...values };
  for (const [key, [least, most, step = 1]] of Object.entries(limits)) out[key] = Number((Math.round(Math.min(most, Math.max(least, values[key])) / step) * step).toPrecision(12));
  for (const [key, known] of Object.entries(words)) if (!known.includes(values[key])) out[key] = known[0];
  return out;
};

/** A name, a length from 0 to 1, what it says, a colour. @param {[string, number, string, string?][]} rows */
const bars = (rows) => h("div", { class: "counts" }, ...rows.map(([name, part, says, hue = "--accent"]) => h("div", { "data-count": name },
  h("div", { class: "label" }, h("span", {}, name), h("b", { class: "number" }, says)), h("div", { class: "meter" }, h("i", { style: { width: `${100 * Math.min(1, Math.max(0, part))}%`, background: `var(${hue})` } })))));

/**
 * A widget of sliders and what they lead to.
 * @param {string} title @param {string} about @param {Values} defaults @param {Record<string, [number, number, number?]>} limits @param {Record<string, string>} labels
 * @param {(values: Values) => (Node | string)[]} draw @returns {Widget}
 */
const play = (title, about, defaults, limits, labels, draw) => ({
  title, about, defaults, clean: within(limits),
  make: (state) => {
    const out = h("div", { class: "stack" });
    return { element: h("div", { class: "stack" }, h("div", { class: "bar" }, ...Object.entries(limits).map(([key, [min, max, step]]) => slider(state, key, { label: labels[key] ?? key, min, max, step }))), out), show: (values) => out.replaceChildren(...draw(values)) };
  },
});

/** @type {[string, string][]} */
const PATTERNS = [["causal", "Autoregressive"], ["strided", "Strided"], ["windowed", "Windowed"]];
/** The short formulas of the lesson, and where they hold. @type {Record<string, (v: Values) => [string, number, boolean]>} */
const LAWS = {
  causal: ({ n }) => ["n(n+1)/2", (n * (n + 1)) / 2, true],
  strided: ({ n, t }) => ["(2n−t)(t+1)/2", ((2 * n - t) * (t + 1)) / 2, n >= t],
  windowed: ({ n, w }) => ["n(w+1)/2", (n * (w + 1)) / 2, n % w === 0],
};

/** @type {Widget} */
const PATTERN = {
  title: "Count them yourself.", about: "A row is a query, a filled square a key that it sees: drag, and point at a square.",
  defaults: { kind: "strided", n: 12, t: 3, w: 4 }, clean: within({ n: [1, 24], t: [0, 24], w: [1, 24] }, { kind: PATTERNS.map(([one]) => one) }),
  make: (state) => {
    const grid = new Grid({ most: 380 }), list = h("div"), t = slider(state, "t", { label: "t", min: 0, max: 24 }), w = slider(state, "w", { label: "w", min: 1, max: 24 });
    return {
      element: h("div", { class: "stack" }, segments(state, "kind", { label: "Pattern", hidden: true, options: PATTERNS }), h("div", { class: "bar" }, slider(state, "n", { label: "n", min: 1, max: 24 }), t, w), h("div", { class: "two" }, grid.element, list)),
      show: (values) => {
        const { kind, n } = values, pattern = parse({ causal: "causal", strided: "strided(t)", windowed: "windowed(w)" }[/** @type {"causal"} */ (kind)], values), mask = dense(pattern, n);
        const rows = Array.from({ length: n }, (_, q) => mask.subarray(q * n, (q + 1) * n).reduce((a, b) => a + b, 0)), pairs = rows.reduce((a, b) => a + b, 0), [law, says, holds] = LAWS[kind](values);
        t.hidden = kind !== "strided";
        w.hidden = kind !== "windowed";
        grid.idle = "Point at a square, or press the arrow keys on the picture.";
        grid.show({ rows: n, cols: n, levels: mask, colours: ["--unseen", "--seen"], bars: rows, label: `${write(pattern)} on ${n} positions`, tell: (q, k) => `query ${q + 1} ${mask[q * n + k] ? "sees" : "does not see"} key ${k + 1}; its row has ${rows[q]} marks` });
        list.replaceChildren(facts([["counted", `${whole(pairs)} marks`, `of n² = ${whole(n * n)}`], [law, whole(says), says === pairs ? (holds ? "the same" : "the same by luck: its condition fails") : `${says > pairs ? "too many" : "too few"}: its condition fails, ${kind === "strided" ? "n < t" : "w does not divide n"}`], ["each row", rows.join(" ")]]));
      },
    };
  },
};

const SPREAD = "of a softmax: e^score over the sum of all e^score";
/** @param {number[]} scores */
const softmax = (scores) => { const most = Math.max(...scores), e = scores.map((one) => Math.exp(one - most)), sum = e.reduce((a, b) => a + b, 0); return e.map((one) => one / sum); };
const share = (/** @type {number} */ value) => `${Number((100 * value).toPrecision(3))} %`;

/** By lesson and step. @type {Record<string, Widget>} */
export const WIDGETS = {
  "counting-attention grids": PATTERN,
  "grid-rnn wiring": {
    title: "Play the wavefront.", about: "Cells of one anti-diagonal do not wait for each other.", defaults: { rows: 4, cols: 6, start: "top-left", step: 4, speed: "4" },
    clean: (values) => { const out = within({ rows: [1, 10], cols: [1, 10], step: [0, 100] }, { start: ["top-left", "top-right", "bottom-left", "bottom-right"], speed: ["4", "2", "8"] })(values); return { ...out, step: Math.min(out.step, out.rows * out.cols) }; }, make: wave,
  },
  "weight-sharing matrix": { title: "Point at a weight.", about: "Its entries in the matrix light up; point at an entry, and its window does.", defaults: { n: 9, k: 3, stride: 1, padding: 0 }, clean: within({ n: [1, 16], k: [1, 7], stride: [1, 4], padding: [0, 3] }), make: filter },
  "rnn-recurrences unrolled": play("Choose the weights on the arrows.", "The factor of each input in h_T is b·a^(T−t).", { a: -1, b: 1, T: 6 }, { a: [-2, 2, 0.25], b: [-2, 2, 0.25], T: [1, 12] }, { a: "loop a", b: "input b" }, ({ a, b, T }) => {
    const found = Array.from({ length: T }, (_, i) => b * a ** (T - 1 - i)), grid = new CellGrid({ most: 64, least: 40 });
    grid.idle = "Point at an input.";
    grid.show({ rows: 1, cols: T, label: "Factors of the inputs", tops: found.map((_, i) => named("x", i + 1)), tell: (_, i) => `${named("x", i + 1)} enters with ${written(b)}, goes round the loop ${T - 1 - i} times: its factor is ${written(found[i])}`,
      cell: (_, i) => ({ text: written(found[i]).replace("-", "−"), fill: found[i] > 0 ? "--accent" : found[i] < 0 ? "--other" : "--unseen", ink: found[i] ? "--on-accent" : "--ink" }) });
    return [grid.element, h("p", { class: "quiet number" }, Math.abs(a) < 1 ? "Early inputs fade." : Math.abs(a) > 1 ? "Early inputs explode." : a < 0 ? "All inputs stay, with signs that alternate." : "All inputs stay.")];
  }),
  "attention-copies rows": play("Lengthen the tokens.", "The exact weights of x₁ = d + b, x₂ = a and x₃ = c + b, all parts of length β.", { beta: 1 }, { beta: [0, 4, 0.05] }, { beta: "β" }, ({ beta }) => {
    const gram = [[2, 0, 1], [0, 1, 0], [1, 0, 2]].map((row) => softmax(row.map((one) => one * beta * beta))), grid = new CellGrid({ most: 84 });
    grid.idle = "Point at a weight.";
    grid.show({ rows: 3, cols: 3, label: "Weights of three tokens", tops: ["x₁", "x₂", "x₃"], sides: ["y₁", "y₂", "y₃"], tell: (i, j) => `${named("y", i + 1)} gives ${named("x", j + 1)} the weight ${gram[i][j].toPrecision(6)}`,
      cell: (i, j) => ({ text: gram[i][j].toFixed(2), fill: `color-mix(in srgb, var(--seen) ${Math.round(gram[i][j] < 0.5 ? gram[i][j] * 70 : 70 + (gram[i][j] - 0.5) * 60)}%, var(--unseen))`, ink: gram[i][j] < 0.5 ? "--ink" : "--on-accent" }) });
    return [grid.element];
  }),
  "linear-attention arrangements": play("Which brackets are cheaper?", "Multiplies of both orders of the same product.", { T: 512, d: 64 }, { T: [16, 4096, 16], d: [8, 512, 8] }, {}, ({ T, d }) => {
    const first = 2 * T * T * d, second = 2 * T * d * d, most = Math.max(first, second);
    return [bars([["(QKᵀ)V", first / most, whole(first), "--other"], ["Q(KᵀV)", second / most, whole(second)]]), h("p", { class: "quiet" }, T === d ? "As many: T = d." : `${first > second ? "The summary first" : "The scores first"} is ${written(most / Math.min(first, second))} times cheaper: ${T > d ? "T > d" : "T < d"}.`)];
  }),
  "attention-complexity where": play("Which term wins?", "Four projections against both products over pairs, in multiplies.", { n: 1024, d: 256 }, { n: [16, 8192, 16], d: [16, 1024, 16] }, {}, ({ n, d }) => {
    const maps = 4 * n * d * d, pairs = 2 * n * n * d, most = Math.max(maps, pairs);
    return [bars([["projections, 4nd²", maps / most, whole(maps)], ["pairs, 2n²d", pairs / most, whole(pairs), "--other"]]), h("p", { class: "quiet" }, `Equal at n = 2d = ${whole(2 * d)}; here the pairs are ${share(pairs / (maps + pairs))} of all.`)];
  }),
  "positions rotary": play("Alibi by hand.", "What a head with slope m adds to each score: nothing to its own, less and less to those before.", { n: 8, m: 0.5 }, { n: [2, 12], m: [0, 2, 0.05] }, { m: "slope m" }, ({ n, m }) => {
    const grid = new CellGrid({ most: 44, least: 26 }), weights = Array.from({ length: n }, (_, i) => softmax(Array.from({ length: i + 1 }, (_, j) => -m * (i - j))));
    grid.idle = "Point at a score.";
    grid.show({ rows: n, cols: n, label: "What Alibi adds", tell: (i, j) => (j > i ? "A later key: masked." : `query ${i + 1}, key ${j + 1}: ${written(-m * (i - j))}; with equal products its weight is ${share(weights[i][j])}`),
      cell: (i, j) => { const part = j > i ? 0 : weights[i][j]; return { text: j > i ? "" : written(-m * (i - j)).replace("-", "−"), fill: j > i ? "--card" : `color-mix(in srgb, var(--seen) ${Math.round(part < 0.5 ? part * 70 : 70 + (part - 0.5) * 60)}%, var(--unseen))`, ink: part < 0.5 ? "--ink" : "--on-accent" }; } });
    return [grid.element];
  }),
  "heads in_a_sentence": play("One head has one mean.", "A head that gives the right neighbour s times the weight of the left one: what each read-out has to live on.", { s: 1 }, { s: [0.1, 10, 0.1] }, { s: "s" }, ({ s }) =>
    [bars([["left token", 1 / (1 + s), share(1 / (1 + s))], ["right token", s / (1 + s), share(s / (1 + s)), "--other"]]), h("p", { class: "quiet" }, s > 1 ? "The right one can be read off, the left one not." : s < 1 ? "The left one can be read off, the right one not." : "Neither order can be told: (a, b) and (b, a) give the same mean.", " Two heads have two s.")]),
  "rnn-or-transformer share_of_first": play("How much of x₁ reaches h_T?", "With one number a for W_h it is a^(T−1).", { a: 0.9, T: 50 }, { a: [0.5, 1.2, 0.01], T: [2, 200] }, { a: "a" }, ({ a, T }) =>
    [curves({ series: [{ name: "left of x₁", points: Array.from({ length: T }, (_, i) => /** @type {[number, number]} */ ([i + 1, a ** i])) }], x: { label: "T", from: 1 }, y: { label: "left of x₁", log: true, tell: written }, height: 220, label: "Share of the first input" }), h("p", { class: "quiet number" }, `After ${T} steps: ${written(a ** (T - 1))}.`)]),
  "why-generation-is-slow cache_size": play("Fill a cache.", "Numbers that are kept, and passes that they save, for L layers of width d.", { T: 1024, L: 12, d: 768 }, { T: [1, 4096], L: [1, 48], d: [64, 4096, 64] }, {}, ({ T, L, d }) => {
    const kept = 2 * L * T * d, without = (T * (T + 1)) / 2;
    return [bars([["passes without a cache", 1, whole(without), "--other"], ["passes with it", T / without, whole(T)]]), facts([["numbers kept", `2 · ${L} · ${whole(T)} · ${d} = ${whole(kept)}`], ["bytes", whole(2 * kept), "in 16 bits each"]])];
  }),
  "masks-and-losses two_masks": play("Turn up the future.", `Two seen tokens of scores 1 and 0, and a forbidden one: weights ${SPREAD}.`, { z: 2 }, { z: [-4, 6, 0.1] }, { z: "its score" }, ({ z }) => {
    const late = softmax([1, 0, z]), early = softmax([1, 0]);
    return [h("div", { class: "two" }, h("div", {}, h("h3", {}, "masked before the softmax"), bars([["token 1", early[0], share(early[0])], ["token 2", early[1], share(early[1])], ["future", 0, "0 %"]])),
      h("div", {}, h("h3", {}, "zeroed after it"), bars([["token 1", late[0], share(late[0]), "--other"], ["token 2", late[1], share(late[1]), "--other"], ["future", 0, "0 %"]]))), h("p", { class: "quiet" }, `Zeroed after it, the weights sum to ${share(late[0] + late[1])}, and move with a token that must not be seen.`)];
  }),
};

/** Parts of a step that the widget shows better: pictures by name, others by kind. @type {Record<string, string[]>} */
export const REPLACED = { "counting-attention grids": ["strided", "windowed"], "weight-sharing matrix": ["matrix"] };
