// @ts-check
/** Sentiment: a verdict while one types, the words behind it, and the smallest edits found that turn it. */
import { h, percent, whole } from "../parts/dom.js";
import { copier, save, saveCsv, savePng, savers } from "../parts/exports.js";
import { segments, select, text as textField } from "../parts/fields.js";
import { empty, failed, lede } from "../parts/table.js";
import { coloured, edited, leftOut, shares, signed, told, verdictBox, wordsOf, wordTable } from "./sentiment_views.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */

const PAUSE = 250; // milliseconds without typing until the model is asked
const LISTED = 12, MOST = 4000, HELD = 100_000; // edits shown; characters that are read, and that the address holds
const EXAMPLES = [
  ["Against expectation", "I expected little, and got a wonderful film."], ["A turn at the end", "It starts well, but the ending is awful."], ["Plain praise", "A warm, funny film, and the best thing I saw all year."],
  ["Litotes", "The film is not without charm."], ["Negation", "There is not one dull minute in it."], ["A comparison", "The remake puts the original to shame."], ["Guarded", "I suppose it has flaws; I did not notice them."],
];
const defaults = { model: "", text: EXAMPLES[0][1], by: "without", flip: 0 };

/** @param {Values} values */
const clean = (values) => ({ ...values, text: values.text.slice(0, HELD), by: ["without", "attention", "gradient"].includes(values.by) ? values.by : "without", flip: Math.trunc(values.flip) || 0 });

/** A number for a text, by which the address says that its edits were searched. @param {string} text */
function hashed(text) {
  let out = 7;
  for (const one of text) out = (out * 31 + /** @type {number} */ (one.codePointAt(0))) % 1_000_003;
  return out + 1;
}

/** @param {HTMLElement} at @param {State} state @param {import("../main.js").Tools} tools */
function mount(at, state, tools) {
  tools.style("sentiment");
  const body = h("div", { class: "stack sentiment" }, h("div", { class: "card waiting" }, "Opening the models …"));
  at.append(lede("Praise or blame", "Type a review: the verdict follows. Colours tell which words brought it, numbers by how much, and a search what would turn it.", copier("Copy link", tools.link)), body);
  let stop = () => {};
  tools.askOf("shell", "models", {}, { at: /** @type {HTMLElement} */ (body.firstChild) }).then((said) => {
    if (!said) { if (!tools.ended.aborted) body.replaceChildren(empty("Not loaded", "The list of models was cancelled: reload the page to ask again.")); return; }
    const names = said.models.filter((/** @type {any} */ one) => one.kind === "sentiment").map((/** @type {any} */ one) => one.name);
    if (names.length) stop = filled(body, state, tools, names);
    else body.replaceChildren(empty("No model for texts is here", "Make one in about a minute, then start the studio with it.", "regard train verdicts-encoder --out runs/verdicts-encoder && regard studio --run runs/verdicts-encoder"));
  }, (error) => body.replaceChildren(failed(error)));
  return () => stop();
}

