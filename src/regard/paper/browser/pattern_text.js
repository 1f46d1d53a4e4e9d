// @ts-check
/**
 * Attention patterns as text: `parse("causal & strided(t)", {t: 5})`, and `write`, its inverse.
 *
 * The twin of `regard.pattern.text`. A pattern is a plain object: an atom `{word, fields}`, or `{op, parts}` of others.
 */

/** @typedef {{op: "atom", word: string, fields: Record<string, number | number[]>}} Atom */
/** @typedef {{op: "and" | "or", parts: Pattern[]} | {op: "not", parts: [Pattern]}} Joined */
/** @typedef {Atom | Joined} Pattern */

const MOST = 2 ** 31 - 1, LONGEST = 10_000, DEEPEST = 100, DIGITS = 20;

/** Fields of each value: [name, least, most?, default?]. @type {Record<string, [string, number, number?, number?][]>} */
export const FIELDS = {
  full: [], causal: [], strided: [["back", 0]], local: [["reach", 0]], windowed: [["size", 1]],
  blocks: [["size", 1]], dilated: [["back", 0], ["step", 1]], sparsestrided: [["stride", 1]],
  sparsefixed: [["stride", 1], ["summary", 0]], global: [["first", 0]], prefix: [["length", 0]],
  documents: [["lengths", 1]], neighbourhood: [["rows", 1], ["cols", 1], ["reach", 0]],
  axial: [["rows", 1], ["cols", 1]],
  randomblocks: [["size", 1, MOST, 64], ["per_row", 0, 1024, 3], ["seed", 0, 2 ** 32 - 1, 7]],
};
/** @type {Record<string, string>} */
const WORDS = { autoregressive: "causal", sliding: "strided" };

export class PatternError extends Error {
  /** @param {string} message @param {number} at where in the text */
  constructor(message, at) { super(message); this.at = at; }
}

const TOKEN = /\s*(?:(?<name>[A-Za-z_]\w*)|(?<number>-?\d+)|(?<sign>[&|~(),=])|(?<end>$))/y;

/**
 * The pattern that a text describes; `~` binds tighter than `&`, and `&` tighter than `|`.
 * Where `letters` are given, they may stand for numbers: `strided(t)` with `{t: 5}`.
 * @param {string} text @param {Record<string, number>} [letters] @returns {Pattern}
 */
export function parse(text, letters = {}) {
  if (text.length > LONGEST && [...text].length > LONGEST)
    throw new PatternError(`a pattern's text must have at most ${LONGEST.toLocaleString("en")} characters`, 0);
  let at = 0, start = 0, kind = "", value = "", depth = 0;

  /** @param {string} what @returns {never} */
  const fail = (what) => { throw new PatternError(what, start); };
  const next = () => {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match || !match.groups) {
      start = at + (text.slice(at).match(/^\s*/)?.[0].length ?? 0);
      fail(`'${String.fromCodePoint(text.codePointAt(start) ?? 0)}' has no meaning here`);
    } else {
      [kind, value] = /** @type {[string, string]} */ (Object.entries(match.groups).find(([, v]) => v !== undefined));
      at = TOKEN.lastIndex;
      start = at - value.length;
    }
  };
  /** @param {string} sign */
  const take = (sign) => kind === "sign" && value === sign && (next(), true);
  /** @param {string} sign */
  const need = (sign) => {
    if (take(sign)) return;
    if (value) fail(`expected '${sign}', found '${value}'`);
    fail(sign === "=" ? "expected '='" : "expected ')': a bracket is not closed");
  };
  const any = () => {
    const parts = [all()];
    while (take("|")) parts.push(all());
    return joined("or", parts);
  };
  const all = () => {
    const parts = [one()];
    while (take("&")) parts.push(one());
    return joined("and", parts);
  };
  /** @returns {Pattern} */
  const one = () => {
    if (++depth > DEEPEST) fail(`more than ${DEEPEST} levels of ~ and brackets`);
    let out;
    if (take("~")) out = not(one());
    else if (take("(")) { out = any(); need(")"); }
    else out = atom();
    depth--;
    return out;
  };
  const number = () => {
    if (kind === "name" && Object.hasOwn(letters, value)) {
      const found = letters[value];
      next();
      return found;
    }
    if (kind !== "number") fail(value ? `expected a whole number, found '${value}'` : "expected a whole number");
    if (value.length > DIGITS) fail(`a number of more than ${DIGITS} digits`);
    const out = Number(value);
    next();
    return out;
  };
  const numbers = () => {
    need("(");
    /** @type {number[]} */
    const out = [];
    while (!take(")")) {
      if (out.length) { need(","); if (take(")")) break; }
      out.push(number());
    }
    return out;
  };
  /** @returns {Pattern} */
  const atom = () => {
    if (kind !== "name") fail(value ? `expected a pattern, found '${value}'` : "expected a pattern");
    const from = start, written = value, word = WORDS[value.toLowerCase()] ?? value.toLowerCase();
    if (word === "linear") fail("linear attention is no pattern: a model says mixer=LinearAttention()");
    if (!Object.hasOwn(FIELDS, word)) fail(`no pattern is called '${written}'${meant(word)}`);
    next();
    const names = FIELDS[word].map(([name]) => name);
    /** @type {Record<string, number | number[]>} */
    const given = {};
    let count = 0;
    if (take("(")) while (!take(")")) {
      if (count) need(",");
      let name = names[count];
      if (kind === "name" && !(Object.hasOwn(letters, value) && !/^\s*=/.test(text.slice(at)))) {
        name = value;
        if (!names.includes(name)) fail(`no field '${name}'; the fields are: ${names.join(", ") || "none"}`);
        next();
        need("=");
      } else if (count === names.length) fail(`too many arguments; the fields are: ${names.join(", ") || "none"}`);
      if (Object.hasOwn(given, name)) fail(`${name} is given twice`);
      given[name] = kind === "sign" && value === "(" ? numbers() : number();
      count++;
    }
    start = from;
    return make(word, given, fail);
  };
  next();
  const out = any();
  if (kind !== "end") fail(`expected & or | or the end, found '${value}'`);
  return out;
}

