// @ts-check
/** Patterns: who may look at whom. Up to n = 256 all is counted here; longer sequences and formulas are asked for. */
import { exchange } from "../../../paper/browser/exchange.js";
import { PatternError, dense, keysKept, misfit, parse, rowPairs, write } from "../../../paper/browser/pattern.js";
import { colour, h, percent, whole } from "../parts/dom.js";
import { copier, onPaper, save, saveCsv, savePng, savers } from "../parts/exports.js";
import { segments, select, slider, text, toggle } from "../parts/fields.js";
import { Grid, paint, svgOf } from "../parts/grid.js";
import { empty, facts, gallery, lede } from "../parts/table.js";
import { byRank, exchanged, extra, looks } from "./patterns_views.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */

export const DRAWN = 256, LONGEST = 65_536, HEADS = 8;

const EXAMPLES = [
  ["Strided", "strided(t)"], ["Windowed", "windowed(w)"], ["Causal", "causal"], ["Everything", "full"],
  ["Global tokens", "strided(t) | global(2) & causal"], ["Local", "local(t)"], ["Dilated", "dilated(t, 2)"],
  ["Sparse, strided", "sparsestrided(t)"], ["Sparse, fixed", "sparsefixed(w, 2)"], ["Blocks", "blocks(w)"], ["Prefix", "prefix(w)"],
  ["Image patches", "neighbourhood(rows, cols, 1)"], ["Rows and columns", "axial(rows, cols)"], ["Random blocks", "randomblocks(4, 1, 7) & causal"],
];

const defaults = {
  a: ["strided(t)"], b: ["windowed(w)"], compare: false, t: 5, w: 8, n: 24, heada: 0, headb: 0,
  view: "pairs", tile: 8, ranks: 4, deal: "auto",
};

/** What letters in a text stand for. @param {Values} values @returns {Record<string, number>} */
export function letters({ t, w, n }) {
  let rows = Math.floor(Math.sqrt(n));
  while (n % rows) rows--;
  return { t, w, n, rows, cols: n / rows };
}

/** @param {Values} values */
function clean(values) {
  const within = (/** @type {string} */ key, /** @type {number} */ least, /** @type {number} */ most) =>
    Math.round(Math.min(most, Math.max(least, Number.isFinite(values[key]) ? values[key] : least)));
  const heads = (/** @type {string} */ side) => (values[side].length ? values[side].slice(0, HEADS) : [""]).map((/** @type {string} */ one) => one.slice(0, 1000));
  /** @type {Values} */
  const out = { ...values, a: heads("a"), b: heads("b"), t: within("t", 0, 64), w: within("w", 1, 64), n: within("n", 2, LONGEST), ranks: within("ranks", 1, 16) };
  out.heada = Math.min(out.a.length - 1, within("heada", 0, HEADS));
  out.headb = Math.min(out.b.length - 1, within("headb", 0, HEADS));
  if (!["pairs", "tiles", "cache", "ranks"].includes(out.view)) out.view = "pairs";
  if (![4, 8, 16, 32].includes(out.tile)) out.tile = 8;
  if (!["auto", "even", "zigzag", "pairs"].includes(out.deal)) out.deal = "auto";
  return out;
}

/**
 * @typedef {object} Counted
 * @property {string} text as Python writes it
 * @property {import("../../../paper/browser/pattern.js").Pattern} pattern
 * @property {Uint8Array} mask
 * @property {number[]} rows
 * @property {number} pairs
 * @property {bigint | null} kept
 */
/** @type {Map<string, Counted>} */
const memory = new Map();

/** A pattern at a length that is drawn, counted once. @param {string} source @param {Values} values @returns {Counted} */
export function counted(source, values) {
  const pattern = parse(source, letters(values)), written = write(pattern), key = `${values.n} ${written}`;
  let found = memory.get(key);
  if (!found) {
    const fault = misfit(pattern, values.n);
    if (fault) throw new PatternError(fault, 0);
    const drawn = values.n <= DRAWN, rows = drawn ? rowPairs(pattern, values.n) : [];
    found = { text: written, pattern, mask: drawn ? dense(pattern, values.n) : new Uint8Array(), rows, pairs: rows.reduce((x, y) => x + y, 0), kept: keysKept(pattern) };
    if (memory.size > 64) memory.delete(/** @type {string} */ (memory.keys().next().value));
    memory.set(key, found);
  }
  return found;
}

