// @ts-check
/** Language: models write, one or two side by side, with the cache growing; every token tells why it came. */
import { AskError } from "../parts/ask.js";
import { curves } from "../parts/curves.js";
import { h, percent, whole } from "../parts/dom.js";
import { copier, save, saveCsv, saveSvg, saveSvgPng, savers } from "../parts/exports.js";
import { slider, text, toggle } from "../parts/fields.js";
import { gallery, lede } from "../parts/table.js";
import { chooser } from "../parts/writers.js";
import { side } from "./language_side.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */

const defaults = {
  modela: "", patterna: "", compare: false, modelb: "", patternb: "", prompt: "ROMEO:", tokens: 80, temperature: 0.8, topk: 0, topp: 1, seed: 0, layer: 0, head: 0, run: false,
};
const ASKED = ["modela", "patterna", "prompt", "tokens", "temperature", "topk", "topp", "seed", "compare"], SECOND = ["modelb", "patternb"];
const plain = { compare: false, patterna: "", patternb: "", temperature: 0.8, topk: 0, topp: 1, run: true };
/** @type {[string, Record<string, any>][]} */
const EXAMPLES = [
  ["A speech of Romeo's", { ...plain, prompt: "ROMEO:" }],
  ["The likeliest words", { ...plain, prompt: "My lord,", temperature: 0 }],
  ["Wild", { ...plain, prompt: "KING RICHARD:", temperature: 1.6 }],
  ["Wild, but tamed by top-p", { ...plain, prompt: "KING RICHARD:", temperature: 1.6, topp: 0.6 }],
  ["It may look back 7 tokens", { ...plain, prompt: "JULIET:", compare: true, patternb: "strided(7)" }],
  ["Blocks of 8, and a cache that empties", { ...plain, prompt: "JULIET:", compare: true, patternb: "windowed(8)" }],
];
const PAUSE = 350;

/** @param {Values} values */
function clean(values) {
  const within = (/** @type {string} */ key, /** @type {number} */ least, /** @type {number} */ most) => Math.min(most, Math.max(least, Number.isFinite(values[key]) ? values[key] : least));
  const out = /** @type {Values} */ ({ ...values, prompt: values.prompt.slice(0, 4000), temperature: within("temperature", 0, 2), topp: within("topp", 0.05, 1) });
  for (const [key, least, most] of /** @type {[string, number, number][]} */ ([["tokens", 1, 256], ["topk", 0, 1000], ["seed", 0, 2 ** 31], ["layer", 0, 999], ["head", 0, 999]])) out[key] = Math.round(within(key, least, most));
  for (const key of ["patterna", "patternb"]) out[key] = values[key].slice(0, 1000);
  return out;
}

