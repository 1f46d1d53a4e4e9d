// @ts-check
/** Tables, lists of facts, galleries, and the place where nothing is yet. */
import { h } from "./dom.js";

/** @typedef {import("./dom.js").Child} Child */

/** A table; the first column is what a row is about. @param {string[]} head @param {Child[][]} rows @param {string} [caption] */
export function table(head, rows, caption) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption ?? head.join(", ") }, h("table", {},
    caption && h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, ...head.map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, i) => (i ? h("td", {}, cell) : h("th", { scope: "row" }, cell))))))));
}

/** Names and values, one below the other; a third part is a remark. @param {[Child, Child, Child?][]} rows */
export function facts(rows) {
  return h("dl", { class: "facts" }, ...rows.flatMap(([name, value, remark]) => [h("dt", {}, name), h("dd", {}, value, remark && h("small", {}, remark))]));
}

/**
 * Examples with small pictures: a click changes the state as `set` says.
 * @param {import("./state.js").State} state @param {{name: string, set: (values: import("./state.js").Values) => Record<string, any>, picture?: () => Element}[]} examples @param {string} [label]
 */
export function gallery(state, examples, label = "Examples") {
  const buttons = examples.map(({ name, set, picture }) =>
    h("button", { type: "button", "aria-pressed": "false", onclick: () => { state.set(set(state.values)); state.commit(); } }, picture ? picture() : null, h("span", {}, name)));
  state.watch((values) => examples.forEach(({ set }, i) =>
    buttons[i].setAttribute("aria-pressed", String(Object.entries(set(values)).every(([key, value]) => String(values[key]) === String(value))))));
  return h("div", { class: "gallery", role: "group", "aria-label": label }, ...buttons);
}

/** What a place without content says: what could be here, and how to get it. @param {string} title @param {string} words @param {string} [command] */
export const empty = (title, words, command) => h("div", { class: "empty" }, h("b", {}, title), words, command ? h("div", {}, h("code", {}, command)) : null);

/** What could not be done, in place of the result. @param {unknown} error */
export const failed = (error) => h("div", { class: "failed", role: "alert" }, error instanceof Error ? error.message : String(error));

/** The head of a room: title, one sentence, and what stands at its right. @param {string} title @param {string} words @param {...Child} right */
export const lede = (title, words, ...right) => h("div", { class: "lede" }, h("div", {}, h("h1", {}, title), h("p", {}, words)), h("div", { class: "buttons" }, ...right));