/** A small picture of a pattern. @param {string} source @param {Values} values @param {HTMLCanvasElement} [canvas] */
function small(source, values, canvas = h("canvas", { width: 96, height: 96 })) {
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), n = 16;
  try {
    const { mask } = counted(source, { t: Math.min(values.t, 3), w: Math.min(values.w, 5), n });
    paint(ctx, { rows: n, cols: n, levels: mask, colours: ["--unseen", "--seen"], label: "", tell: () => "" }, 96, 96, colour);
  } catch { ctx.clearRect(0, 0, 96, 96); }
  return canvas;
}

/** @param {HTMLElement} at @param {State} state @param {import("../main.js").Tools} tools */
function mount(at, state, tools) {
  tools.style("patterns");
  const pictures = EXAMPLES.map(([, source]) => small(source, { t: 3, w: 4, n: 16 }));
  const examples = EXAMPLES.map(([name, source], i) => ({
    name, picture: () => pictures[i],
    set: (/** @type {Values} */ values) => ({ a: values.a.map((/** @type {string} */ one, /** @type {number} */ j) => (j === values.heada ? source : one)) }),
  }));
  tools.onTheme(() => EXAMPLES.forEach(([, source], i) => small(source, { t: 3, w: 4, n: 16 }, pictures[i])));

  const n = slider(state, "n", { label: "n", hint: "positions", min: 2, max: DRAWN, most: LONGEST });
  const t = slider(state, "t", { label: "t", min: 0, max: 64 }), w = slider(state, "w", { label: "w", min: 1, max: 64 });
  const views = segments(state, "view", { label: "Show", hidden: true, options: [["pairs", "Pairs"], ["tiles", "Tiles"], ["cache", "Cache"], ["ranks", "Ranks"]] });
  const tile = segments(state, "tile", { label: "Tile size", hidden: true, options: [[4, "4×4"], [8, "8×8"], [16, "16×16"], [32, "32×32"]] });
  const ranks = slider(state, "ranks", { label: "ranks", min: 1, max: 16 });
  const deal = select(state, "deal", { label: "dealt out", options: [["auto", "as balance wants"], ["even", "in equal stretches"], ["zigzag", "in a zigzag"], ["pairs", "by equal pairs"]] });
  const first = side("a", state, tools), second = side("b", state, tools);
  first.grid.onpoint = (row, col) => second.grid.point(row, col);
  second.grid.onpoint = (row, col) => first.grid.point(row, col);
  const both = h("div", { class: "sides" }, first.element, second.element);
  const choices = h("div", { class: "bar choices" }, views, tile, h("div", { class: "bar ranks" }, ranks, deal), toggle(state, "compare", { label: "Compare two" }));
  at.append(
    lede("Who may look at whom", "Each row is a query, each filled square a key that it sees. Drag, type, point: every number is counted, none is estimated.", copier("Copy link", tools.link)),
    gallery(state, examples, "Examples"), h("div", { class: "card controls" }, h("div", { class: "bar" }, n, t, w)), choices, both,
  );

  state.watch((values) => {
    const used = [values.a[values.heada], values.compare ? values.b[values.headb] : ""].join(" ");
    const letter = (/** @type {string} */ name) => new RegExp(`\\b${name}\\b`).test(used);
    t.classList.toggle("idle", !letter("t"));
    w.classList.toggle("idle", !letter("w"));
    tile.hidden = values.view !== "tiles" || values.n > DRAWN;
    /** @type {HTMLElement} */ (ranks.parentElement).hidden = values.view !== "ranks";
    second.element.hidden = !values.compare;
    both.classList.toggle("pair", values.compare);
    const shown = [first.count(values), values.compare ? second.count(values) : null];
    first.show(values, shown[1]);
    if (values.compare) second.show(values, shown[0]);
  });
  tools.onTheme(() => { first.redraw(); second.redraw(); });
  return () => { first.grid.close(); second.grid.close(); };
}

