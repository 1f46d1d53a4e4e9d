// @ts-check
/**
 * Attention patterns in the browser: who may look at whom, exact counts, keys kept, tiles.
 *
 * The twin of `regard.pattern` for lengths that are drawn; tests hold it against Python on thousands of random
 * expressions.
 */
import { atoms, write } from "./pattern_text.js";

export { FIELDS, PatternError, atoms, parse, write } from "./pattern_text.js";

/** @typedef {import("./pattern_text.js").Atom} Atom */
/** @typedef {import("./pattern_text.js").Pattern} Pattern */
/** @typedef {{recent: bigint, first: bigint, other: bigint}} Bound */

/** @param {Atom} atom @returns {bigint | null} */
function total({ word, fields }) {
  if (word === "documents") return /** @type {number[]} */ (fields.lengths).reduce((sum, one) => sum + BigInt(one), 0n);
  if (word === "neighbourhood" || word === "axial")
    return BigInt(/** @type {number} */ (fields.rows)) * BigInt(/** @type {number} */ (fields.cols));
  return null;
}

/** Why a pattern does not fit n queries and m keys; null where it does. @param {Pattern} pattern @param {number} n @param {number} [m] */
export function misfit(pattern, n, m = n) {
  const found = atoms(pattern);
  if (n > m && !found.every((one) => one.word === "full")) return `queries are the last n of m positions, so n ≤ m is needed, got n=${n}, m=${m}`;
  for (const one of found) {
    const size = total(one);
    if (size === null) continue;
    if (n === m && BigInt(m) !== size) return `${write(one)} covers ${size} positions, got n=${n}`;
    if (BigInt(m) > size) return `${write(one)} covers ${size} positions, got m=${m} keys`;
  }
  return null;
}

/** @param {number} x */
const mix1 = (x) => Math.imul(x ^ (x >>> 16), 0x45d9f3b) >>> 0;
/** @param {number} x */
const mix = (x) => { const y = mix1(mix1(x)); return (y ^ (y >>> 16)) >>> 0; };

/** The blocks that a block row of `randomblocks` draws. @param {number} row @param {number} count @param {number} seed */
function drawn(row, count, seed) {
  const out = [row];
  for (let stratum = 0; stratum < count; stratum++) {
    const from = Math.floor(row * stratum / count), to = Math.floor(row * (stratum + 1) / count);
    const mixed = mix((mix((mix(row) ^ Math.imul(stratum, 0x9e3779b1)) >>> 0) ^ seed) >>> 0);
    if (to > from) out.push(from + mixed % (to - from));
  }
  return out;
}

/** Mark the keys that the query at position q sees, of m. @param {Atom} atom @param {number} q @param {Uint8Array} out */
function seen({ word, fields }, q, out) {
  const m = out.length, f = /** @type {Record<string, number>} */ (fields);
  /** @param {number} lo @param {number} hi @param {number} [step] */
  const span = (lo, hi, step = 1) => {
    if (step === 1) { if (hi > 0 && lo < m) out.fill(1, Math.max(0, lo), Math.min(m, hi)); return; }
    for (let k = lo < 0 ? lo + step * Math.ceil(-lo / step) : lo; k < Math.min(m, hi); k += step) out[k] = 1;
  };
  switch (word) {
    case "full": span(0, m); break;
    case "causal": span(0, q + 1); break;
    case "strided": span(q - f.back, q + 1); break;
    case "local": span(q - f.reach, q + f.reach + 1); break;
    case "windowed": span(q - q % f.size, q + 1); break;
    case "blocks": span(q - q % f.size, q - q % f.size + f.size); break;
    case "dilated": span(q - Math.min(f.back, Math.floor(q / f.step)) * f.step, q + 1, f.step); break;
    case "sparsestrided": span(q - f.stride, q + 1); span(q % f.stride, q + 1, f.stride); break;
    case "sparsefixed": {
      const begin = q - q % f.stride;
      span(begin, q + 1);
      for (let block = 0; block < begin; block += f.stride) span(block + f.stride - f.summary, Math.min(begin, block + f.stride));
      break;
    }
    case "global": span(0, q < f.first ? m : f.first); break;
    case "prefix": span(0, q < f.length ? Math.max(f.length, q + 1) : q + 1); break;
    case "documents": {
      let begin = 0;
      for (const length of /** @type {number[]} */ (fields.lengths)) {
        if (q < begin + length) { span(begin, begin + length); break; }
        begin += length;
      }
      break;
    }
    case "neighbourhood": {
      const row = Math.floor(q / f.cols), col = q % f.cols;
      const left = Math.max(0, col - f.reach), right = Math.min(f.cols, col + f.reach + 1);
      for (let other = Math.max(0, row - f.reach); other <= Math.min(f.rows - 1, row + f.reach) && other * f.cols < m; other++)
        span(other * f.cols + left, other * f.cols + right);
      break;
    }
    case "axial": {
      const begin = q - q % f.cols;
      span(begin, begin + f.cols);
      span(q % f.cols, m, f.cols);
      break;
    }
    case "randomblocks":
      for (const block of drawn(Math.floor(q / f.size), f.per_row, f.seed)) span(block * f.size, (block + 1) * f.size);
      break;
  }
}

/** The keys that the query at position q sees: 0 or 1 for each of m. @param {Pattern} pattern @param {number} q @param {number} m */
export function row(pattern, q, m) {
  const out = new Uint8Array(m);
  if (pattern.op === "atom") { seen(pattern, q, out); return out; }
  const parts = pattern.parts.map((one) => row(one, q, m)), first = parts[0];
  for (let k = 0; k < m; k++) {
    if (pattern.op === "not") { out[k] = 1 - first[k]; continue; }
    let value = first[k];
    for (let i = 1; i < parts.length; i++) value = pattern.op === "and" ? value & parts[i][k] : value | parts[i][k];
    out[k] = value;
  }
  return out;
}

