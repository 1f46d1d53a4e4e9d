// @ts-check
/** The ways to look at a price: a picture and a tree of its parts, curves, formulas, all counts, what ranks exchange. */
import { curves } from "../parts/curves.js";
import { h, percent, s, whole } from "../parts/dom.js";
import { facts, table } from "../parts/table.js";
import { tip, tipped, untip } from "../parts/tip.js";

/** @typedef {import("./costs_side.js").Price} Price */
/** @typedef {import("./costs_side.js").Part} Part */
/** @typedef {import("../parts/state.js").Values} Values */

/** What is counted, in the order in which the server lists it for each part. @type {[string, string][]} */
export const COUNTS = [
  ["flops", "flops"], ["parameters", "parameters"], ["weight_bytes", "bytes of weights"], ["cache_bytes", "bytes of cache"], ["moved_bytes", "bytes moved at least"],
  ["activation_bytes", "bytes of activations (estimate)"], ["pairs", "pairs of attention"], ["depth", "steps in sequence"],
];
const WIDEST = "activation_bytes"; // of parts that follow each other the widest counts, so that shares say nothing

/** A whole number of any size with commas. @param {string} value */
export const exact = (value) => whole(BigInt(value));

/** The same as a line that breaks after commas only, never inside a group of digits. @param {string} value */
export const groups = (value) => exact(value).split(/(?<=,)/).flatMap((one, i) => (i ? [h("wbr"), one] : [one]));

/** In place of what was cancelled. @param {() => void} again */
export const cancelled = (again) => h("div", { class: "empty" }, h("b", {}, "Cancelled"), h("div", {}, h("button", { type: "button", class: "button", onclick: again }, "Ask again")));

/** How many times the second number the first is. @param {string} a @param {string} b */
export function times(a, b) {
  if (b === "0") return "";
  return `${(Number(a) / Number(b)).toLocaleString("en", { maximumSignificantDigits: 3 })}×`;
}

/** A name that is the same in a model of another depth. @param {string} name */
const plain = (name) => name.replace(/ ×\d+/, "");

/** A little picture of a model: its layers, wide as it is. @param {number} depth @param {number} width @param {string} colour */
export function glyph(depth, width, colour) {
  const count = Math.max(1, Math.round(Math.log2(depth) * 1.6)), high = 40 / count;
  return s("svg", { viewBox: "0 0 48 48", "aria-hidden": "true" }, ...Array.from({ length: count }, (_, i) =>
    s("rect", { x: 24 - 22 * width, y: 4 + i * high, width: 44 * width, height: Math.max(1.5, high - 2), rx: 1.5, style: { fill: `var(${colour})` } })));
}

/** Which colour a part has, and that of the words in it. @param {string} path @returns {[string, string]} */
const inks = (path) => (/attention|\bmix|qkv/.test(path) ? ["--accent", "--on-accent"] : /feedforward|\bup\b|\bdown\b/.test(path) ? ["--third", "--on-accent"] : ["--wasted", "--ink"]);

/** All numbers of a part. @param {Part} part @param {Part} all @param {number} at */
const tell = (part, all, at) => [part.name, ...COUNTS.map(([, words], i) => (part.values[i] === "0" ? "" : `${words}: ${exact(part.values[i])}${i === at && COUNTS[i][0] !== WIDEST && all.values[at] !== "0" ? `, ${percent(share(part, all, at), true)}` : ""}`)).filter(Boolean)].join("\n");

/** @param {Part} part @param {Part} all @param {number} at */
const share = (part, all, at) => (all.values[at] === "0" ? 0 : Number(part.values[at]) / Number(all.values[at]));

