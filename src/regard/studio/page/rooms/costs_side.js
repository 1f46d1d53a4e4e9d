// @ts-check
/** One of the models of the Costs room: what is asked of it, its numbers, and what is wrong with it. */
import { PatternError, parse, write } from "../../../paper/browser/pattern.js";
import { AskError } from "../parts/ask.js";
import { h } from "../parts/dom.js";
import { copier, saveCsv, savers, saveSvg, saveSvgPng } from "../parts/exports.js";
import { text } from "../parts/fields.js";
import { picker } from "../parts/picker.js";
import { empty, failed } from "../parts/table.js";
import { COUNTS, cancelled, exact, flame, formulas, groups, ranksTable, times, tree } from "./costs_views.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */
/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string[]} values whole numbers of any size, in the order of COUNTS
 * @property {Part[]} parts
 */
/** @typedef {{words: string, asked: string, takes: "n" | "image" | "fixed", pattern: string | null, vocab: boolean, counts: string[][], tree: Part, notices: string[], python: string[]}} Price */

export const CONFIG = "config.json";

/** A pattern as the server reads it, with numbers for letters; nothing is the model's own. @param {string} source @param {Values} values */
const numbered = (source, values) => (source.trim() ? write(parse(source, { t: values.t, w: values.w })) : "");

/** Which letter of a pattern has a slider. @param {string} source */
const letterOf = (source) => /** @type {"t" | "w" | undefined} */ (["t", "w"].find((one) => new RegExp(`\\b${one}\\b`).test(source)));

