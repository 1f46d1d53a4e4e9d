// @ts-check
/** From logits to chances, as `regard.models.sampling` does it: temperature, the k likeliest, the fewest that make up p. */

/** @typedef {{temperature: number, topk: number, topp: number}} How topk 0 and topp 1 leave everything in */

/** Tokens from the likeliest down; of equals the first. @param {Float32Array} logits @param {number[]} [banned] tokens that never come */
export function ranked(logits, banned = []) {
  const out = Uint32Array.from(logits, (_, i) => i).sort((a, b) => logits[b] - logits[a] || a - b);
  return banned.length ? out.filter((one) => !banned.includes(one)) : out;
}

/**
 * The chance of each token in that order: a row as long as the order, with zeros where a token was cut off.
 * @param {Float32Array} logits @param {Uint32Array} order @param {How} how
 */
export function chances(logits, order, { temperature, topk, topp }) {
  const out = new Float64Array(order.length);
  if (temperature === 0) { out[0] = 1; return out; }
  const best = logits[order[0]], kept = topk ? Math.min(topk, order.length) : order.length;
  let sum = 0;
  for (let i = 0; i < kept; i++) sum += out[i] = Math.exp((logits[order[i]] - best) / temperature);
  for (let i = 0; i < kept; i++) out[i] /= sum;
  if (topp >= 1) return out;
  let before = 0, last = 0;
  for (; last < kept && before < topp; last++) before += out[last];  // what came before suffices already
  for (let i = 0; i < kept; i++) out[i] = i < last ? out[i] / before : 0;
  return out;
}