/** Parts as stripes, those inside below: as wide as their share. @param {Price} price @param {string} count @param {(path: string) => void} turn */
export function flame(price, count, turn) {
  const at = COUNTS.findIndex(([key]) => key === count), all = price.tree, high = 30, box = h("div", { class: "flame" });
  let wide = 0;
  /** @type {Map<string, SVGElement>} */
  const stripes = new Map();
  const draw = () => {
    const picture = s("svg", { viewBox: `0 0 ${wide} ${3 * high}`, width: wide, height: 3 * high, "aria-hidden": "true" });
    stripes.clear();
    /** @param {Part[]} parts @param {string} above @param {number} level @param {number} from */
    const row = (parts, above, level, from) => {
      for (const part of parts) {
        const path = above + plain(part.name), size = share(part, all, at) * wide, [ground, ink] = inks(path);
        if (size >= 0.5) {
          const stripe = s("rect", { x: from + 0.5, y: level * high + 1, width: Math.max(0.5, size - 1), height: high - 2, rx: 3, style: { fill: `var(${ground})` } });
          stripe.addEventListener("pointermove", (event) => tip(tell(part, all, at), /** @type {PointerEvent} */ (event).clientX, /** @type {PointerEvent} */ (event).clientY));
          stripe.addEventListener("pointerenter", () => point(path));
          stripe.addEventListener("pointerleave", () => { untip(); point(""); });
          if (part.parts.length) { stripe.addEventListener("click", () => turn(path)); stripe.classList.add("opens"); }
          stripes.set(path, stripe);
          const fits = Math.floor((size - 12) / 7);
          picture.append(stripe, ...(fits > 3 ? [s("text", { x: from + 7, y: level * high + 19, style: { fill: `var(${ink})` } }, part.name.length > fits ? `${part.name.slice(0, fits - 1)}…` : part.name)] : []));
          if (level < 2) row(part.parts, `${path}/`, level + 1, from);
        }
        from += size;
      }
    };
    row(all.parts, "", 0, 0);
    box.replaceChildren(picture);
  };
  const useful = all.parts.length > 0 && all.values[at] !== "0" && count !== WIDEST;
  box.hidden = !useful;
  if (useful) new ResizeObserver(() => { const now = Math.round(box.clientWidth); if (now && now !== wide) { wide = now; draw(); } }).observe(box);
  /** Show where a part is, in the picture and in the tree. @param {string} path */
  function point(path) {
    stripes.forEach((one, name) => one.classList.toggle("lit", name === path));
    box.closest(".view")?.querySelectorAll("tr[data-path]").forEach((one) => one.classList.toggle("lit", /** @type {HTMLElement} */ (one).dataset.path === path));
  }
  const legend = h("div", { class: "legend" }, ...[["--accent", "attention"], ["--third", "feed-forward"], ["--wasted", "the rest"]].map(([one, words]) => h("span", {}, h("i", { style: { background: `var(${one})` } }), words)));
  legend.hidden = !useful;
  return { element: h("div", { class: "flames" }, box, legend), svg: () => /** @type {SVGElement} */ (box.querySelector("svg")), point };
}

/**
 * The parts in a table whose rows open.
 * @param {Price} price @param {string} count @param {string[]} open @param {(path: string) => void} turn @param {(path: string) => void} point
 */