/** Whether the query at position q may look at key k. @param {Pattern} pattern @param {number} q @param {number} k */
export const allows = (pattern, q, k) => row(pattern, q, Math.max(q, k) + 1)[k] === 1;

/** The mask of the last n of m positions, row by row. @param {Pattern} pattern @param {number} n @param {number} [m] */
export function dense(pattern, n, m = n) {
  const out = new Uint8Array(n * m);
  for (let i = 0; i < n; i++) out.set(row(pattern, i + m - n, m), i * m);
  return out;
}

/** How many keys each query sees. @param {Pattern} pattern @param {number} n @param {number} [m] */
export function rowPairs(pattern, n, m = n) {
  return Array.from({ length: n }, (_, i) => row(pattern, i + m - n, m).reduce((sum, one) => sum + one, 0));
}

/** The exact number of allowed pairs. @param {Pattern} pattern @param {number} n @param {number} [m] @returns {bigint} */
export const pairs = (pattern, n, m = n) => rowPairs(pattern, n, m).reduce((sum, one) => sum + BigInt(one), 0n);

/** @param {Partial<Bound>} [bound] @returns {Bound} */
const bound = ({ recent = 0n, first = 0n, other = 0n } = {}) => ({ recent, first, other });
/** @param {Bound} b */
const sum = (b) => b.recent + b.first + b.other;
/** @param {bigint} a @param {bigint} b */
const least = (a, b) => (a < b ? a : b);

/** @param {Atom} atom @param {boolean} negated @returns {Bound | null} */
function atomKept({ word, fields }, negated) {
  if (negated) return ["full", "causal", "prefix"].includes(word) ? bound() : null;
  if (word === "documents") return bound({ recent: BigInt(/** @type {number[]} */ (fields.lengths).reduce((a, b) => Math.max(a, b))) });
  const f = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, BigInt(/** @type {number} */ (value))]));
  switch (word) {
    case "strided": return bound({ recent: f.back + 1n });
    case "local": return bound({ recent: f.reach + 1n });
    case "windowed": case "blocks": return bound({ recent: f.size });
    case "dilated": return bound({ recent: f.back * f.step + 1n });
    case "sparsefixed": return f.summary ? null : bound({ recent: f.stride });
    case "global": return bound({ first: f.first });
    case "randomblocks": return f.per_row ? null : bound({ recent: f.size });
    case "neighbourhood": return bound({ recent: least(f.reach, f.rows - 1n) * f.cols + least(f.reach, f.cols - 1n) + 1n });
    case "axial": return bound({ other: f.rows === 1n ? f.cols : (f.rows - 1n) * f.cols + 1n });
    default: return null;
  }
}

/** @param {Pattern} pattern @param {boolean} negated @returns {Bound | null} */
function kept(pattern, negated) {
  if (pattern.op === "atom") return atomKept(pattern, negated);
  if (pattern.op === "not") return kept(pattern.parts[0], !negated);
  const bounds = pattern.parts.map((one) => kept(one, negated));
  if ((pattern.op === "and") !== negated)  // the complement of a union is an intersection
    return bounds.reduce((a, b) => (a === null ? b : b === null || sum(a) <= sum(b) ? a : b));
  /** @type {Bound | null} */
  let out = bound();
  for (const one of bounds) {
    if (one === null || out === null) return null;
    out = {
      recent: out.recent > one.recent ? out.recent : one.recent,
      first: out.first > one.first ? out.first : one.first,
      other: out.other + one.other,
    };
  }
  return out;
}

/** At most how many keys decoding must keep, whatever the length; null where there is no bound. @param {Pattern} pattern @returns {bigint | null} */
export function keysKept(pattern) {
  const found = kept(pattern, false);
  const bounds = atoms(pattern).map(total).filter((one) => one !== null);
  if (found !== null) bounds.push(sum(found));
  return bounds.length ? bounds.reduce(least) : null;
}

/** How many keys k ≤ q some query from q on still sees, for each q < n: what a cache must hold at that step. @param {Uint8Array} mask @param {number} n */
export function held(mask, n) {
  const last = lastUse(mask, n), out = new Array(n).fill(0);
  for (let k = 0; k < n; k++) for (let q = k; q <= last[k]; q++) out[q]++;
  return out;
}

/** The last query that sees each key; −1 where none from the key on does. @param {Uint8Array} mask @param {number} n */
export function lastUse(mask, n) {
  const last = new Array(n).fill(-1);
  for (let q = 0; q < n; q++) for (let k = 0; k <= q; k++) if (mask[q * n + k]) last[k] = q;
  return last;
}

/** The state of each size×size tile: 0 empty, 1 partial, 2 full; ragged ones by the cells that exist. @param {Uint8Array} mask @param {number} n @param {number} size */
export function tiles(mask, n, size) {
  const side = Math.ceil(n / size), out = new Uint8Array(side * side);
  for (let i = 0; i < side; i++) for (let j = 0; j < side; j++) {
    let some = false, every = true;
    for (let q = i * size; q < Math.min(n, (i + 1) * size); q++)
      for (let k = j * size; k < Math.min(n, (j + 1) * size); k++)
        if (mask[q * n + k]) some = true; else every = false;
    out[i * side + j] = some ? (every ? 2 : 1) : 0;
  }
  return out;
}