/** One pattern: its text, heads, picture and numbers. @param {"a" | "b"} name @param {State} state @param {import("../main.js").Tools} tools */
function side(name, state, tools) {
  const chosen = `head${name}`, grid = new Grid({ most: 620 });
  const field = text(state, name, { label: "pattern", code: true, most: 1000, hint: "& | ~ ( ) and the letters t, w, n, rows, cols", index: () => state.values[chosen] });
  const strip = h("div", { class: "heads", role: "group", "aria-label": "Heads" });
  const pairs = h("div", { class: "big", "data-read": `pairs-${name}` }), share = h("p", { class: "quiet", "data-read": `share-${name}` });
  const meter = h("i"), list = h("div"), formula = h("div", { class: "formula", "data-read": `formula-${name}`, "aria-live": "polite" });
  const legend = h("div", { class: "legend" }), more = h("div", { class: "extra" });
  const python = h("code", { class: "python" });
  const now = () => ({ values: state.values, source: state.values[name][state.values[chosen]] });
  const files = savers({
    PNG: () => { if (cells) savePng(`${fileName()}.png`, 1280, 1280, (ctx) => paint(ctx, /** @type {any} */ (cells), 1280, 1280, onPaper)); },
    SVG: () => { if (cells) save(`${fileName()}.svg`, svgOf(cells, onPaper, `${seen?.text}, n = ${state.values.n}`), "image/svg+xml"); },
    CSV: () => {
      if (seen && state.values.n > DRAWN && cells) saveCsv(`${fileName()}.csv`, Array.from({ length: cells.rows }, (_, i) => Array.from(/** @type {number[]} */ (cells?.levels).slice(i * (cells?.cols ?? 0), (i + 1) * (cells?.cols ?? 0)))));
      else if (seen) saveCsv(`${fileName()}.csv`, [["query", "keys", ...Array.from({ length: state.values.n }, (_, k) => `k${k}`)], ...seen.rows.map((count, q) => [q, count, .../** @type {Counted} */ (seen).mask.subarray(q * state.values.n, (q + 1) * state.values.n)])]);
    },
  });
  files.append(copier("Copy Python", () => python.textContent ?? ""));
  if (tools.has("costs")) files.append(h("button", { type: "button", class: "button", onclick: () => tools.go("costs", { pattern: seen?.text ?? "", n: state.values.n }) }, "Price it in Costs"));
  const fileName = () => `pattern-${name}`;
  const picture = h("div", { class: "look" }, grid.element, legend, more);
  const numbers = h("div", { class: "numbers stack" },
    h("div", {}, h("h3", {}, "pairs"), pairs, h("div", { class: "meter" }, meter), share), list,
    h("div", {}, h("h3", {}, "formula"), formula), h("div", {}, h("h3", {}, "in Python"), python), files);
  const element = h("section", { class: "card side", "aria-label": name === "a" ? "Pattern" : "Second pattern" }, field, strip, h("div", { class: "parts" }, picture, numbers));

  /** @type {Counted | null} */
  let seen = null;
  /** @type {import("../parts/grid.js").Cells | null} */
  let cells = null;
  let asked = "", formed = "", timer = 0, later = 0;

  function heads(/** @type {Values} */ values) {
    const many = values[name].length > 1, at = values[chosen];
    const set = (/** @type {string[]} */ list_, /** @type {number} */ head) => { state.set({ [name]: list_, [chosen]: head }); state.commit(); };
    field.label(many ? `pattern of head ${at + 1} of ${values[name].length}` : "pattern");
    strip.replaceChildren(
      ...(many ? values[name].map((/** @type {string} */ source, /** @type {number} */ i) =>
        h("button", { type: "button", class: "head", "aria-pressed": String(i === at), title: source, onclick: () => set(values[name], i) }, small(source, values), h("span", {}, `head ${i + 1}`))) : []),
      values[name].length < HEADS ? h("button", { type: "button", class: "button", onclick: () => set([...values[name], values[name][at]], values[name].length) }, many ? "+ head" : "Another head") : "",
      many ? h("button", { type: "button", class: "button", onclick: () => set(values[name].filter((/** @type {string} */ _, /** @type {number} */ i) => i !== at), Math.max(0, at - 1)) }, `Remove head ${at + 1}`) : "",
    );
  }

  /** The pattern now, or null with the reason said in its place. @param {Values} values */
  function count(values) {
    try {
      const found = counted(now().source, values);
      field.wrong(null);
      return found;
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      field.wrong(error.message);
      return null;
    }
  }

  /** @param {Values} values @param {Counted | null} other the pattern beside it */
  function show(values, other) {
    heads(values);
    seen = count(values);
    element.classList.toggle("stale", false);
    for (const part of [picture, numbers]) part.classList.toggle("stale", !seen);
    if (!seen) { tools.cancel(`count-${name}`); asked = ""; return; }
    python.textContent = `from regard.pattern import parse; parse("${seen.text}").pairs(${values.n})`;
    if (values.n <= DRAWN) drawn(values, seen, other);
    else long(values, seen.text);
    closed(seen.text);
  }

  /** @param {Values} values @param {Counted} found @param {Counted | null} other */
  function drawn(values, found, other) {
    tools.cancel(`count-${name}`);
    clearTimeout(timer);
    asked = "";
    const { n } = values, plan = values.view === "ranks" ? exchange(found.mask, found.rows, Math.min(values.ranks, n), values.deal) : null;
    const look = looks(values, found, other, plan);
    cells = { rows: n, cols: n, bars: found.rows, ...look.cells, label: `${found.text}, ${n} queries by ${n} keys` };
    grid.idle = "Point at a square, or press the arrow keys on the picture.";
    grid.element.hidden = false;
    grid.show(cells);
    legend.replaceChildren(...look.legend.map(([name_, words]) => h("span", {}, h("i", { style: { background: `var(${name_})` } }), words)));
    tell(values, BigInt(found.pairs), look.facts);
    more.replaceChildren(...extra(values, found, plan, (q) => grid.point(q ?? -1, q ?? -1)));
  }

  /** @param {Values} values @param {bigint} count_ @param {[string, string, string?][]} rows */
  function tell(values, count_, rows) {
    const all = BigInt(values.n) ** 2n, part = Number(count_) / Number(all);
    pairs.textContent = whole(count_);
    meter.style.width = `${100 * part}%`;
    share.title = part > 0 && part < 1e-6 ? `exactly ${whole(count_)} of ${whole(all)}, ${percent(part, true)}` : "";
    share.textContent = `${percent(part)} of n² = ${whole(all)}${part > 0 && part < 1 ? `, ${fewer(1 / part)}× fewer` : ""}`;
    const many = values[name].length, total = many > 1 && values.n <= DRAWN ? values[name].reduce((/** @type {number | null} */ sum, /** @type {string} */ source) => {
      try { return sum === null ? null : sum + counted(source, values).pairs; } catch { return null; }
    }, 0) : null;
    list.replaceChildren(facts([...(total === null ? [] : [/** @type {[string, string]} */ ([`all ${many} heads`, `${whole(total)} pairs`])]), ...rows]));
  }

  /** A length that is not drawn cell by cell: the server counts, which is soon done, and gives an overview, which may take too long. @param {Values} values @param {string} written */
  function long(values, written) {
    const question = [values.n, written, values.view, ...(values.view === "ranks" ? [values.ranks, values.deal] : [])].join(" ");
    if (question === asked) return;
    asked = question;
    picture.classList.add("stale");
    numbers.classList.add("stale");
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      /** @type {any} */
      let first = null;
      /** @type {(rows: [string, string, string?][]) => void} */
      const number = (rows) => {
        tell(values, BigInt(first.pairs), [...rows, ["keys kept decoding", first.kept === null ? "all of them" : `${whole(first.kept)} at most`], ["most keys of a query", whole(first.most)]]);
        numbers.classList.remove("stale");
      };
      try {
        first = await tools.ask("pairs", { pattern: written, n: values.n }, { key: `count-${name}`, at: picture });
        if (!first || asked !== question) return;
        number([]);
        const said = await tools.ask("count", { pattern: written, n: values.n }, { key: `count-${name}`, at: picture });
        if (asked !== question) return;
        if (!said) { without("The overview was cancelled."); return; }
        const side_ = said.states.length, { n } = values, size = said.size;
        const from = (/** @type {number} */ i) => `${whole(i * size)}…${whole(Math.min(n, (i + 1) * size) - 1)}`;
        cells = {
          rows: side_, cols: side_, bars: said.rows, levels: said.states.flatMap((/** @type {string} */ line) => [...line].map(Number)), colours: ["--unseen", "--half", "--seen"], label: `${written}, n = ${n}, by tiles of ${size}`,
          tell: (i, j) => `queries ${from(i)}, keys ${from(j)}: ${["no pair", "some pairs", "all pairs"][said.states[i][j]]}`,
        };
        grid.idle = `Each square stands for ${size}×${size} pairs.`;
        grid.element.hidden = false;
        grid.show(cells);
        legend.replaceChildren(...[["--seen", "all pairs"], ["--half", "some"], ["--unseen", "none"]].map(([one, words]) => h("span", {}, h("i", { style: { background: `var(${one})` } }), words)));
        const told = await further(values, written);
        if (asked !== question) return;
        more.replaceChildren(...told.nodes);
        number([...told.facts, [`tiles of ${size}×${size}`, `${whole(said.full)} full, ${whole(said.partial)} partial`, `${whole(said.tiles - said.full - said.partial)} empty`]]);
        picture.classList.remove("stale");
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        if (first && asked === question) { without(`The count is exact; only the overview is missing: ${why}`); return; }
        asked = "";
        field.wrong(why);
      }
    }, 150);
  }

  /** The picture where the overview did not come: what was there before is no answer. @param {string} why */
  function without(why) {
    cells = null;
    grid.element.hidden = true;
    legend.replaceChildren();
    more.replaceChildren(empty("No overview", why));
    picture.classList.remove("stale");
  }

  /** What the chosen view adds where cells are not drawn. @param {Values} values @param {string} written @returns {Promise<{nodes: Node[], facts: [string, string, string?][]}>} */
  async function further(values, written) {
    if (values.view === "cache") return { nodes: [h("p", { class: "quiet" }, `What is held step by step is drawn up to n = ${DRAWN}.`)], facts: [] };
    if (values.view !== "ranks") return { nodes: [], facts: [] };
    const plan = await tools.ask("exchange", { pattern: written, n: values.n, ranks: values.ranks, deal: values.deal }, { key: `exchange-${name}`, at: picture });
    if (!plan) return { nodes: [], facts: [] };
    const part = { held: plan.held, pairs: plan.pairs, received: plan.received, sent: plan.sent };
    return { nodes: [byRank(part)], facts: exchanged({ ...plan, ring: values.n * (values.ranks - 1) }) };
  }

  /** The formula, once nothing has changed for a moment. @param {string} written */
  function closed(written) {
    if (written === formed) return;
    formed = written;
    formula.classList.add("stale");
    clearTimeout(later);
    later = window.setTimeout(async () => {
      try {
        const said = await tools.ask("formula", { pattern: written }, { key: `formula-${name}`, at: formula });
        if (!said || formed !== written) return;
        formula.replaceChildren(...lines(said));
      } catch (error) {
        formed = "";
        formula.replaceChildren(h("p", { class: "quiet" }, error instanceof Error ? error.message : String(error)));
      }
      formula.classList.remove("stale");
    }, 250);
  }

  return { element, grid, show, count, redraw: () => { grid.draw(); heads(state.values); } };
}

/** How many times fewer, as `regard count` says it: to the unit, or with four digits. @param {number} times */
const fewer = (times) => (times < 1000 ? Number(times.toPrecision(4)) : Math.round(times)).toLocaleString("en");

/** @param {any} said */
function lines(said) {
  if (said.none) return [h("p", { class: "quiet" }, said.none)];
  const one = (/** @type {any} */ { cases, where }) => h("div", {},
    ...cases.map((/** @type {string[]} */ [value, when]) => h("p", {}, h("span", { class: "value" }, value), when && h("span", { class: "quiet" }, ` ${when}`))),
    ...where.map((/** @type {string} */ words) => h("p", { class: "quiet" }, words)));
  return [one(said), said.letters && h("div", { class: "letters" }, h("p", { class: "quiet" }, "in letters"), one(said.letters))].filter(Boolean);
}

/** @type {import("../main.js").Room} */
export default { title: "Patterns", defaults, clean, mount };
