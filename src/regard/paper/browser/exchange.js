// @ts-check
/** Which keys ranks must exchange, from a mask: the twin of `regard.pattern.exchange` for lengths that are drawn. */

/** @typedef {{name: string, bounds: number[], holders: number[]}} Deal */
/**
 * @typedef {object} Exchange
 * @property {Deal} deal
 * @property {Uint8Array} holder the rank of each position
 * @property {number[]} held how many positions each rank has
 * @property {number[]} pairs how many it computes
 * @property {number[]} received how many keys of others it needs
 * @property {number[]} sent how many it sends, once for each receiver
 * @property {number} keys how many are sent, all together
 * @property {number} ring how many a ring would send
 * @property {number} imbalance the most pairs of a rank, in times the mean
 */

const UNEVEN = 1.1; // times the mean, up to which equal stretches are good enough

/** How n positions are dealt out: "even", "zigzag", "pairs" or "auto". @param {number[]} rows pairs of each query @param {number} ranks @param {string} name @returns {Deal} */
export function dealt(rows, ranks, name) {
  const n = rows.length;
  const even = { name: "even", bounds: cuts(n, ranks), holders: Array.from({ length: ranks }, (_, i) => i) };
  if (name === "pairs") return { name, bounds: equal(rows, ranks), holders: even.holders };
  if (name === "even" || ranks === 1) return even;
  const zigzag = { name: "zigzag", bounds: cuts(n, 2 * ranks), holders: [...even.holders, ...even.holders.toReversed()] };
  if (name === "zigzag") return zigzag;
  const uneven = imbalance(counts(rows, ranks, even));
  return uneven > UNEVEN && imbalance(counts(rows, ranks, zigzag)) < uneven ? zigzag : even;
}

/** What goes where. @param {Uint8Array} mask n×n @param {number[]} rows @param {number} ranks @param {string} name @returns {Exchange} */
export function exchange(mask, rows, ranks, name) {
  const n = rows.length, deal = dealt(rows, ranks, name), holder = new Uint8Array(n);
  deal.holders.forEach((rank, i) => holder.fill(rank, deal.bounds[i], deal.bounds[i + 1]));
  const needs = Array.from({ length: ranks }, () => new Uint8Array(n));
  for (let q = 0; q < n; q++) for (let k = 0; k < n; k++) if (mask[q * n + k] && holder[k] !== holder[q]) needs[holder[q]][k] = 1;
  const received = needs.map((one) => one.reduce((a, b) => a + b, 0)), sent = new Array(ranks).fill(0), held = new Array(ranks).fill(0);
  for (let k = 0; k < n; k++) { held[holder[k]]++; for (const one of needs) sent[holder[k]] += one[k]; }
  const pairs = counts(rows, ranks, deal);
  return { deal, holder, held, pairs, received, sent, keys: received.reduce((a, b) => a + b, 0), ring: n * (ranks - 1), imbalance: imbalance(pairs) };
}

/** @param {number} n @param {number} parts */
const cuts = (n, parts) => Array.from({ length: parts + 1 }, (_, i) => Math.floor((i * n) / parts));

/** @param {number[]} rows @param {number} ranks @param {Deal} deal */
function counts(rows, ranks, { bounds, holders }) {
  const out = new Array(ranks).fill(0);
  holders.forEach((rank, i) => { for (let q = bounds[i]; q < bounds[i + 1]; q++) out[rank] += rows[q]; });
  return out;
}

/** @param {number[]} pairs */
function imbalance(pairs) {
  const total = pairs.reduce((a, b) => a + b, 0);
  return total ? (Math.max(...pairs) * pairs.length) / total : 1;
}

/** Bounds of stretches of about equally many pairs. @param {number[]} rows @param {number} ranks */
function equal(rows, ranks) {
  const n = rows.length, after = [...rows, 0];
  for (let i = n - 1; i >= 0; i--) after[i] += after[i + 1];
  after[n] = 0;
  const bounds = [0];
  for (let rank = 1; rank < ranks; rank++) {
    let low = bounds[bounds.length - 1];
    while (low < n && after[low] * ranks > after[0] * (ranks - rank)) low++;
    bounds.push(low);
  }
  return [...bounds, n];
}