/** @param {HTMLElement} body @param {State} state @param {import("../main.js").Tools} tools @param {string[]} names */
function filled(body, state, tools, names) {
  const first = names[0].startsWith("zoo:") && names.includes("zoo:sentiment") ? "zoo:sentiment" : names[0], now = () => state.values.model || first;
  /** @type {Map<string, any>} */
  const infos = new Map();
  /** @type {Map<string, {said: any, left: any[], count: number, none: string, slope: any}>} */
  const known = new Map(); // by model and text
  let current = "", refused = "", timer = 0, searched = 0, pointed = -1;
  /** @type {import("./sentiment_views.js").Word[]} */
  let words = [];

  const model = select(state, "model", { label: "model", options: names.map((one) => [one, one]) }), record = h("p", { class: "quiet record", "data-read": "record" });
  const field = textField(state, "text", { label: "text", lines: 3, most: HELD }), count = h("p", { class: "quiet note", "data-read": "count" });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Examples" }, ...EXAMPLES.map(([name, one]) => h("button", { type: "button", class: "button", "data-example": one, onclick: () => { state.set({ text: one }); state.commit(); } }, name)));
  const verdict = h("section", { class: "card verdict stack", "aria-label": "Verdict" });
  const text = coloured((i) => point(i)), readout = h("p", { class: "readout", "aria-live": "polite" }), legend = h("div", { class: "legend" }), quiet = h("p", { class: "quiet note" });
  const by = segments(state, "by", { label: "Colour by", hidden: true, options: [["without", "Left out"], ["attention", "Attention"], ["gradient", "Gradient"]] });
  const files = savers({ PNG: () => picture(), SVG: () => drawing(), CSV: () => csv() });
  files.append(copier("Copy Python", () => `from regard.train import open_run; open_run(${JSON.stringify(now())}).explain([${JSON.stringify(state.values.text)}])`));
  const reading = h("section", { class: "card reading", "aria-label": "Words" }, by, text.element, legend, readout, quiet, files);
  const rows = h("div", { class: "left-rows" }), progress = h("p", { class: "quiet note", "data-read": "progress" }), every = h("details", {}, h("summary", {}, "Every word with its numbers"));
  const leaving = h("section", { class: "card leaving stack", "aria-label": "Without each word" }, h("div", {}, h("h2", {}, "Without each word"), h("p", { class: "quiet" }, "How many points of the verdict's probability each word brings: the text is read again without it. Exact.")), rows, progress, every);
  const start = h("button", { type: "button", class: "button main", onclick: () => { state.set({ flip: hashed(`${now()} ${state.values.text}`) }); state.commit(); } }, "Search");
  const list = h("div", { class: "flips" }), tried = h("p", { class: "quiet note", "data-read": "tried" });
  const flipping = h("section", { class: "card flipping stack", "aria-label": "Edits that turn the verdict" }, h("div", { class: "bar" }, h("div", { class: "grow" }, h("h2", {}, "What would turn it"), h("p", { class: "quiet" }, "Words are left out, put into their opposite, negated, or exchanged for what the gradient suggests. Each is tried on the model.")), start), list, tried);
  const nothing = h("section", { class: "nothing", "aria-live": "polite" }), results = h("div", { class: "stack" }, h("div", { class: "pair" }, verdict, reading), h("div", { class: "pair even" }, leaving, flipping));
  body.replaceChildren(h("div", { class: "card controls stack" }, h("div", { class: "bar" }, model, record), field, h("div", { class: "under" }, chips, count)), nothing, results);

  /** @param {Values} values */
  const name = (values) => JSON.stringify([now(), values.text]);
  const stale = (/** @type {boolean} */ on) => { for (const part of [verdict, reading, leaving]) part.classList.toggle("stale", on); };

  /** @param {Values} values */
  function show(values) {
    /** @type {HTMLSelectElement} */ (model.querySelector("select")).value = now();
    chips.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.example === values.text)));
    clearTimeout(timer);
    const wanted = name(values), blank = !values.text.trim(), there = names.includes(now());
    model.wrong(there ? null : `no model for sentiment is called ${now().slice(0, 60)}`);
    const length = [...values.text].length, long = length > MOST;
    if (long || blank || !there) refused = "";
    nothing.hidden = there && !blank && !long && !refused;
    results.hidden = !nothing.hidden;
    if (!there || blank || long) {
      nothing.replaceChildren(there && long ? empty("Too long to judge", "Shorten the text: nothing of it was cut.") : there ? empty("Nothing to judge yet", "Type a sentence about a film, or take an example above.") : empty("No such model", "Choose another one above."));
      current = "";
      count.textContent = "";
      field.wrong(there && long ? `the text has ${length < HELD ? whole(length) : `${whole(HELD)} or more`} characters, at most ${whole(MOST)} are read` : null);
      for (const one of ["verdict", "gradient", "without", "flip"]) tools.cancel(one);
      return;
    }
    if (wanted !== current) {
      const typed = current !== "";
      current = wanted;
      for (const one of ["verdict", "gradient", "without"]) tools.cancel(one);
      if (known.get(wanted)?.said) draw();
      else { stale(true); timer = window.setTimeout(() => ask(wanted, values), typed ? PAUSE : 0); }
    } else draw();
    flips(values);
  }

  /** The verdict, then what takes longer. @param {string} wanted @param {Values} values */
  async function ask(wanted, values) {
    const what = { model: now(), text: values.text };
    try {
      if (!infos.has(what.model)) {
        const info = await tools.ask("model", { model: what.model }, { at: verdict, key: "model" });
        if (!info) return;
        infos.set(what.model, info);
      }
      const said = await tools.ask("verdict", what, { at: verdict });
      if (!said || current !== wanted) return;
      field.wrong(null);
      if (known.size > 40) known.delete(known.keys().next().value ?? "");
      known.set(wanted, { said, left: [], count: 0, none: "", slope: null });
      draw();
    } catch (error) {
      if (current !== wanted) return;
      field.wrong(error instanceof Error ? error.message : String(error));
      count.textContent = "";
      refused = wanted;
      nothing.replaceChildren(empty("Not judged", "What is wrong stands under the text."));
      [nothing.hidden, results.hidden] = [false, true];
    }
  }

  /** Words left out, some at a time, so that typing on ends it at once. @param {string} wanted @param {any} got @param {number} from */
  async function without(wanted, got, from) {
    try {
      const part = await tools.ask("without", { model: now(), text: JSON.parse(wanted)[1], from }, { at: leaving });
      if (!part || current !== wanted) { if (got.left.length < got.count || !got.count) got.asked = false; return; }
      if (part.none) got.none = part.none;
      else { got.left.push(...part.words); got.count = part.count; got.next = part.next; }
      draw();
      if (part.next) without(wanted, got, part.next);
    } catch (error) { if (current === wanted) { got.none = error instanceof Error ? error.message : String(error); draw(); } }
  }

  /** @param {string} wanted @param {any} got */
  async function gradient(wanted, got) {
    got.sloping = true;
    tools.cancel("without"); // it goes on afterwards
    try { got.slope = await tools.ask("gradient", { model: now(), text: JSON.parse(wanted)[1] }, { at: reading }); }
    catch (error) { got.slope = { none: error instanceof Error ? error.message : String(error) }; }
    got.sloping = false;
    if (current !== wanted) return;
    if (got.slope) draw(); else rest(got);
  }

  /** Have the words left out that were not yet. @param {any} got */
  function rest(got) {
    if (got.asked || got.none || got.sloping) return; // one after the other: a second process would have to load
    got.asked = true;
    without(current, got, got.next ?? 0);
  }

  function draw() {
    const got = /** @type {any} */ (known.get(current)), values = state.values, info = infos.get(now());
    if (!got || !info) return;
    refused = "";
    [nothing.hidden, results.hidden] = [true, false];
    const { said } = got, label = info.classes.indexOf(said.label), right = info.accuracy.test ?? info.accuracy.validation, strange = said.pieces.filter((/** @type {any} */ one) => one.unknown).length;
    record.textContent = `${info.architecture}, ${whole(info.parameters)} parameters, trained on ${info.data}${right === null ? "" : `; ${percent(Number(right.toPrecision(3)))} right in ${info.accuracy.test === null ? "validation" : "test"}`}.`;
    count.textContent = `${whole(said.tokens)} tokens${strange ? `; ${strange === 1 ? "one word is" : `${strange} words are`} unknown to the model${2 * strange > said.pieces.length ? ": its answer says little" : ""}` : ""}`;
    if (values.by === "gradient" && !got.slope && !got.sloping) gradient(current, got);
    rest(got);
    stale(false);
    reading.classList.toggle("stale", values.by === "gradient" && !got.slope);
    verdict.replaceChildren(...verdictBox(said, info.temperature));
    words = wordsOf(said, got.slope?.gradient ?? null, got.left, label);
    const { top, shares: strength } = shares(words, values.by);
    text.show(words, strength, said.joined, values.by);
    const box = (/** @type {string} */ kind, /** @type {string} */ name_) => h("span", {}, h("i", { class: `word ${kind}` }), name_);
    legend.replaceChildren(...(values.by === "attention" ? [box("looked", `up to ${Number(top.toPrecision(3))}× the even share of attention`)] : [box("for", `for “${said.label}”`), box("against", "against it"), h("span", {}, `full at ${Number(top.toPrecision(3))} ${values.by === "without" ? "points" : "of the logit"}`)]), ...(strange ? [h("span", {}, h("i", { class: "word unknown" }), "unknown word")] : []));
    const done = got.left.length, slope = got.slope;
    quiet.textContent = values.by === "without" ? got.none || (done < got.count || !got.count ? "Words are being left out …" : "Each word's share of the verdict, by reading the text without it: exact.")
      : values.by === "attention" ? "Where the answer was read from, the mean of all layers and heads: exact, but no proof of what counted."
        : slope?.none ?? (slope ? `Integrated gradients in ${slope.steps} steps: an estimate.${slope.agreement === null ? "" : ` Rank correlation with attention ${signed(Number(slope.agreement.toFixed(2)))}.`}` : "");
    progress.textContent = got.none || (done < got.count ? `${whole(done)} of ${whole(got.count)} words left out so far` : got.count > 1 ? `All ${whole(got.count)} words were left out in turn.` : got.count ? "Without its one word nothing is left to read." : "");
    rows.replaceChildren(...leftOut(got.left, said, info.classes, (span) => {
      const i = span ? pieceAt(said.pieces, span) : -1;
      text.point(i);
      point(i);
    }));
    every.replaceChildren(/** @type {Node} */ (every.firstChild), wordTable(words));
    point(pointed < words.length ? pointed : -1);
  }

  /** @param {number} i */
  function point(i) {
    pointed = i;
    const got = known.get(current);
    readout.textContent = got && words[i]?.piece.text.trim() ? told(words[i], got.said.label) : "Point at a word, or move over the text with the arrow keys.";
  }

  /** Edits that turn the verdict, where the search was asked for. @param {Values} values */
  async function flips(values) {
    const wanted = hashed(`${now()} ${values.text}`), on = values.flip === wanted;
    start.hidden = on;
    if (!on) {
      if (searched || !list.firstChild) { tools.cancel("flip"); list.replaceChildren(empty("Not searched yet", "Up to 15 seconds; what is found is shown at once.")); tried.textContent = ""; }
      searched = 0;
      return;
    }
    if (searched === wanted) return;
    searched = wanted;
    let found = 0;
    /** @type {any} */
    let depth = null;
    list.replaceChildren();
    tried.textContent = "Searching …";
    const given = values.text, spans = [...given.matchAll(/\p{L}+(?:['’]\p{L}+)*/gu)].map((one) => /** @type {[number, number]} */ ([one.index, one.index + one[0].length]));
    try {
      const ended = await tools.stream("flip", { model: now(), text: given }, (part) => {
        if (searched !== wanted) return;
        if (part.depth) { depth = part; return; }
        if (++found > LISTED) { tried.textContent = `Searching … ${found} found`; return; }
        list.append(edited(part, given, spans, () => { state.set({ text: part.text }); state.commit(); }));
      }, { at: flipping });
      if (searched !== wanted) return;
      if (!ended) { searched = 0; tried.textContent = "Cancelled."; state.set({ flip: 0 }); return; }
      const edits = depth.depth === 1 ? "one edit" : `${depth.depth} edits`, more = found > LISTED ? `, of which ${LISTED} are shown` : "";
      tried.textContent = found ? `${found} with ${edits}${more}. ${whole(depth.tried)} texts were tried in ${depth.seconds.toFixed(1)} s${depth.depth > 1 ? ", and no single edit of these kinds turns it" : ""}.`
        : `None found among ${whole(depth.tried)} texts of up to ${edits}${depth.whole ? "" : ", when the time was over"}: it may need others than these kinds.`;
    } catch (error) { if (searched === wanted) { searched = 0; tried.textContent = ""; list.replaceChildren(failed(error)); state.set({ flip: 0 }); } }
  }

  function csv() {
    const got = known.get(current);
    if (got) saveCsv("sentiment.csv", [["word", "points it brings", "attention", "gradient", "unknown"], ...words.filter((one) => one.piece.text.trim()).map((one) => [one.piece.text.trim(), one.moved ?? "", one.attention ?? "", one.gradient ?? "", one.piece.unknown ? 1 : 0])]);
  }
  function picture() {
    const { width, height } = text.size();
    savePng("sentiment.png", Math.ceil(width * 2), Math.ceil(height * 2), (ctx) => {
      ctx.scale(2, 2);
      const style = getComputedStyle(text.element);
      ctx.fillStyle = getComputedStyle(reading).backgroundColor;
      ctx.fillRect(0, 0, width, height);
      ctx.font = `${style.fontSize} ${style.fontFamily}`;
      ctx.textBaseline = "middle";
      for (const one of text.laid()) { ctx.fillStyle = one.fill; ctx.fillRect(one.x, one.y, one.w, one.h); ctx.fillStyle = one.ink; ctx.fillText(one.text, one.x, one.y + one.h / 2, one.w); }
    });
  }
  function drawing() {
    const { width, height } = text.size(), safe = (/** @type {string} */ words_) => words_.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`), size = parseFloat(getComputedStyle(text.element).fontSize);
    const parts = text.laid().map((one) => `<rect x="${one.x.toFixed(1)}" y="${one.y.toFixed(1)}" width="${one.w.toFixed(1)}" height="${one.h.toFixed(1)}" rx="3" fill="${one.fill}"/><text x="${one.x.toFixed(1)}" y="${(one.y + one.h * 0.74).toFixed(1)}" textLength="${one.w.toFixed(1)}" lengthAdjust="spacingAndGlyphs" fill="${one.ink}">${safe(one.text)}</text>`);
    save("sentiment.svg", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="sans-serif" font-size="${size}"><rect width="100%" height="100%" fill="${getComputedStyle(reading).backgroundColor}"/>${parts.join("")}</svg>`, "image/svg+xml");
  }

  state.watch((values) => show(values));
  return () => clearTimeout(timer);
}

/** The piece that holds a span of the text. @param {import("./sentiment_views.js").Piece[]} pieces @param {[number, number]} span */
function pieceAt(pieces, [start, stop]) {
  let at = 0;
  return pieces.findIndex((one) => { const begin = at + (one.text.length - one.text.trimStart().length); at += one.text.length; return start < at && stop > begin; });
}

/** @type {import("../main.js").Room} */
export default { title: "Sentiment", defaults, clean, mount };
