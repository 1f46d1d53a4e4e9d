// @ts-check
/** The list of language models of a room: which there are comes from the server, which is chosen stands in the URL. */
import { select } from "./fields.js";
import { empty, failed } from "./table.js";

/** @typedef {{name: string, layers: number, heads: number, width: number, vocab: number, patterns: string[], linear: boolean[]}} Writer */

/**
 * Ask for the models and build the fields; where none was chosen the first one is, without a step of the history.
 * Where one is asked for that is not there, its field says so, and which was taken instead.
 * @param {import("./state.js").State} state @param {import("../main.js").Tools} tools
 * @param {{room: string, keys: [string, string][], at: HTMLElement}} given `keys`: state keys with their labels; what is wrong is said in `at`
 * @returns {Promise<{writers: Writer[], fields: import("./fields.js").Field[], of: (name: string) => Writer | undefined, settle: () => void} | null>}
 */
export async function chooser(state, tools, { room, keys, at }) {
  let said;
  try { said = await tools.ask("models", {}, { at }); } catch (error) { at.replaceChildren(failed(error)); return null; }
  if (!said) return null;
  /** @type {Writer[]} */
  const writers = said.models;
  if (!writers.length) { at.replaceChildren(empty("No language model is here", said.missing)); return null; }
  const said_ = /** @type {Set<string>} */ (new Set()); // keys whose model was replaced
  const options = writers.map(({ name, layers, heads }) => /** @type {[string, string]} */ ([name, `${name} · ${layers} × ${heads} heads`]));
  const fields = keys.map(([key, label]) => select(state, key, { label, options }));
  const settle = () => {
    const wrong = keys.filter(([key]) => !writers.some(({ name }) => name === state.values[key]));
    keys.forEach(([key], i) => {
      if (state.values[key] === writers[0].name && said_.has(key)) return;
      const missing = wrong.some(([one]) => one === key) && state.values[key];
      fields[i].wrong(missing ? `no model is called ${missing.slice(0, 60)}: this is ${writers[0].name} instead` : null);
      if (missing) said_.add(key); else said_.delete(key);
    });
    if (!wrong.length) return;
    state.values = { ...state.values, ...Object.fromEntries(wrong.map(([key]) => [key, writers[0].name])) };
    fields.forEach((one, i) => { /** @type {HTMLSelectElement} */ (one.querySelector("select")).value = state.values[keys[i][0]]; });
    history.replaceState(null, "", `#${room}?${state.text()}`);
  };
  settle();
  return { writers, fields, settle, of: (name) => writers.find((one) => one.name === name) };
}