export function tree(price, count, open, turn, point) {
  const at = COUNTS.findIndex(([key]) => key === count), all = price.tree;
  /** @type {HTMLElement[]} */
  const out = [];
  /** @param {Part} part @param {string} path @param {number} level */
  const row = (part, path, level) => {
    const shown = open.includes(path), more = part.parts.length > 0, part_ = share(part, all, at);
    const name = more && level ? h("button", { type: "button", class: "turn", "aria-expanded": String(shown), onclick: () => turn(path), "data-turn": path }, part.name) : h("span", { class: "leaf" }, level ? part.name : "all");
    const node = h("tr", { "data-path": path, tabindex: -1 },
      h("th", { scope: "row", style: { "padding-left": `${Math.max(0, level - 1) * 1.2}rem` } }, name), h("td", {}, exact(part.values[at])),
      h("td", { class: "share" }, ...(count === WIDEST ? [] : [percent(part_), h("i", { style: { width: `${100 * part_}%` } })])));
    tipped(node, () => tell(part, all, at));
    node.addEventListener("pointerenter", () => point(path));
    node.addEventListener("pointerleave", () => point(""));
    out.push(node);
    if (!level || shown) for (const one of part.parts) row(one, `${path && `${path}/`}${plain(one.name)}`, level + 1);
  };
  row(all, "", 0);
  const body = h("tbody", {}, ...out);
  body.addEventListener("keydown", (event) => {
    const now = /** @type {HTMLElement} */ (event.target).closest("tr"), i = out.findIndex((one) => one === now);
    if (i < 0) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      out[Math.min(out.length - 1, Math.max(0, i + (event.key === "ArrowDown" ? 1 : -1)))].focus();
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const button = now?.querySelector("button");
      if (button && (button.getAttribute("aria-expanded") === "true") === (event.key === "ArrowLeft")) { event.preventDefault(); turn(/** @type {HTMLElement} */ (now).dataset.path ?? ""); }
    }
  });
  out[0].tabIndex = 0;
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Parts" }, h("table", { class: "tree" },
    h("thead", {}, h("tr", {}, ...["part", COUNTS[at][1], count === WIDEST ? "" : "share"].map((one) => h("th", { scope: "col" }, one || h("span", { class: "unseen" }, "no share"))))), body));
}

/**
 * The curves, in words where one overtakes another, and what has none.
 * @param {any} said @param {Values} values @param {Record<string, string>[]} names @param {string[]} titles @param {(n: number) => void} choose
 */
export function drawCurves(said, values, names, titles, choose) {
  const words = COUNTS.find(([key]) => key === values.count)?.[1] ?? "", each = values.per && said.x === "n";
  const named = (/** @type {number} */ i, /** @type {string} */ source) => (values.compare ? titles[i] : names[i][source] || titles[i]);
  const told = said.told.map((/** @type {any} */ [i, why]) => h("p", { class: "quiet" }, `${titles[i]}: ${why}`));
  if (!said.series.length) return [h("div", { class: "empty" }, h("b", {}, "Nothing grows here"), ...told)];
  /** @type {number | null} */
  let here = null;
  const series = said.series.map((/** @type {any} */ [i, source, points]) => ({
    name: named(i, source),
    points: points.map((/** @type {[number, string]} */ [x, y]) => [x, each ? Number(y) / x : Number(y), each ? `${Number((Number(y) / x).toPrecision(12)).toLocaleString("en")} a token` : exact(y)]).filter((/** @type {[number, number]} */ [, y]) => y > 0 || !values.log),
  })).filter((/** @type {any} */ one) => one.points.length);
  if (!series.length) return [h("div", { class: "empty" }, h("b", {}, `No ${words} at any length`), "Count something else, or ask for another kind of work.")];
  const label = said.x === "n" ? "n" : "rows = cols";
  const picture = curves({ series, x: { label, log: values.log }, y: { label: each ? `${words} per token` : words, log: values.log }, height: 360, label: `${words} against ${label}`, onpoint: (x) => { here = x ?? here; } });
  if (said.x === "n") {
    picture.classList.add("choosing");
    picture.addEventListener("click", () => { if (here !== null) choose(here); });
    picture.addEventListener("keydown", (event) => { if (event.key === "Enter" && here !== null) choose(here); });
  }
  /** @type {Map<string, string[]>} */
  const overtaken = new Map();
  const spoken = (/** @type {string} */ key) => named(Number(key[0]), key.slice(2));
  for (const [n, cheaper, dearer] of said.crossings) overtaken.set(`${n} ${cheaper}`, [...(overtaken.get(`${n} ${cheaper}`) ?? []), spoken(dearer)]);
  const crossings = [...overtaken].map(([key, over]) => { const [n] = key.split(" ", 1); return h("li", {}, `from ${label} = ${whole(Number(n))} on, ${spoken(key.slice(n.length + 1))} takes less than ${over.join(" and ")}`); });
  return [picture, said.x === "n" ? h("p", { class: "quiet" }, "Click a place of the curves, or press Enter there, to price that n.") : "", crossings.length ? h("ul", { class: "crossings", "data-read": "crossings" }, ...crossings) : series.length > 1 ? h("p", { class: "quiet", "data-read": "crossings" }, "No curve overtakes another in this range.") : "", ...told].filter(Boolean);
}

