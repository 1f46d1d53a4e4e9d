// @ts-check
/** A list whose entries come in groups, and come later: until then it holds what the state says. */
import { h, id } from "./dom.js";

/** @typedef {[string, [string, string][]]} Group its name, and its entries as [value, words] */

/**
 * @param {import("./state.js").State} state @param {string} key @param {{label: string}} given
 * @returns {import("./fields.js").Field & {fill: (groups: Group[]) => void}}
 */
export function picker(state, key, { label }) {
  const name = id(), fault = h("div", { class: "wrong", id: `${name}-wrong`, role: "alert" }), named = h("b", {}, label);
  const input = h("select", { id: name, "data-key": key, "aria-describedby": `${name}-wrong` });
  const box = /** @type {any} */ (h("div", { class: "field" }, h("label", { for: name }, named), input, fault));
  input.addEventListener("change", () => { state.set({ [key]: input.value }); state.commit(); });
  const show = () => {
    const value = String(state.values[key]);
    if (![...input.options].some((one) => one.value === value)) input.prepend(h("option", { value }, value.slice(0, 60)));
    input.value = value;
  };
  state.watch(show);
  box.wrong = (/** @type {string | null} */ message) => {
    fault.textContent = message ?? "";
    input.setAttribute("aria-invalid", String(message !== null));
  };
  box.label = (/** @type {string} */ text) => { named.textContent = text; };
  box.fill = (/** @type {Group[]} */ groups) => {
    input.replaceChildren(...groups.filter(([, entries]) => entries.length).map(([words, entries]) =>
      h("optgroup", { label: words }, ...entries.map(([value, text]) => h("option", { value }, text)))));
    show();
  };
  return box;
}
