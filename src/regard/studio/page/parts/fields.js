// @ts-check
/** Controls bound to a key of the state: what is set elsewhere, they show; what one sets in them, the state gets. */
import { h, id } from "./dom.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {HTMLElement & {wrong: (message: string | null) => void, label: (text: string) => void}} Field */

const PAUSE = 600; // milliseconds of no typing before a fault is said

/**
 * @param {HTMLElement} box @param {HTMLElement} input @param {HTMLElement} fault @param {HTMLElement} named @returns {Field}
 */
function field(box, input, fault, named) {
  let timer = 0;
  const out = /** @type {Field} */ (box);
  out.wrong = (message) => {
    clearTimeout(timer);
    const say = () => {
      fault.textContent = message ?? "";
      input.setAttribute("aria-invalid", String(message !== null));
    };
    if (message === null || fault.textContent || document.activeElement !== input) say();
    else timer = window.setTimeout(say, PAUSE);
  };
  out.label = (text) => { named.textContent = text; };
  return out;
}

/**
 * A slider with a number field beside it, which may take more than the slider shows.
 * @param {State} state @param {string} key
 * @param {{label: string, min: number, max: number, step?: number, most?: number, hint?: string, log?: boolean}} given `log`: each stretch of the slider doubles the value
 */
export function slider(state, key, { label, min, max, step = 1, most = max, hint = "", log = false }) {
  const on = log ? Math.log2 : (/** @type {number} */ value) => value;
  const off = log ? (/** @type {number} */ at) => doubled(at, min, max) : (/** @type {number} */ at) => at;
  const name = id(), fault = h("div", { class: "wrong", id: `${name}-wrong`, role: "alert" });
  const named = h("b", {}, label);
  const range = h("input", { type: "range", min: on(min), max: on(max), step: log ? 0.125 : step, "aria-label": label, "data-key": key });
  const typed = h("input", { type: "text", id: name, inputmode: "numeric", "aria-describedby": `${name}-wrong`, autocomplete: "off", "data-key": key });
  const box = field(h("div", { class: "field slider" }, h("label", { for: name }, named, hint && h("span", {}, hint)), h("div", {}, range, typed), fault), typed, fault, named);
  range.addEventListener("input", () => state.set({ [key]: off(Number(range.value)) }));
  range.addEventListener("change", () => { state.set({ [key]: off(Number(range.value)) }); state.commit(); });
  typed.addEventListener("input", () => {
    const value = number(typed.value);
    const fine = value !== null && value >= min && value <= most && (step !== 1 || Number.isInteger(value));
    box.wrong(fine ? null : `from ${min.toLocaleString("en")} to ${most.toLocaleString("en")}`);
    if (fine) state.set({ [key]: value });
  });
  typed.addEventListener("keydown", (event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowUp: step, ArrowDown: -step })[event.key];
    if (!by) return;
    event.preventDefault();
    state.set({ [key]: Math.min(most, Math.max(min, Number((state.values[key] + by).toPrecision(12)))) });
    shown(true);
  });
  const shown = (/** @type {boolean} */ anyway) => {
    const value = state.values[key];
    if (off(Number(range.value)) !== value) range.value = String(on(value));
    if (log) range.setAttribute("aria-valuetext", value.toLocaleString("en"));
    range.style.setProperty("--part", `${(100 * (on(Math.min(max, value)) - on(min))) / (on(max) - on(min) || 1)}%`);
    if (anyway || number(typed.value) !== value) { typed.value = value.toLocaleString("en"); box.wrong(null); }
  };
  typed.addEventListener("blur", () => shown(true));
  state.watch((_, changed) => { if (changed.has(key)) shown(false); });
  shown(true);
  return box;
}

/** A power of two, rounded to some eighths of it. @param {number} power @param {number} min @param {number} max */
function doubled(power, min, max) {
  const unit = 2 ** Math.max(0, Math.floor(power) - 4);
  return Math.min(max, Math.max(min, Math.round(2 ** power / unit) * unit));
}

/** A number as people type it: 4096, 4,096, 64k. @param {string} text @returns {number | null} */
export function number(text) {
  const found = /^\s*(-?[\d,]*\.?\d+)\s*(k?)\s*$/i.exec(text);
  return found ? Number(found[1].replaceAll(",", "")) * (found[2] ? 1024 : 1) : null;
}

/**
 * A line (or with `lines` more) of text. What it says is the state's at once; what is wrong with it is the room's to say, by `wrong`.
 * @param {State} state @param {string} key
 * @param {{label: string, hint?: string, code?: boolean, lines?: number, most?: number, index?: () => number, placeholder?: string}} given
 */
export function text(state, key, { label, hint = "", code = false, lines = 1, most = 4000, index, placeholder }) {
  const name = id(), fault = h("div", { class: "wrong", id: `${name}-wrong`, role: "alert" }), named = h("b", {}, label);
  const given = { id: name, maxlength: most, spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": `${name}-wrong`, "data-key": key, placeholder };
  const input = lines > 1 ? h("textarea", { ...given, rows: lines }) : h("input", { ...given, type: "text" });
  const box = field(h("div", { class: code ? "field code" : "field" }, h("label", { for: name }, named, hint && h("span", {}, hint)), input, fault), input, fault, named);
  const now = () => (index ? (state.values[key][index()] ?? "") : state.values[key]);
  input.addEventListener("input", () => {
    state.set({ [key]: index ? state.values[key].map((/** @type {string} */ one, /** @type {number} */ i) => (i === index() ? input.value : one)) : input.value });
  });
  input.addEventListener("blur", () => state.commit());
  state.watch(() => { if (input.value !== now()) input.value = now(); });
  return box;
}

/** One of several words. @param {State} state @param {string} key @param {{label: string, options: [string, string][]}} given options are [value, words] */
export function select(state, key, { label, options }) {
  const name = id(), fault = h("div", { class: "wrong", role: "alert" }), named = h("b", {}, label);
  const input = h("select", { id: name, "data-key": key }, ...options.map(([value, words]) => h("option", { value }, words)));
  const box = field(h("div", { class: "field" }, h("label", { for: name }, named), input, fault), input, fault, named);
  input.addEventListener("change", () => { state.set({ [key]: input.value }); state.commit(); });
  state.watch(() => { input.value = String(state.values[key]); });
  return box;
}

/** A few choices side by side. @param {State} state @param {string} key @param {{label: string, options: [any, string][], hidden?: boolean}} given */
export function segments(state, key, { label, options, hidden = false }) {
  const name = id();
  const inputs = options.map(([value]) => h("input", { type: "radio", name, value: String(value), "data-key": key }));
  inputs.forEach((input, i) => input.addEventListener("change", () => { state.set({ [key]: options[i][0] }); state.commit(); }));
  state.watch((values) => inputs.forEach((input, i) => { input.checked = values[key] === options[i][0]; }));
  const set = h("div", { class: "segments", role: "radiogroup", "aria-label": label }, ...options.map(([, words], i) => h("label", {}, inputs[i], words)));
  return h("div", { class: "field" }, !hidden && h("div", { class: "label" }, h("b", {}, label)), set);
}

/** Yes or no. @param {State} state @param {string} key @param {{label: string}} given */
export function toggle(state, key, { label }) {
  const input = h("input", { type: "checkbox", role: "switch", "data-key": key });
  input.addEventListener("change", () => { state.set({ [key]: input.checked }); state.commit(); });
  state.watch((values) => { input.checked = values[key]; });
  return h("label", { class: "switch" }, input, label);
}
