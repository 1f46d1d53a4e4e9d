// @ts-check
/** One token: a small real model step by step, every number its own; edit its mask and see what comes next change. */
import { h } from "../parts/dom.js";
import { AskError } from "../parts/ask.js";
import { copier, saveCsv } from "../parts/exports.js";
import { text } from "../parts/fields.js";
import { gallery, lede } from "../parts/table.js";
import { unpack, visible } from "../parts/tensors.js";
import { chooser } from "../parts/writers.js";
import { attention } from "./token_attention.js";
import { chancesCard } from "./token_chances.js";
import { cleaned } from "./token_edits.js";
import { embedding, feedforward, heads, wayOut } from "./token_steps.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {import("../parts/tensors.js").Matrix} Matrix */
/**
 * @typedef {object} Reply what the server says of one token, layer and head
 * @property {{layers: number, heads: number, groups: number, width: number, head: number, vocab: number, position: string, turned: boolean, pattern: string, linear: boolean, scale: number | null, softcap: number | null, block: string, tied: boolean, norm: string, feedforward: string}} model
 * @property {string[]} tokens
 * @property {number} token
 * @property {string} notice
 * @property {Record<string, Matrix>} vectors
 * @property {{query: Matrix, key: Matrix, value: Matrix, mixture: Matrix, weights: Matrix, scores: Matrix | null, bias: Matrix | null, own: string[] | null, mask: string[] | null}} attention
 * @property {{first: number, data: string, does: number[][][]}} maps
 * @property {[string, number, number][]} lens
 * @property {Matrix} logits
 * @property {Matrix | null} unedited
 * @property {[number, string, boolean][]} named
 * @property {number[]} banned
 */

const TEXTS = ["ROMEO: I love", "To be, or not to be", "My lord, I will not", "Good morrow, good", "KING: Give me the", "O Romeo, Romeo!"];
const defaults = { model: "", text: TEXTS[0], layer: 1, head: 1, token: -1, edits: [], temperature: 1, topk: 0, topp: 1 };
const ASKED = ["model", "text", "layer", "head", "token", "edits"];
const TYPING = 250, KEPT = 24;

/** @param {Values} values */
function clean(values) {
  const within = (/** @type {string} */ key, /** @type {number} */ least, /** @type {number} */ most) => Math.min(most, Math.max(least, Number.isFinite(values[key]) ? values[key] : least));
  return {
    ...values, text: values.text.slice(0, 4000), layer: Math.round(within("layer", 1, 999)), head: Math.round(within("head", 1, 999)), token: Math.round(within("token", -1, 999)),
    edits: cleaned(values.edits), temperature: within("temperature", 0, 2), topk: Math.round(within("topk", 0, 1000)), topp: within("topp", 0.05, 1),
  };
}

/** @param {any} said @returns {Reply} */
function unpacked(said) {
  const all = (/** @type {any} */ part) => Object.fromEntries(Object.entries(part).map(([name, one]) => [name, one && one.data ? unpack(one) : one]));
  return { ...said, vectors: all(said.vectors), attention: all(said.attention), logits: unpack(said.logits), unedited: said.unedited && unpack(said.unedited) };
}

