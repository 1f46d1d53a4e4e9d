// @ts-check
/** What comes next: every token's chance, reshaped in the browser while one drags, and the token that is then added. */
import { h, whole } from "../parts/dom.js";
import { saveCsv, savers } from "../parts/exports.js";
import { slider } from "../parts/fields.js";
import { chances, ranked } from "../parts/sampling.js";
import { digits, share as nearly, visible } from "../parts/tensors.js";
import { tipped } from "../parts/tip.js";

const SHOWN = 12;

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {{logits: Float32Array, unedited: Float32Array | null, named: [number, string, boolean][], banned: number[], after: string}} Next */

/** @typedef {{text: string, chance: number, other: number, edited: boolean, was: string}} Likeliest */

/** @param {State} state @param {(token: number) => void} add */
export function chancesCard(state, add) {
  const title = h("h2", {}, "What comes next"), note = h("p", { class: "quiet", "data-read": "chances-note" });
  const bars = h("div", { class: "chances", role: "group", "aria-label": "The likeliest next tokens" });
  const rest = h("p", { class: "quiet", "data-read": "rest" });
  const temperature = slider(state, "temperature", { label: "temperature", min: 0, max: 2, step: 0.05 });
  const topk = slider(state, "topk", { label: "top-k", hint: "0: all", min: 0, max: 50, most: 1000 });
  const topp = slider(state, "topp", { label: "top-p", hint: "1: all", min: 0.05, max: 1, step: 0.05 });
  const draw = h("button", { type: "button", class: "button main" }, "Draw one and add it");
  const files = savers({ CSV: () => csv() });
  const element = h("section", { class: "card next", "aria-label": "What comes next" }, title, note, bars, rest, h("div", { class: "knobs" }, temperature, topk, topp), h("div", { class: "buttons" }, draw, ...files.children));
  /** @type {Next | null} */
  let next = null;
  /** @type {Uint32Array} */
  let order = new Uint32Array();
  let now = new Float64Array();
  const rows = Array.from({ length: SHOWN }, (_, i) => {
    const bar = h("i"), ghost = h("u"), text = h("span", { class: "mono" }), share = h("b", { class: "number" });
    const button = h("button", { type: "button", onclick: () => { if (next) add(order[i]); } }, text, h("span", { class: "track" }, bar, ghost), share);
    tipped(button, () => told(i));
    return { button, bar, ghost, text, share };
  });
  bars.append(...rows.map(({ button }) => button));
  /** @type {Map<number, [string, boolean]>} */
  let names = new Map();
  /** @type {number[]} the chance of each shown token without the edits or, where there are none, without the sliders */
  let other = [];

  /** @param {number} i */
  function told(i) {
    if (!next) return "";
    const [text, adds] = names.get(order[i]) ?? ["", false];
    return [`“${text}”`, `logit ${digits(next.logits[order[i]])}`, `chance ${digits(now[i])}`, `${next.unedited ? "with the mask unedited" : "as the model gives it"} ${digits(other[i])}`, adds ? "click to add it to the text" : "ends the text"].join("\n");
  }

  draw.addEventListener("click", () => {
    let left = Math.random(), i = 0;
    while (i < now.length - 1 && (left -= now[i]) >= 0) i++;
    while (i > 0 && !now[i]) i--;  // sums of rounded numbers may end short of 1
    add(order[i]);
  });

  /** @param {Next} given */
  function take(given) {
    next = given;
    names = new Map(given.named.map(([id, text, adds]) => [id, [text, adds]]));
    order = ranked(given.logits, given.banned);
    title.replaceChildren("What comes after ", h("span", { class: "mono" }, `“${visible(given.after)}”`));
    show(state.values);
  }

  /** @param {Values} values */
  function show(values) {
    if (!next) return;
    const { logits, unedited, banned } = next, how = { temperature: values.temperature, topk: values.topk, topp: values.topp };
    const plain = { temperature: 1, topk: 0, topp: 1 }, ranks = unedited ? ranked(unedited, banned) : order;
    now = chances(logits, order, how);
    const before = chances(unedited ?? logits, ranks, unedited ? how : plain), at = unedited ? new Map(Array.from(ranks, (id, i) => [id, i])) : null;
    other = Array.from({ length: SHOWN }, (_, i) => before[at ? at.get(order[i]) ?? 0 : i] ?? 0);
    const most = Math.max(now[0], ...other), changed = unedited !== null || how.temperature !== 1 || how.topk > 0 || how.topp < 1;
    rows.forEach(({ button, bar, ghost, text, share }, i) => {
      const [name, adds] = names.get(order[i]) ?? ["", false];
      button.hidden = i >= order.length;
      button.disabled = !adds;
      button.classList.toggle("cut", now[i] === 0);
      text.textContent = visible(name);
      bar.style.width = `${(100 * now[i]) / most}%`;
      ghost.hidden = !changed;
      ghost.style.left = `${(100 * other[i]) / most}%`;
      share.textContent = now[i] ? nearly(now[i]) : "cut";
    });
    let kept = 0, shown = 0;
    for (const one of now) kept += one > 0 ? 1 : 0;
    for (let i = 0; i < SHOWN; i++) shown += now[i] ?? 0;
    rest.textContent = `${whole(kept)} of ${whole(order.length)} tokens can come${kept > SHOWN ? `; those not shown together ${nearly(Math.max(0, 1 - shown))}` : ""}`;
    note.textContent = !changed ? `The softmax of the logits, as the model gives it${banned.length ? ", unknown words left out" : ""}. Click a token to add it.`
      : unedited ? "The line marks the chance with the mask unedited. Click a token to add it." : "The line marks the model's own chance. Click a token to add it.";
  }

  /** @returns {Likeliest | null} */
  function likeliest() {
    if (!next) return null;
    const was = next.unedited ? ranked(next.unedited, next.banned)[0] : order[0];
    return { text: names.get(order[0])?.[0] ?? "", chance: now[0], other: other[0], edited: next.unedited !== null, was: names.get(was)?.[0] ?? "another" };
  }

  function csv() {
    if (!next) return;
    saveCsv("next-token.csv", [["token", "text", "logit", "chance"], ...next.named.filter(([id]) => !next?.banned.includes(id)).map(([id, text], i) => [id, text, String(next?.logits[id]), String(now[i])])]);
  }

  return { element, take, show, busy: (/** @type {boolean} */ yes) => element.classList.toggle("stale", yes), likeliest };
}