/** Every count of one model, or of two with how many times the one is the other. @param {Price[]} prices @param {string[]} names */
export function countsTable(prices, names) {
  const fields = [...new Map(prices.flatMap((one) => one.counts.map(([field, name]) => /** @type {[string, string]} */ ([field, name]))))];
  const value = (/** @type {Price} */ price, /** @type {string} */ field) => price.counts.find(([one]) => one === field);
  const two = prices.length > 1;
  return table(["count", ...names.flatMap((one) => (two ? [one] : [one, "about"])), ...(two ? ["first / second"] : [])], fields.map(([field, name]) => {
    const found = prices.map((one) => value(one, field));
    const cells = found.flatMap((one) => [one ? exact(one[2]) : "–", ...(two ? [] : [one?.[3] ?? ""])]);
    return [name, ...cells, ...(two ? [found[0] && found[1] ? times(found[0][2], found[1][2]) : ""] : [])];
  }), "All counts");
}

/** Formulas with a button for each letter. @param {any} said @param {string} count @param {(letter: string) => void} choose */
export function formulas(said, count, choose) {
  const first = { flops: "flops", parameters: "parameters", weight_bytes: "weight bytes", cache_bytes: "cache bytes", moved_bytes: "bytes moved at least", activation_bytes: "activation bytes (estimate)", pairs: "pairs", depth: "depth, steps in sequence" };
  const chosen = /** @type {Record<string, string>} */ (first)[count];
  const rows = [...said.rows].sort((a, b) => Number(b[0] === chosen) - Number(a[0] === chosen));
  return [
    h("div", { class: "letters", role: "group", "aria-label": "Letters left open" }, h("span", { class: "quiet" }, "left open:"), ...said.letters.map((/** @type {string[]} */ [letter, field]) => {
      const on = said.chosen.includes(letter);
      return h("button", { type: "button", class: "letter", "aria-pressed": String(on), "data-letter": letter, onclick: () => choose(letter) }, letter === field ? letter : h("b", {}, letter), letter === field ? "" : ` ${field.replaceAll("_", " ")}`);
    })),
    ...said.notices.map((/** @type {string} */ one) => h("p", { class: "quiet" }, one)),
    h("dl", { class: "formulas" }, ...rows.flatMap(([name, words, order]) => [h("dt", {}, name), h("dd", { class: name === chosen ? "chosen" : "", "data-formula": name }, ...cases(words), order && h("small", {}, order))])),
  ];
}

/** One line for each case of a formula. @param {string} words */
function cases(words) {
  const parts = words.split(/, (?=[^()]*(?:\([^()]*\)[^()]*)*$)/);
  return parts.map((one) => h("p", {}, one));
}

/** What ranks exchange. @param {any} said */
export function ranksTable(said) {
  const deals = /** @type {Record<string, string>} */ ({ even: "in equal stretches", zigzag: "in a zigzag", pairs: "by equal pairs" });
  return [
    h("p", {}, h("b", { "data-read": "exchanged" }, exact(said.bytes)), ` bytes are exchanged${said.about ? `, about ${said.about}` : ""}.`),
    said.layers.length
      ? facts(said.layers.map((/** @type {any} */ one) => [`${one.layers === 1 ? "1 layer" : `${whole(one.layers)} layers`}, ${one.pattern}`, `${whole(one.keys)} keys each`,
        `${percent(one.share_of_ring)} of a ring; dealt ${deals[one.deal] ?? one.deal}, the busiest rank computes ${one.imbalance.toFixed(3)}× the mean`]))
      : h("p", { class: "quiet" }, "Layer by layer this is listed for models of Regard’s own."),
  ];
}