/** @param {string} word @param {Record<string, number | number[]>} given @param {(what: string) => never} fail @returns {Atom} */
function make(word, given, fail) {
  /** @type {Record<string, number | number[]>} */
  const fields = {};
  for (const [name, least, most = MOST, usual] of FIELDS[word]) {
    const value = given[name] ?? usual;
    if (value === undefined) fail(`${word} needs (${FIELDS[word].map(([one]) => one).join(", ")})`);
    if (name === "lengths") {
      if (!Array.isArray(value) || !value.length) fail("lengths must be one number for each document");
      /** @type {number[]} */ (value).forEach((length, i) => range(`lengths[${i}]`, length, 1, MOST, fail));
    } else range(name, value, least, most, fail);
    fields[name] = /** @type {number | number[]} */ (value);
  }
  if (word === "sparsefixed" && fields.summary > fields.stride)
    fail(`summary must be at most stride, got summary=${fields.summary}, stride=${fields.stride}`);
  return { op: "atom", word, fields };
}

/** @param {string} name @param {unknown} value @param {number} least @param {number} most @param {(what: string) => never} fail */
function range(name, value, least, most, fail) {
  if (typeof value !== "number" || !Number.isInteger(value)) fail(`${name} must be an integer`);
  if (/** @type {number} */ (value) < least) fail(`${name} must be at least ${least}, got ${name}=${value}`);
  if (/** @type {number} */ (value) > most) fail(`${name} must be at most ${most.toLocaleString("en")}, got ${name}=${value}`);
}

/** @param {string} word */
function meant(word) {
  const near = [...Object.keys(FIELDS), ...Object.keys(WORDS)].find(
    (known) => (word.length > 2 && (known.startsWith(word) || word.startsWith(known))) || edits(word, known) <= 2);
  return near ? `; did you mean '${near}'?` : "";
}

/** @param {string} a @param {string} b */
function edits(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const last = row;
    row = [i];
    for (let j = 1; j <= b.length; j++)
      row.push(Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
  }
  return row[b.length];
}

/** @param {"and" | "or"} op @param {Pattern[]} parts @returns {Pattern} */
function joined(op, parts) {
  if (parts.length === 1) return parts[0];
  return { op, parts: parts.flatMap((part) => (part.op === op ? part.parts : [part])) };
}

/** @param {Pattern} part @returns {Pattern} */
const not = (part) => (part.op === "not" ? part.parts[0] : { op: "not", parts: [part] });

/** The pattern as text, which parses back to it. @param {Pattern} pattern @returns {string} */
export function write(pattern) {
  if (pattern.op === "atom") {
    const values = FIELDS[pattern.word].map(([name]) => pattern.fields[name]);
    const shown = values.map((one) => (Array.isArray(one) ? `(${one.join(", ")})` : one));
    return shown.length ? `${pattern.word}(${shown.join(", ")})` : pattern.word;
  }
  if (pattern.op === "not") {
    const inner = write(pattern.parts[0]);
    return pattern.parts[0].op === "atom" ? `~${inner}` : `~(${inner})`;
  }
  const inner = pattern.parts.map((one) => (pattern.op === "and" && one.op === "or" ? `(${write(one)})` : write(one)));
  return inner.join(pattern.op === "and" ? " & " : " | ");
}

/** All single values, in order of appearance. @param {Pattern} pattern @returns {Atom[]} */
export const atoms = (pattern) => (pattern.op === "atom" ? [pattern] : pattern.parts.flatMap(atoms));