/** One model: its name, its pattern, its numbers. @param {0 | 1} at @param {State} state @param {import("../main.js").Tools} tools */
export function side(at, state, tools) {
  const end = at ? "2" : "", keys = { model: `model${end}`, pattern: `pattern${end}`, config: `config${end}` };
  const models = picker(state, keys.model, { label: "model" });
  const pattern = text(state, keys.pattern, { label: "attention pattern", hint: "& | ~ ( ), letters t and w", code: true, most: 1000, placeholder: "its own" });
  const config = text(state, keys.config, { label: "config.json", hint: "of Hugging Face, at most 20,000 characters", code: true, lines: 5, most: 20_000, placeholder: "{" });
  const file = h("input", { type: "file", accept: ".json,application/json", class: "unseen", "aria-label": "config.json from a file" });
  file.addEventListener("change", async () => {
    const chosen = file.files?.[0];
    if (!chosen) return;
    if (chosen.size > 20_000) { config.wrong(`${chosen.name} has ${chosen.size.toLocaleString("en")} bytes: a config.json of at most 20,000 can be read`); return; }
    state.set({ [keys.config]: await chosen.text() });
    state.commit();
    file.value = "";
  });
  const own = h("div", { class: "own" }, config, h("label", { class: "button" }, "Choose a file", file));
  const title = h("h2"), asked = h("p", { class: "quiet" });
  const big = h("div", { class: "big", "data-read": `big-${at}` }), about = h("p", { class: "quiet", "data-read": `about-${at}` }), list = h("div", { "data-read": `facts-${at}` });
  const notices = h("ul", { class: "notices" }), wrong = h("div"), inner = h("div", { class: "view", "data-read": `view-${at}` });
  const python = h("pre", { class: "python", tabindex: 0, "aria-label": "in Python" });
  const numbers = h("div", { class: "priced" }, h("div", { class: "totals" }, title, asked, big, about), list, notices, inner,
    h("details", { class: "code" }, h("summary", {}, "In Python"), python, h("div", { class: "buttons" }, copier("Copy Python", () => python.textContent ?? ""))));
  const element = h("section", { class: "card side", "aria-label": at ? "Second model" : "Model" }, h("div", { class: "two" }, models, pattern), own, wrong, numbers);

  numbers.classList.add("stale", "waiting");
  let question = "", timer = 0, shown = "", viewed = "";
  /** @type {Price | null} */
  let priced = null;
  const out = {
    get price() { return priced; },
    element, models, known: "", onprice: () => {},
    source: () => state.values[keys.pattern],
    title: () => `${state.values[keys.model].replace(/^\w+:/, "")}${state.values[keys.pattern].trim() ? `, ${state.values[keys.pattern].trim()}` : ""}`,
    ask, show, compare, family, fail, leave: () => { tools.cancel(`price-${at}`); tools.cancel(`view-${at}`); clearTimeout(timer); question = ""; priced = null; },
  };

  /** The question now, or null where the pattern cannot be read, which is said beside it. */
  function body() {
    const { values } = state;
    try {
      const source = numbered(values[keys.pattern], values);
      return { model: values[keys.model], pattern: source, ...(values[keys.model] === CONFIG ? { config: values[keys.config] } : {}), n: values.n, batch: values.batch, rows: values.rows, cols: values.cols, vocab: values.vocab, mode: values.mode, dtype: values.dtype };
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      pattern.wrong(error.message);
      return null;
    }
  }

  function ask() {
    if (!out.known) title.textContent = out.title();
    own.hidden = state.values[keys.model] !== CONFIG;
    const asked_ = body();
    if (asked_ === null) { tools.cancel(`price-${at}`); clearTimeout(timer); question = ""; unpriced(); return; }
    const text_ = JSON.stringify(asked_);
    if (text_ === question) return;
    question = text_;
    priced = null;
    numbers.classList.add("stale");
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      try {
        const said = await tools.ask("price", asked_, { key: `price-${at}`, at: element });
        if (question !== text_) return;
        if (said === null) {
          question = "";
          unpriced();
          wrong.replaceChildren(cancelled(ask));
          return;
        }
        for (const one of [models, pattern, config]) one.wrong(null);
        wrong.replaceChildren();
        numbers.hidden = false;
        numbers.classList.remove("waiting");
        numbers.classList.remove("stale");
        priced = said;
        out.known = text_;
        show();
        out.onprice();
      } catch (error) {
        if (question === text_) fail(error);
      }
    }, 120);
  }

  /** There is no price: what one knew is no answer to what is asked now. */
  function unpriced() {
    priced = null;
    [out.known, shown, viewed] = ["", "", ""];
    tools.cancel(`view-${at}`);
    const first = numbers.classList.contains("waiting"); // there was none before, which would stay in sight greyed
    numbers.hidden = first;
    numbers.classList.add("stale");
    if (first && !wrong.childElementCount) wrong.replaceChildren(empty("No price yet", "Mend what is marked above, and it is here at once."));
  }

  /** What is wrong, at the field that it is about. @param {unknown} error */
  function fail(error) {
    const field = error instanceof AskError ? error.field : null, message = error instanceof Error ? error.message : String(error);
    for (const one of [models, pattern, config]) one.wrong(null);
    wrong.replaceChildren();
    if (field === "model") models.wrong(message);
    else if (field === "pattern") pattern.wrong(message);
    else if (field === "config") config.wrong(message);
    else wrong.replaceChildren(failed(field === "mode" ? `${state.values[keys.model]} cannot be asked for this: ${message}` : message));
    if (error instanceof AskError && [0, 503].includes(error.status)) question = "";
    unpriced();
    out.onprice();
  }

  /** The numbers and the view, where they changed. */
  function show() {
    const { price } = out, { values } = state;
    if (!price) return;
    const look = JSON.stringify([out.known, values.count, values.view, values.open, values.letters, values.ranks]);
    if (look === shown) return;
    shown = look;
    title.textContent = out.title();
    asked.textContent = `${price.words} · ${price.asked}`;
    const input = /** @type {HTMLInputElement} */ (pattern.querySelector("input"));
    input.placeholder = price.pattern && !values[keys.pattern] ? `its own: ${price.pattern}` : "its own";
    pattern.classList.toggle("idle", price.pattern === null);
    const found = new Map(price.counts.map((one) => [one[0], one])), chosen = found.get(values.count);
    const total = chosen ? chosen[2] : "0";
    big.replaceChildren(...groups(total));
    big.style.setProperty("--long", String(exact(total).length));
    list.replaceChildren(h("dl", { class: "tiles" }, ...COUNTS.filter(([key]) => key !== values.count && found.has(key)).map(([key, words]) => {
      const [, , value, near] = /** @type {string[]} */ (found.get(key));
      return h("div", {}, h("dt", {}, words), h("dd", {}, ...groups(value), near ? h("small", {}, near) : ""));
    })));
    notices.replaceChildren(...price.notices.map((one) => h("li", {}, one)));
    python.textContent = price.python.join("\n");
    drawView(price, values);
  }

  /** @param {Price} price @param {Values} values */
  function drawView(price, values) {
    inner.hidden = !["parts", "formula", "ranks"].includes(values.view);
    if (!["formula", "ranks"].includes(values.view)) { tools.cancel(`view-${at}`); viewed = ""; }
    if (values.view === "parts") {
      const picture = flame(price, values.count, (path) => turn(path));
      inner.replaceChildren(picture.element, tree(price, values.count, values.open, turn, picture.point), savers({
        PNG: () => void saveSvgPng("cost-parts.png", picture.svg()), SVG: () => saveSvg("cost-parts.svg", picture.svg()),
        CSV: () => saveCsv("cost-parts.csv", [["part", ...COUNTS.map(([, words]) => words)], ...lines(price.tree, "")]),
      }));
    } else if (values.view === "formula") void view("formula", { letters: values.letters }, (said) => formulas(said, state.values.count, (letter) => flip("letters", letter)));
    else if (values.view === "ranks") void view("exchange", { ranks: values.ranks }, ranksTable);
  }

  /** What the server is asked for besides. @param {string} action @param {object} more @param {(said: any) => Node[]} draw */
  async function view(action, more, draw) {
    const asked_ = { ...JSON.parse(out.known), ...more }, text_ = JSON.stringify([action, asked_]);
    if (text_ === viewed) return;
    viewed = text_;
    inner.classList.add("stale");
    try {
      const said = await tools.ask(action, asked_, { key: `view-${at}`, at: inner });
      if (viewed !== text_) return;
      if (said === null) { viewed = ""; inner.replaceChildren(cancelled(() => drawView(/** @type {Price} */ (priced), state.values))); }
      else inner.replaceChildren(...draw(said));
    } catch (error) {
      if (viewed !== text_) return;
      inner.replaceChildren(failed(error));
    }
    inner.classList.remove("stale");
  }

  /** Put one into a list of the state, or take it out. @param {"open" | "letters"} key @param {string} one */
  function flip(key, one) {
    const list_ = state.values[key];
    state.set({ [key]: list_.includes(one) ? list_.filter((/** @type {string} */ other) => other !== one) : [...list_, one] });
    state.commit();
  }
  const turn = (/** @type {string} */ path) => flip("open", path);

  /** @param {typeof out | null} other */
  function compare(other) {
    const { price } = out, { count } = state.values, value = (/** @type {Price} */ one) => one.counts.find(([key]) => key === count)?.[2] ?? "0";
    if (!price) return;
    const mine = price.counts.find(([key]) => key === count), words = COUNTS.find(([key]) => key === count)?.[1] ?? count;
    const beside = other?.price ? times(value(price), value(other.price)) : "";
    about.textContent = [words, mine?.[3] && `about ${mine[3]}`, beside && `${beside} the other’s`].filter(Boolean).join(", ");
  }

  /** What curves are asked for: the pattern with its letter at a quarter, as it is and at four times, and without it. */
  function family() {
    const { values } = state, source = values[keys.pattern], letter = letterOf(source), question_ = body();
    if (question_ === null) return null;
    const chosen = letter ? [...new Set([Math.max(1, Math.round(values[letter] / 4)), values[letter], Math.min(65_536, values[letter] * 4)])] : [];
    /** @type {Record<string, string>} */
    const names = {};
    if (letter) for (const value of values.compare ? [values[letter]] : chosen) names[numbered(source, { ...values, [letter]: value })] = `${letter} = ${value.toLocaleString("en")}`;
    else names[question_.pattern] = question_.pattern;
    if (source.trim() && !values.compare) names[""] = "its own pattern";
    const { n: _, ...rest } = question_;
    return { question: { ...rest, patterns: Object.keys(names) }, names };
  }

  return out;
}

/** Every part as a line of numbers. @param {Part} part @param {string} above @returns {(string | number)[][]} */
const lines = (part, above) => [[above + part.name, ...part.values], ...part.parts.flatMap((one) => lines(one, `${above}${part.name}/`))];
