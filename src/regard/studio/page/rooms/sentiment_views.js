// @ts-check
/** What the Sentiment room draws: the text with its words coloured, the verdict, words left out, edits that turn it. */
import { h, percent, whole } from "../parts/dom.js";
import { table } from "../parts/table.js";

/** @typedef {{text: string, tokens: string[], unknown: boolean, attention: number | null}} Piece */
/** @typedef {{pieces: Piece[], joined: string, tokens: number, windows: number, label: string, probability: number, probabilities: Record<string, number> | null}} Verdict */
/** @typedef {{word: string, span: [number, number], chances: number[] | null}} Left */
/** @typedef {{piece: Piece, attention: number | null, gradient: number | null, moved: number | null}} Word `moved`: points of probability that it brings to the verdict */

const exact = (/** @type {number} */ value) => String(Number(value.toPrecision(5))).replace("-", "−");
export const signed = (/** @type {number} */ value) => (value > 0 ? "+" : "") + exact(value);
const LEAST = 5; // points: a text whose words hardly matter is hardly coloured

/** The words with all that is known of them. @param {Verdict} verdict @param {number[] | null} slope @param {Left[]} left @param {number} label the verdict's number @returns {Word[]} */
export function wordsOf(verdict, slope, left, label) {
  let at = 0;
  return verdict.pieces.map((piece, i) => {
    const begin = at + (piece.text.length - piece.text.trimStart().length), end = (at += piece.text.length);
    const found = verdict.joined === "" ? left.find(({ span }) => span[0] < end && span[1] > begin) : undefined;
    return { piece, attention: piece.attention, gradient: slope ? slope[i] : null, moved: found?.chances ? 100 * (verdict.probability - found.chances[label]) : null };
  });
}

/** How strongly each word is coloured, from −1 to 1. @param {Word[]} words @param {string} by */
export function shares(words, by) {
  const values = words.map((one) => (by === "attention" ? one.attention : by === "gradient" ? one.gradient : one.moved));
  const known = values.filter((one) => one !== null), top = by === "attention" ? Math.max(1, ...known) : Math.max(by === "without" ? LEAST : 0, ...known.map(Math.abs));
  return { top, shares: values.map((one) => (one === null ? 0 : by === "attention" ? (top > 1 ? Math.max(0, (one - 1) / (top - 1)) : 0) : top > 0 ? one / top : 0)) };
}

/** A word's numbers in words. @param {Word} word @param {string} label */
export function told({ piece, attention, gradient, moved }, label) {
  const parts = [
    moved === null ? "" : `without it “${label}” is ${Math.abs(moved) < 0.005 ? "as likely" : `${exact(Math.abs(moved))} points ${moved > 0 ? "less" : "more"} likely`}`,
    attention === null ? "" : `attention ${exact(attention)}× the even share`, gradient === null ? "" : `gradient ${signed(gradient)} of the logit`,
    piece.unknown ? "unknown to the model" : piece.tokens.length > 1 ? `in pieces: ${piece.tokens.join(" ")}` : "",
  ];
  return `“${piece.text.trim()}”: ${parts.filter(Boolean).join("; ")}`;
}

/**
 * The text on which one points at words: `onpoint(i)`, −1 at the end. One stop for the keyboard, arrows inside.
 * @param {(i: number) => void} onpoint
 */
export function coloured(onpoint) {
  const element = h("p", { class: "words", tabindex: 0, role: "group", "aria-label": "The text, word by word. Arrow keys move from word to word.", "data-read": "words" });
  /** @type {HTMLElement[]} */
  let spans = [];
  let at = -1;
  const put = (/** @type {number} */ i) => { spans[at]?.classList.remove("here"); at = i; spans[at]?.classList.add("here"); };
  const move = (/** @type {number} */ i) => { if (i !== at) { put(i); onpoint(i); } };
  for (const kind of /** @type {const} */ (["pointermove", "pointerdown"])) element.addEventListener(kind, (event) => move(spans.indexOf(/** @type {any} */ (event.target))));
  element.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") move(-1); });
  element.addEventListener("blur", () => move(-1));
  element.addEventListener("keydown", (event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10 })[event.key];
    if (event.key === "Escape") move(-1);
    if (!step) return;
    event.preventDefault();
    let next = Math.min(spans.length - 1, Math.max(0, at < 0 ? 0 : at + step));
    while (spans[next] && !spans[next].textContent?.trim() && spans[next + Math.sign(step)]) next += Math.sign(step);
    move(next);
  });
  return {
    element,
    point: put,
    /** @param {Word[]} words @param {number[]} strength @param {string} joined @param {string} by */
    show(words, strength, joined, by) {
      const same = spans.length === words.length && spans.every((one, i) => one.textContent === words[i].piece.text.trim());
      if (!same) {
        spans = [];
        /** @type {(Node | string)[]} */
        const out = [];
        words.forEach(({ piece }, i) => {
          const body = piece.text.trim(), before = piece.text.slice(0, piece.text.length - piece.text.trimStart().length), after = piece.text.slice(piece.text.trimEnd().length);
          const span = h("span", { class: piece.unknown ? "word unknown" : "word" }, body);
          spans.push(span);
          out.push((joined && i ? joined : "") + before, span, body ? after : "");
        });
        element.replaceChildren(...out);
        put(-1);
      }
      spans.forEach((span, i) => {
        const share = strength[i];
        span.classList.toggle("for", by !== "attention" && share >= 0.08);
        span.classList.toggle("against", by !== "attention" && share <= -0.08);
        span.classList.toggle("looked", by === "attention" && share >= 0.08);
        span.style.setProperty("--share", `${Math.round(12 + 63 * Math.min(1, Math.abs(share)))}%`);
      });
    },
    /** Where each word stands, for files. */
    laid() {
      const from = element.getBoundingClientRect();
      return spans.filter((one) => one.textContent).flatMap((one) => {
        const style = getComputedStyle(one);
        return [...one.getClientRects()].slice(0, 1).map((box) => ({ text: one.textContent ?? "", x: box.left - from.left, y: box.top - from.top, w: box.width, h: box.height, fill: style.backgroundColor, ink: style.color }));
      });
    },
    size: () => element.getBoundingClientRect(),
  };
}

