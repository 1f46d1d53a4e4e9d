// @ts-check
/** One model that writes: its text token by token, what else might have come, what each token looked at. */
import { h, percent, whole } from "../parts/dom.js";
import { text } from "../parts/fields.js";
import { empty, facts } from "../parts/table.js";
import { digits, share, unpack, visible } from "../parts/tensors.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../main.js").Tools} Tools */
/** @typedef {{id: number, label: string, text: string, given: boolean, chance: number, plain: number, others: [string, number][], bytes: number, seconds: number}} Token */

const SHOWN = 8, LOOKED = 8;

/**
 * @param {"a" | "b"} name @param {State} state @param {Tools} tools
 * @param {{model: HTMLElement, layers: () => [number, number]}} given `model`: the field that chooses it; `layers`: how many layers and heads its model has
 */
export function side(name, state, tools, { model, layers }) {
  const pattern = text(state, `pattern${name}`, { label: "pattern", code: true, most: 1000, hint: "empty: the model's own", placeholder: "strided(7)" });
  const said = h("div", { class: "said", tabindex: 0, role: "group", "aria-label": `What ${name === "a" ? "the model" : "the second model"} writes. Arrow keys go from token to token.`, "data-read": `said-${name}` });
  const status = h("p", { class: "quiet number", "data-read": `status-${name}` }), numbers = h("div", { "data-read": `facts-${name}` });
  const about = h("p", { class: "about", "aria-live": "polite", "data-read": `about-${name}` });
  const others = h("div", { class: "bars", "data-read": `others-${name}` }), looked = h("div", { class: "bars", "data-read": `looked-${name}` });
  const legend = h("p", { class: "quiet hint" }, "The more orange a token, the less likely it was. Point at one, or use the arrow keys.");
  const inspector = h("div", { class: "inspector" }, h("div", {}, h("h3", {}, "what might have come"), others), h("div", {}, h("h3", {}, "what it looked at"), looked));
  const element = h("section", { class: "card writer", "aria-label": name === "a" ? "The model" : "The second model" }, h("div", { class: "which2" }, model, pattern), said, legend, status, about, inspector, numbers);

  /** @type {Token[]} */
  let tokens = [];
  /** @type {HTMLElement[]} */
  let spans = [];
  let drawn = 0, frame = 0, at = -1, inspected = -1, over = "", notice = "", ended = false, version = 0;
  /** @type {Map<string, Promise<import("../parts/tensors.js").Matrix | null>>} */
  const seen = new Map();

  function begin() {
    element.classList.remove("blank");
    [tokens, spans, drawn, over, notice, ended] = [[], [], 0, "", "", false];
    version++;
    seen.clear();
    said.replaceChildren();
    point(-1);
    inspect(-1);
    numbers.replaceChildren();
    status.textContent = "";
  }

  /** @param {any} part */
  function take(part) {
    if (part.given) {
      notice = part.notice;
      for (const [id, label, words] of part.given) tokens.push({ id, label, text: words, given: true, chance: 1, plain: 1, others: [], bytes: 0, seconds: 0 });
    } else if (part.token) tokens.push({ id: part.token[0], label: part.token[1], text: part.token[2], given: false, chance: part.chance, plain: part.plain, others: part.others, bytes: part.bytes, seconds: part.seconds });
    else { over = part.over; ended = true; }
    frame ||= requestAnimationFrame(() => { frame = 0; draw(); });
  }

  const made = () => tokens.filter((one) => !one.given);
  const seconds = () => made().reduce((sum, one) => sum + one.seconds, 0);

  function draw() {
    for (; drawn < tokens.length; drawn++) {
      const one = tokens[drawn], span = h("span", { class: one.given ? "tok given" : "tok", "data-i": drawn }, one.text);
      if (!one.given) span.style.setProperty("--odd", `${Math.round(Math.min(36, -4 * Math.log2(Math.max(one.chance, 1e-9))))}%`);
      spans.push(span);
      said.append(span);
    }
    const count = made().length, took = seconds();
    status.textContent = [count ? `${whole(count)} tokens${took ? `, ${Math.round(count / took).toLocaleString("en")} a second` : ""}` : "", over, notice].filter(Boolean).join("; ");
    const last = tokens.at(-1);
    if (at < 0 && last && !last.given) inspect(tokens.length - 1);
    if (last && count) numbers.replaceChildren(facts([["cache holds", `${whole(last.bytes)} bytes`, `after ${whole(tokens.length - 1)} tokens that were read`], ["perplexity", surprise(), "how many tokens it wavered between on average, at temperature 1"]]));
  }

  /** The perplexity of what was written to the model as it is. */
  function surprise() {
    const all = made(), mean = all.reduce((sum, one) => sum + Math.log(Math.max(one.plain, 1e-30)), 0) / all.length;
    return String(Number(Math.exp(-mean).toPrecision(4)));
  }

  /** Point at a token; −1 leaves what was last said of one. @param {number} i */
  function point(i) {
    at = i;
    spans.forEach((span, j) => span.classList.toggle("now", j === i));
    said.classList.toggle("pointed", i >= 0);
    if (i >= 0) inspect(i);
  }

  /** Say of a token what else might have come and what it looked at. @param {number} i */
  function inspect(i) {
    const one = tokens[i];
    inspected = i;
    about.textContent = !one ? "" : one.given ? `“${visible(one.label)}” is part of the prompt.` : `“${visible(one.label)}” came with ${percent(one.chance)} (${digits(one.chance)}); the model itself gives it ${percent(one.plain)} (${digits(one.plain)}).`;
    others.replaceChildren(...rows(one ? one.others.slice(0, SHOWN).map(([label, chance]) => [label, chance, label === one.label]) : [], SHOWN));
    if (one) attend(i); else looked.replaceChildren(...rows([], LOOKED));
  }

  /** @param {number} i */
  async function attend(i) {
    if (!ended) { looked.replaceChildren(h("p", { class: "quiet" }, "Asked for when the text is finished."), ...rows([], LOOKED - 2)); return; }
    const [depth, count] = layers(), layer = Math.min(state.values.layer, depth), head = Math.min(state.values.head, count), key = `${layer} ${head}`, mine = version;
    if (!seen.has(key)) {
      const { [`model${name}`]: model_, [`pattern${name}`]: pattern_ } = state.values;
      seen.set(key, tools.ask("attention", { side: name, [`model${name}`]: model_, [`pattern${name}`]: pattern_, ids: tokens.map(({ id }) => id), layer, head }, { at: element, key: `attention-${name}` })
        .then((found) => { if (!found) seen.delete(key); return found && unpack(found.weights); }, () => { seen.delete(key); return null; }));
    }
    const weights = await seen.get(key);
    if (!weights || inspected !== i || mine !== version) return;
    const row = weights.values.subarray(i * weights.cols, (i + 1) * weights.cols), most = row.reduce((a, b) => Math.max(a, b), 0) || 1;
    spans.forEach((span, j) => span.style.setProperty("--w", `${Math.round(100 * Math.sqrt((row[j] ?? 0) / most))}%`));
    const best = Array.from(row, (_, j) => j).sort((a, b) => row[b] - row[a]).slice(0, LOOKED).filter((j) => row[j] > 0);
    looked.replaceChildren(...rows(best.map((j) => [`${tokens[j].label}`, row[j], j === i, j === i ? "itself" : `${i - j} back`]), LOOKED));
  }

  said.addEventListener("pointermove", (event) => aim(event));
  said.addEventListener("pointerdown", (event) => aim(event));
  said.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") point(-1); });
  said.addEventListener("blur", () => point(-1));
  said.addEventListener("keydown", (event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowUp: -10, ArrowRight: 1, ArrowDown: 10 })[event.key];
    if (event.key === "Escape") point(-1);
    if (!by || !tokens.length) return;
    event.preventDefault();
    point(at < 0 ? tokens.length - 1 : Math.min(tokens.length - 1, Math.max(0, at + by)));
  });
  function aim(/** @type {PointerEvent} */ event) {
    const span = /** @type {HTMLElement} */ (event.target).closest?.(".tok");
    const i = span ? Number(/** @type {HTMLElement} */ (span).dataset.i) : -1;
    if (i >= 0 && i !== at) point(i);
  }

  inspect(-1);
  return {
    element, pattern, begin, take, tokens: () => tokens, made, seconds,
    /** What stands where nothing was written. */
    blank() { element.classList.add("blank"); said.replaceChildren(empty("Nothing is written yet", "Press Write, or take an example: the text grows token by token, and each can be asked why it came.")); },
    stale: (/** @type {boolean} */ yes) => { for (const part of [said, legend, status, about, inspector, numbers]) part.classList.toggle("idle", yes); },
    stopped() { if (!ended) { over = "stopped"; ended = true; draw(); } },
    again: () => { if (inspected >= 0) inspect(inspected); },
    words: () => tokens.map((one) => one.text).join(""),
  };
}

/**
 * Bars with their numbers, and so many empty lines that nothing moves.
 * @param {[string, number, boolean, string?][]} found @param {number} count
 */
function rows(found, count) {
  const most = Math.max(...found.map(([, value]) => value), 1e-9);
  return Array.from({ length: count }, (_, i) => {
    if (!found[i]) return h("div", { class: "barline" }, "\u00a0");
    const [label, value, mark, more] = found[i];
    return h("div", { class: mark ? "barline mark" : "barline" }, h("span", { class: "mono" }, visible(label)), h("span", { class: "track" }, h("i", { style: { width: `${(100 * value) / most}%` } })), h("b", { class: "number" }, share(value)), more && h("small", {}, more));
  });
}