/** @param {HTMLElement} at @param {State} state @param {import("../main.js").Tools} tools */
function mount(at, state, tools) {
  tools.style("language");
  const start = h("div", { class: "card waiting" }, h("p", { class: "quiet" }, "Loading the models …"));
  at.append(lede("A model writes", "Token by token, each drawn by chance. Point at a word to see what else might have come and what it looked at.", copier("Copy link", tools.link)),
    gallery(state, EXAMPLES.map(([name, values]) => ({ name, set: () => values })), "Examples"), start);
  chooser(state, tools, { room: "language", keys: [["modela", "model"], ["modelb", "model"]], at: start }).then((found) => { if (found) ready(found); });

  /** @param {NonNullable<Awaited<ReturnType<typeof chooser>>>} found */
  function ready(found) {
    const sizes = (/** @type {string} */ key) => () => { const one = found.of(state.values[key]); return /** @type {[number, number]} */ ([one?.layers ?? 0, one?.heads ?? 0]); };
    const sides = { a: side("a", state, tools, { model: found.fields[0], layers: sizes("modela") }), b: side("b", state, tools, { model: found.fields[1], layers: sizes("modelb") }) };
    const prompt = text(state, "prompt", { label: "prompt", lines: 2, most: 4000, hint: "up to 128 tokens" });
    const fields = /** @type {Record<string, import("../parts/fields.js").Field>} */ ({ prompt, patterna: sides.a.pattern, patternb: sides.b.pattern });
    const go = h("button", { type: "button", class: "button main", onclick: () => (working ? stop() : begin()) }, "Write");
    const dice = h("button", { type: "button", class: "button", onclick: () => { state.set({ seed: (state.values.seed + 1) % 2 ** 31, run: true }); state.commit(); } }, "Another seed");
    const of = [pick("layer", "layer", () => Math.max(sizes("modela")()[0], state.values.compare ? sizes("modelb")()[0] : 0)), pick("head", "head", () => Math.max(sizes("modela")()[1], state.values.compare ? sizes("modelb")()[1] : 0))];
    const chart = h("div", { class: "chart", "data-read": "chart" }), ratio = h("p", { class: "quiet", "data-read": "ratio" });
    const picture = () => /** @type {SVGElement | null} */ (chart.querySelector("svg"));
    const files = savers({
      PNG: () => { const one = picture(); if (one) saveSvgPng("cache.png", one); },
      SVG: () => { const one = picture(); if (one) saveSvg("cache.svg", one); },
      CSV: () => saveCsv("written.csv", [["side", "position", "token", "text", "given", "chance", "model's own chance", "cache bytes", "seconds"], ...shown().flatMap((name) => sides[name].tokens().map((one, i) => [name, i, one.label, one.text, String(one.given), one.given ? "" : one.chance, one.given ? "" : one.plain, one.bytes, one.seconds]))]),
      Text: () => save("written.txt", shown().map((name) => sides[name].words()).join("\n\n———\n\n")),
    });
    const both = h("div", { class: "sides2" }, sides.a.element, sides.b.element);
    const cache = h("section", { class: "card", "aria-label": "The cache" }, h("h2", {}, "What the cache holds"), h("p", { class: "quiet" }, "Keys and values of the past, in bytes after each token: as many as the pattern can still reach."), chart, ratio, files);
    start.replaceWith(
      h("div", { class: "card controls stack" }, prompt,
        h("div", { class: "knobs4" }, slider(state, "tokens", { label: "tokens", min: 1, max: 256 }), slider(state, "temperature", { label: "temperature", min: 0, max: 2, step: 0.05 }), slider(state, "topk", { label: "top-k", hint: "0: all", min: 0, max: 50, most: 1000 }), slider(state, "topp", { label: "top-p", hint: "1: all", min: 0.05, max: 1, step: 0.05 }), slider(state, "seed", { label: "seed", min: 0, max: 99, most: 2 ** 31 }), h("div", { class: "bar" }, ...of)),
        h("div", { class: "bar" }, h("div", { class: "buttons" }, go, dice), toggle(state, "compare", { label: "Two side by side" }))), both, cache);

    let working = false, turn = 0, timer = 0, last = 0;
    const shown = () => /** @type {("a" | "b")[]} */ (state.values.compare ? ["a", "b"] : ["a"]);

    function stop() { turn++; tools.cancel("write"); done(); shown().forEach((name) => sides[name].stopped()); }
    function done() { working = false; go.textContent = "Write"; draw(true); }
    function begin() { if (!state.values.run) { state.set({ run: true }); state.commit(); } else write(); }

    async function write() {
      clearTimeout(timer);
      const mine = ++turn, body = Object.fromEntries([...ASKED, ...SECOND].map((key) => [key, state.values[key]]));
      working = true;
      go.textContent = "Stop";
      for (const one of Object.values(fields)) one.wrong(null);
      let first = true;
      try {
        const end = await tools.stream("write", body, (part) => {
          if (mine !== turn) return;
          if (first) { first = false; for (const one of Object.values(sides)) { one.begin(); one.stale(false); } }
          sides[/** @type {"a" | "b"} */ (part.side)].take(part);
          draw(false);
        }, { at: sides.a.element });
        if (mine !== turn) return;
        if (!end) shown().forEach((name) => sides[name].stopped());
        else tools.say("The text is finished.");
      } catch (error) {
        if (mine !== turn) return;
        shown().forEach((name) => sides[name].stopped());
        const field = error instanceof AskError && error.field ? fields[error.field] : null;
        (field ?? prompt).wrong(error instanceof Error ? error.message : String(error));
      }
      done();
    }

    /** The growing cache, some times a second while it grows. @param {boolean} now */
    function draw(now) {
      if (!now && performance.now() - last < 120) return;
      last = performance.now();
      const series = shown().map((name) => ({ name: `${state.values[`model${name}`]}${state.values[`pattern${name}`] ? `, ${state.values[`pattern${name}`]}` : ""}`, points: sides[name].made().map((one, i) => /** @type {[number, number]} */ ([i + 1, one.bytes])) })).filter(({ points }) => points.length);
      cache.hidden = !state.values.run;
      if (!series.length) { chart.replaceChildren(); ratio.textContent = ""; return; }
      chart.replaceChildren(curves({ series, x: { label: "tokens written", from: 0, to: state.values.tokens }, y: { label: "bytes" }, height: 220, label: "Bytes of the cache after each token" }));
      const ends = shown().map((name) => sides[name].made().at(-1)?.bytes ?? 0);
      ratio.textContent = ends.length > 1 && ends[0] ? `The second holds ${whole(ends[1])} bytes, ${percent(Number((ends[1] / ends[0]).toPrecision(3)))} of the first's ${whole(ends[0])}.` : `It holds ${whole(ends[0])} bytes.`;
    }

    state.watch((values, changed) => {
      found.settle();
      sides.b.element.hidden = !values.compare;
      both.classList.toggle("pair", values.compare);
      of.forEach((one) => one.fill());
      if (changed.has("layer") || changed.has("head")) for (const one of Object.values(sides)) one.again();
      const keys = [...ASKED, "run", ...(values.compare ? SECOND : [])];
      if (!keys.some((key) => changed.has(key))) return;
      if (!values.run) { if (working) stop(); for (const one of Object.values(sides)) { one.begin(); one.blank(); one.stale(false); } draw(true); return; }
      for (const one of Object.values(sides)) one.stale(true);
      clearTimeout(timer);
      turn++;  // what still comes is of another question
      tools.cancel("write");
      if (changed.size > 1 || changed.has("run")) write(); else timer = window.setTimeout(write, PAUSE);
    });
    tools.onTheme(() => draw(true));
    tools.ended.addEventListener("abort", () => clearTimeout(timer));
  }

  /** A list of numbers of which 0 is the mean. @param {string} key @param {string} label @param {() => number} count */
  function pick(key, label, count) {
    const list = h("select", { "data-key": key, "aria-label": `attention: ${label}` });
    list.addEventListener("change", () => { state.set({ [key]: Number(list.value) }); state.commit(); });
    let many = -1;
    const fill = () => {
      if (many !== count()) { many = count(); list.replaceChildren(h("option", { value: 0 }, `all ${label}s`), ...Array.from({ length: many }, (_, i) => h("option", { value: i + 1 }, `${label} ${i + 1}`))); }
      list.value = String(Math.min(many, state.values[key]));
    };
    return Object.assign(h("div", { class: "field" }, h("div", { class: "label" }, h("b", {}, `attention, ${label}`)), list), { fill });
  }
}

/** @type {import("../main.js").Room} */
export default { title: "Language", defaults, clean, mount };