/** @param {HTMLElement} at @param {State} state @param {import("../main.js").Tools} tools */
function mount(at, state, tools) {
  tools.style("one_token");
  const examples = TEXTS.map((one) => ({ name: one, set: () => ({ text: one, token: -1 }) }));
  const field = text(state, "text", { label: "text", hint: "up to 48 tokens", most: 4000 });
  const model = h("div", { class: "which" }), chips = h("div", { class: "chips", role: "group", "aria-label": "Tokens: choose the one to follow" });
  const notice = h("p", { class: "quiet", "data-read": "notice" });
  const unfit = h("div", { class: "unfit", "data-read": "unfit" }); // what is wrong with the edits
  const first = embedding(), board = heads(state), head = attention(state, shade), feed = feedforward(), last = wayOut();
  const card = chancesCard(state, add);
  const flow = h("div", { class: "flow", hidden: true }, h("div", { class: "steps" }, first.element, board.element, ...head.stages, feed.element, last.element), h("aside", {}, card.element));
  const write = h("button", { type: "button", class: "button", onclick: () => tools.go("language", { modela: state.values.model, prompt: state.values.text }) }, "Let it write on");
  const right = [h("button", { type: "button", class: "button", onclick: csv }, "All numbers as CSV"), ...(tools.has("language") ? [write] : []), copier("Copy link", tools.link)];
  const start = h("div", { class: "card waiting" }, h("p", { class: "quiet" }, "Loading the models …"));
  at.append(lede("What happens to one token", "A small model that really runs: follow a token through it, number by number, and change what it may look at.", ...right), gallery(state, examples, "Texts to begin with"), start);

  /** @type {Reply | null} */
  let reply = null;
  /** @type {Map<string, Reply>} */
  const kept = new Map();
  let asked = "", timer = 0, asking = false;

  const question = () => JSON.stringify(Object.fromEntries(ASKED.map((key) => [key, state.values[key]])));

  /** Whether two questions differ in their edits alone, so that a drag is seen while it goes on. @param {string} a @param {string} b */
  const alike = (a, b) => JSON.stringify({ ...JSON.parse(a), edits: [] }) === JSON.stringify({ ...JSON.parse(b), edits: [] });

  /** Ask for what the state says unless it is known; while an answer is awaited, the newest question waits. */
  async function ask() {
    clearTimeout(timer);
    const now = question(), known = kept.get(now);
    if (known) { asked = now; show(known); return; }
    if (now === asked && reply) { settled(); return; }
    if (asking) return;
    asking = true;
    start.hidden = false;
    try {
      const said = await tools.ask("step", JSON.parse(now), { at: reply ? flow : start });
      if (said) {
        const found = unpacked(said);
        if (kept.size >= KEPT) kept.delete(/** @type {string} */ (kept.keys().next().value));
        kept.set(now, found);
        asked = now;
        if (question() === now || alike(question(), now)) show(found);
      } else if (question() === now && !tools.ended.aborted) { asked = ""; start.hidden = true; notice.textContent = "Cancelled: what is greyed is of another question. Change anything to ask again."; }
    } catch (error) {
      asked = "";
      if (question() === now) fault(error);
    } finally { asking = false; }
    if (question() !== now && !tools.ended.aborted) ask();
  }

  /** @param {unknown} error */
  function fault(error) {
    if (error instanceof AskError && error.field === "token" && state.values.token !== -1) { state.set({ token: -1 }); return; }
    const says = error instanceof Error ? error.message : String(error), ofEdits = error instanceof AskError && error.field === "edits";
    field.wrong(ofEdits ? null : says);
    const drop = h("button", { type: "button", class: "button", onclick: () => { state.set({ edits: [] }); state.commit(); } }, "Leave the masks as they are");
    unfit.replaceChildren(...(ofEdits ? [h("span", { role: "alert" }, `The masks cannot be edited like this: ${says}.`), drop] : []));
    if (!reply) start.hidden = true;
  }

  const settled = () => { flow.classList.remove("waits"); card.busy(false); };

  /** @param {Reply} found */
  function show(found) {
    if (!reply) { start.remove(); flow.hidden = false; }
    reply = found;
    field.wrong(null);
    unfit.replaceChildren();
    notice.textContent = found.notice;
    const { tokens, token } = found;
    if (chips.children.length !== tokens.length) chips.replaceChildren(...tokens.map((_, i) => h("button", { type: "button", class: "chip mono", onpointerenter: () => head.point(i, -1), onpointerleave: () => head.point(-1, -1), onclick: () => { state.set({ token: i }); state.commit(); } })));
    [...chips.children].forEach((chip, i) => { chip.textContent = visible(tokens[i]); chip.setAttribute("aria-pressed", String(i === token)); });
    for (const part of [first, board, head, feed, last]) part.show(found);
    card.take({ logits: found.logits.values, unedited: found.unedited?.values ?? null, named: found.named, banned: found.banned, after: tokens[token] });
    head.next(card.likeliest(), tokens[token]);
    if (question() === asked) settled();
    tools.say(`${tokens.length} tokens. The likeliest next one is ${found.named[0][1]}.`);
  }

  /** Every chip as dark as the row looks at it. @param {number} row */
  function shade(row) {
    if (!reply) return;
    const { weights } = reply.attention;
    [...chips.children].forEach((chip, i) => {
      /** @type {HTMLElement} */ (chip).style.setProperty("--w", `${Math.round(100 * Math.sqrt(weights.values[row * weights.rows + i]))}%`);
      chip.classList.toggle("from", i === row);
    });
  }

  /** @param {number} token */
  async function add(token) {
    try {
      const before = state.values.text, said = await tools.ask("append", { model: state.values.model, text: before, token }, { at: card.element });
      if (!said || state.values.text !== before) return;
      state.set({ text: said.text, token: -1 });
      state.commit();
    } catch (error) { field.wrong(error instanceof Error ? error.message : String(error)); }
  }

  function csv() {
    if (!reply) return;
    const { vectors, attention: a, tokens } = reply;
    const rows = Object.entries(vectors).flatMap(([name, { values }]) => Array.from(values, (value, i) => [name, "", i, String(value)]));
    for (const name of /** @type {const} */ (["query", "key", "value", "mixture"])) a[name].values.forEach((value, i) => rows.push([name, tokens[Math.floor(i / a[name].cols)], i % a[name].cols, String(value)]));
    saveCsv("token.csv", [["what", "token", "component", "value"], ...rows]);
  }

  chooser(state, tools, { room: "token", keys: [["model", "model"]], at: start }).then((found) => {
    if (!found) return;
    model.append(...found.fields);
    start.before(h("div", { class: "card controls" }, h("div", { class: "bar" }, model, h("div", { class: "grow" }, field)), h("div", { class: "label" }, h("b", {}, "tokens"), h("span", { class: "quiet" }, "click one to follow it; the stronger its colour, the more it is looked at")), chips, notice, unfit));
    start.after(flow);
    let typed = state.values.text;
    state.watch((values, changed) => {
      found.settle();
      if (values.temperature !== undefined && ["temperature", "topk", "topp"].some((key) => changed.has(key))) { card.show(values); head.next(card.likeliest(), reply?.tokens[reply.token] ?? ""); }
      if (!ASKED.some((key) => changed.has(key))) return;
      const sizes = found.of(values.model);
      if (sizes && (values.layer > sizes.layers || values.head > sizes.heads)) { state.set({ layer: Math.min(values.layer, sizes.layers), head: Math.min(values.head, sizes.heads) }); return; }
      if (changed.has("model") && reply && values.edits.length && changed.size === 1) { state.set({ edits: [] }); return; }
      if (changed.has("edits")) head.draw();
      flow.classList.add("waits");
      card.busy(true);
      clearTimeout(timer);
      if (values.text !== typed && document.activeElement instanceof HTMLInputElement) timer = window.setTimeout(ask, TYPING); else ask();
      typed = values.text;
    });
  });
  tools.onTheme(() => { for (const part of [first, board, head, feed, last]) part.redraw(); });
  return () => head.close();
}

/** @type {import("../main.js").Room} */
export default { title: "One token", defaults, clean, mount };
