// @ts-check
/** A room's state: plain values, kept in the URL, watched by whatever shows them. */

/** @typedef {number | string | boolean | string[]} Value */
/** @typedef {Record<string, any>} Values */

const PAUSE = 400; // milliseconds after the last change until it becomes a step of the history

/**
 * `values` holds what is now; `set` changes it and calls every watcher once before the next frame; after a pause,
 * or at `commit`, the change becomes one step that the back button takes back.
 */
export class State {
  /** @param {Values} defaults @param {(values: Values) => Values} [clean] puts values into their limits */
  constructor(defaults, clean = (values) => values) {
    this.defaults = defaults;
    this.clean = clean;
    /** @type {Values} */
    this.values = { ...defaults };
    /** @type {Set<(values: Values, changed: Set<string>) => void>} */
    this.watchers = new Set();
    /** @type {(text: string) => void} */
    this.onstep = () => {};
    /** @type {Set<string>} */
    this.changed = new Set();
    this.timer = 0;
    this.frame = 0;
  }

  /** Change some values. @param {Values} changes */
  set(changes) {
    const before = this.values, after = this.clean({ ...before, ...changes });
    const changed = Object.keys(after).filter((key) => !same(before[key], after[key]));
    if (!changed.length) return;
    this.values = after;
    this._tell(changed);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.commit(), PAUSE);
  }

  /** Make what has changed one step of the history, now. */
  commit() {
    clearTimeout(this.timer);
    this.onstep(this.text());
  }

  /** Take all values from a URL; what it does not say is as at the start. @param {string} text */
  load(text) {
    clearTimeout(this.timer);
    const before = this.values;
    this.values = this.clean({ ...this.defaults, ...read(text, this.defaults) });
    this._tell(Object.keys(this.defaults).filter((key) => !same(before[key], this.values[key])));
  }

  /** What the URL says of the state: what differs from the start. */
  text() {
    return Object.keys(this.defaults)
      .filter((key) => !same(this.values[key], this.defaults[key]))
      .map((key) => `${key}=${encode(this.values[key])}`)
      .join("&");
  }

  /** Call now and after every change, with the keys that changed; gives a function that ends it. @param {(values: Values, changed: Set<string>) => void} watcher */
  watch(watcher) {
    this.watchers.add(watcher);
    watcher(this.values, new Set(Object.keys(this.values)));
    return () => { this.watchers.delete(watcher); };
  }

  /** @param {string[]} keys */
  _tell(keys) {
    keys.forEach((key) => this.changed.add(key));
    if (this.frame || !keys.length) return;
    this.frame = requestAnimationFrame(() => {
      const changed = this.changed;
      [this.frame, this.changed] = [0, new Set()];
      for (const watcher of [...this.watchers]) watcher(this.values, changed);
    });
  }
}

/** @param {any} a @param {any} b */
const same = (a, b) => a === b || (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((one, i) => one === b[i]));

/** @param {Value} value */
function encode(value) {
  const one = (/** @type {any} */ text) => encodeURIComponent(text).replace(/%(20|7C|2C|3A|2F)/g, (code) => ({ "%20": "+", "%7C": "|", "%2C": ",", "%3A": ":", "%2F": "/" })[code] ?? code);
  if (typeof value === "boolean") return value ? "1" : "0";
  return Array.isArray(value) ? value.map(one).join(";") : one(value);
}

/** @param {string} text @param {Values} defaults @returns {Values} */
function read(text, defaults) {
  /** @type {Values} */
  const out = {};
  for (const pair of text.split("&")) {
    const cut = pair.indexOf("="), key = pair.slice(0, cut);
    if (cut < 0 || !Object.hasOwn(defaults, key)) continue;
    const usual = defaults[key], raw = pair.slice(cut + 1);
    try {
      const one = (/** @type {string} */ part) => decodeURIComponent(part.replaceAll("+", " "));
      if (Array.isArray(usual)) out[key] = raw === "" ? [] : raw.split(";").map(one);
      else if (typeof usual === "boolean") out[key] = raw === "1";
      else if (typeof usual !== "number") out[key] = one(raw);
      else if (Number.isFinite(Number(raw)) && raw !== "") out[key] = Number(raw);
    } catch { /* a cut-off %: as at the start */ }
  }
  return out;
}