/** The verdict in a word and bars. @param {Verdict} said @param {number | null} temperature */
export function verdictBox(said, temperature) {
  const rows = Object.entries(said.probabilities ?? { [said.label]: said.probability }).sort((a, b) => b[1] - a[1]).slice(0, 8);
  return [
    h("div", {}, h("p", { class: `big ${{ positive: "good", negative: "bad" }[said.label] ?? ""}`, "data-read": "verdict" }, said.label),
      h("p", { class: "quiet", "data-read": "probability" }, `${percent(said.probability)} likely to the model`),
      h("p", { class: "quiet note" }, temperature === null ? "Not calibrated: it may be surer than it is right." : `Calibrated: its logits are divided by ${exact(temperature)}, fitted on held-out texts.`)),
    h("div", { class: "verdict-bars" }, ...rows.map(([name, value]) => h("div", {}, h("span", {}, name), h("span", { class: "track" }, h("i", { style: { width: `${100 * value}%` } })), h("span", { class: "number quiet" }, percent(value))))),
    ...(said.windows > 1 ? [h("p", { class: "quiet note" }, `Read in ${said.windows} windows, whose probabilities are averaged.`)] : []),
  ];
}

/** Words that change the verdict most when they are left out. @param {Left[]} left @param {Verdict} said @param {string[]} classes @param {(span: [number, number] | null) => void} onpoint */
export function leftOut(left, said, classes, onpoint) {
  const label = classes.indexOf(said.label), rows = left.filter((one) => one.chances).map((one) => ({ one, chances: /** @type {number[]} */ (one.chances), moved: 100 * (said.probability - /** @type {number[]} */ (one.chances)[label]) }))
    .sort((a, b) => Math.abs(b.moved) - Math.abs(a.moved)).slice(0, 8);
  const top = Math.max(LEAST, ...rows.map((row) => Math.abs(row.moved))), wide = (/** @type {number} */ moved) => (50 * Math.abs(moved)) / top;
  return rows.map(({ one, chances, moved }) => {
    const best = chances.indexOf(Math.max(...chances)), turned = best !== label;
    return h("div", { class: "left-row", onpointerenter: () => onpoint(one.span), onpointerleave: () => onpoint(null) },
      h("span", { class: "name" }, one.word), h("span", { class: "both" }, h("i", { class: moved > 0 ? "for" : "against", style: { width: `${wide(moved)}%`, left: `${moved > 0 ? 50 : 50 - wide(moved)}%` } })),
      h("span", { class: "number" }, Math.abs(moved) < 0.005 ? "0" : signed(Number(moved.toFixed(2)))), turned && h("b", { class: "turned" }, `→ ${classes[best]} ${percent(chances[best])}`));
  });
}

/** A found edit: what changes, and what the model then says. @param {any} found @param {string} text the text as it was @param {[number, number][]} spans @param {() => void} take */
export function edited(found, text, spans, take) {
  const changes = found.edits.map((/** @type {any} */ one) => h("span", { class: "change" }, one.kind === "put in" ? h("ins", {}, one.new) : h("del", {}, one.old), one.kind === "put in" ? ` ${text.slice(...spans[one.at])}` : one.new && h("ins", {}, one.new)));
  return h("button", { type: "button", class: "flip", onclick: take, "aria-label": `Take: ${found.text}` },
    h("span", { class: "changes" }, ...changes), h("span", { class: "made" }, found.text), h("span", { class: "number" }, `${found.label} ${percent(found.probability)}`));
}

/** The numbers of all words as a table. @param {Word[]} words */
export const wordTable = (words) => table(["word", "without it, points", "attention, ×", "gradient, logit", "tokens"],
  words.filter((one) => one.piece.text.trim()).map((one) => [one.piece.text.trim(), one.moved === null ? "–" : signed(Number((-one.moved).toFixed(3))), one.attention === null ? "–" : exact(one.attention), one.gradient === null ? "–" : signed(one.gradient), one.piece.unknown ? "unknown" : one.piece.tokens.join(" ")]), `All ${whole(words.length)} words with their numbers`);
