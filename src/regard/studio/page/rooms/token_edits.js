// @ts-check
/** Which cells of which masks were edited, as the URL holds them: "layer.head.row.columns", the columns as bits. */

const FORM = /^(\d+)\.(\d+)\.(\d+)\.([0-9a-f]{1,12})$/;

/** Only what has that form, each row once. @param {string[]} edits */
export function cleaned(edits) {
  /** @type {Map<string, bigint>} */
  const rows = new Map();
  for (const one of edits.slice(0, 4096)) {
    const found = FORM.exec(one);
    if (found) rows.set(`${+found[1]}.${+found[2]}.${+found[3]}`, BigInt(`0x${found[4]}`));
  }
  return written(rows);
}

/** @param {Map<string, bigint>} rows */
const written = (rows) => [...rows].filter(([, bits]) => bits).map(([at, bits]) => `${at}.${bits.toString(16)}`).sort();

/** @param {string[]} edits */
const read = (edits) => new Map(edits.map((one) => { const cut = one.lastIndexOf("."); return [one.slice(0, cut), BigInt(`0x${one.slice(cut + 1)}`)]; }));

/** Whether each cell of a head is edited, row by row. @param {string[]} edits @param {number} layer @param {number} head @param {number} n */
export function editedCells(edits, layer, head, n) {
  const rows = read(edits), out = new Uint8Array(n * n);
  for (let row = 0; row < n; row++) {
    const bits = rows.get(`${layer}.${head}.${row}`) ?? 0n;
    for (let col = 0; bits >> BigInt(col); col++) if (col < n) out[row * n + col] = Number((bits >> BigInt(col)) & 1n);
  }
  return out;
}

/** The edits with one cell changed. @param {string[]} edits @param {number} layer @param {number} head @param {number} row @param {number} col */
export function flipped(edits, layer, head, row, col) {
  const rows = read(edits), at = `${layer}.${head}.${row}`;
  rows.set(at, (rows.get(at) ?? 0n) ^ (1n << BigInt(col)));
  return written(rows);
}

/** What is left when a head is as its model has it. @param {string[]} edits @param {number} layer @param {number} head */
export const without = (edits, layer, head) => edits.filter((one) => !one.startsWith(`${layer}.${head}.`));
