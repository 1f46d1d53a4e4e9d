// @ts-check
/** How much of the first input is left after T steps: the norms come from Python once, the radius scales them exactly. */
import { curves } from "../parts/curves.js";
import { h } from "../parts/dom.js";
import { copier, saveCsv, saveSvgPng, saveSvg, savers } from "../parts/exports.js";
import { segments, slider, text } from "../parts/fields.js";
import { inline } from "../parts/prose.js";
import { facts, gallery } from "../parts/table.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */

/** @type {[string, string][]} */
export const KINDS = [["random", "Random 8×8"], ["rotation", "Rotation"], ["shear", "Shear"], ["own", "Your own"]];
const ABOUT = {  // what each is
  random: "Drawn at random and scaled: in the long run the radius alone decides.",
  rotation: "Lengths are kept, so at radius 1 nothing is ever lost.",
  shear: "Ones on and above the diagonal: at radius 1 it still grows, like T.",
  own: "Rows of numbers with ; between them. It is taken as it is, with the identity for the input.",
};
/** @type {[string, string, number][]} */
const EXAMPLES = [["Forgets", "random", 0.9], ["Forgets fast", "random", 0.6], ["On the edge", "random", 1], ["Explodes", "random", 1.1], ["Never forgets", "rotation", 1], ["Grows at radius 1", "shear", 1], ["Your own", "own", 1]];
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A number as people write it: 0.0123, 6,240, 1.3 × 10⁻¹⁴. @param {number} value */
export function written(value) {
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-4 && size < 1e7)) return Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
  const [digits, power] = value.toExponential(2).split("e");
  return `${Number(digits)} × 10${[...String(Number(power))].map((one) => (one === "-" ? "⁻" : RAISED[Number(one)])).join("")}`;
}

/** State needs kind, radius, T, seed and matrix. @param {State} state @param {import("../main.js").Tools} tools */
export function share(state, tools) {
  const radius = slider(state, "radius", { label: "spectral radius", min: 0.5, max: 1.5, step: 0.01 });
  const own = text(state, "matrix", { label: "your matrix", code: true, most: 500, hint: "rows with ; between" });
  const again = h("button", { type: "button", class: "button", onclick: () => { state.set({ seed: (state.values.seed + 1) % 10_000 }); state.commit(); } }, "Draw another");
  const about = h("p", { class: "quiet" }), verdict = h("div", { class: "big", "data-read": "verdict" }), after = h("p", { class: "quiet number", "data-read": "left" });
  const plot = h("div", { class: "plotted" }), list = h("div"), python = h("code", { class: "python" });
  /** @type {{ratios: (number | null)[], rate: number, radius: number, verdict: string, scaled: boolean, line: string} | null} */
  let base = null;
  let asked = "", timer = 0;
  const points = (/** @type {Values} */ values) => {
    const factor = base?.scaled ? values.radius : 1;
    return (base?.ratios ?? []).slice(0, values.T).flatMap((one, i) => {
      const now = one === null ? Infinity : one * factor ** i;
      return Number.isFinite(now) ? [/** @type {[number, number]} */ ([i + 1, now])] : [];
    });
  };

  /** @param {Values} values */
  function drawn(values) {
    if (!base) return;
    const found = points(values), last = found[found.length - 1], whole = found.length === Math.min(values.T, base.ratios.length);
    const rate = base.rate * (base.scaled ? values.radius : 1), seen = found.filter(([, one]) => one > 1e-300);
    const says = Math.abs(rate - 1) > 1e-6 ? (rate < 1 ? "vanishes" : "explodes") : base.verdict;
    verdict.textContent = `x₁ ${says}`;
    after.replaceChildren(...inline(!whole ? `After ${found.length + 1} steps it is larger than any number of 64 bits.`
      : `After ${values.T} steps ${last[1] <= 1 ? `${written(100 * last[1])} % of it is left` : `it is ${written(last[1])} times as large`}: exactly ‖W_h^(T−1) W_x‖ / ‖W_x‖.`));
    plot.replaceChildren(seen.length ? curves({
      series: [{ name: "left of x₁", points: seen }, { name: "growth per step, to the power T − 1", points: seen.map(([t]) => /** @type {[number, number]} */ ([t, rate ** (t - 1)])).filter(([, one]) => one > 1e-300 && Number.isFinite(one)), dash: "4 4" }],
      x: { label: "T", from: 1, to: values.T }, y: { label: "x₁ left after T steps, as part of T = 1", log: true, tell: written }, height: 300, label: "How much of the first input is left",
    }) : "");
    const half = Math.log(0.5) / Math.log(rate);
    list.replaceChildren(facts([
      ["growth per step", written(rate), "in the long run: the largest eigenvalue that x₁ can reach"], ["spectral radius", written(base.radius * (base.scaled ? values.radius : 1))],
      rate < 1 && rate > 0 ? ["halved every", `${written(half)} steps`, "in the long run"] : rate > 1 + 1e-6 ? ["doubled every", `${written(-half)} steps`, "in the long run"] : ["halved", "never in the long run"],
    ]));
    python.textContent = base.line.replace("RADIUS", String(values.radius)).replace("STEPS", String(values.T));
  }

  /** @param {Values} values */
  function show(values) {
    const mine = values.kind === "own";
    own.hidden = !mine;
    radius.hidden = mine;
    again.hidden = values.kind !== "random";
    about.textContent = ABOUT[/** @type {keyof typeof ABOUT} */ (values.kind)];
    const question = JSON.stringify([values.kind, values.kind === "random" ? values.seed : 0, mine ? values.matrix : ""]);
    if (question === asked) { if (!element.classList.contains("stale")) drawn(values); return; }
    asked = question;
    element.classList.add("stale");
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      try {
        const said = await tools.ask("share", { kind: values.kind, seed: values.seed, matrix: values.matrix }, { at: card });
        if (!said || question !== asked) { if (question === asked) asked = ""; return; }
        base = said;
        own.wrong(null);
        element.classList.remove("stale");
        drawn(state.values);
      } catch (error) {
        if (question !== asked) return;
        if (mine) own.wrong(error instanceof Error ? error.message : String(error));
        else { asked = ""; after.textContent = error instanceof Error ? error.message : String(error); }
      }
    }, mine ? 200 : 0);
  }

  const picture = () => /** @type {SVGElement} */ (plot.querySelector("svg"));
  const files = savers({
    PNG: () => saveSvgPng("share-of-x1.png", picture()), SVG: () => saveSvg("share-of-x1.svg", picture()),
    CSV: () => saveCsv("share-of-x1.csv", [["T", "left of x1"], ...points(state.values)]),
  });
  files.append(copier("Copy Python", () => python.textContent ?? ""));
  const element = h("div", { class: "wide-left" }, h("div", { class: "card" }, plot, h("h3", {}, "In Python"), python, files), h("div", { class: "card" }, verdict, after, list));
  const card = h("section", { class: "stack shares", "aria-label": "Share of the first input" },
    gallery(state, EXAMPLES.map(([name, kind, radius]) => ({ name, set: () => ({ kind, radius }) })), "Loops"),
    h("div", { class: "card controls" }, h("div", { class: "bar" }, segments(state, "kind", { label: "loop matrix", options: KINDS }), again), about, h("div", { class: "bar" }, own, radius, slider(state, "T", { label: "T", hint: "steps", min: 2, max: 200 }))),
    element);
  return { element: card, show };
}
