// @ts-check
/**
 * Convolution as a shared linear layer, in the browser: where each weight stands in its matrix, sizes, counts.
 *
 * The twin of `regard.sharing` for one dimension, and of its counts for two; tests hold it against Python.
 */

export class SizeError extends Error {}

/** How many windows fit: ⌊(n + 2·padding − kernel) / stride⌋ + 1. @param {number} n @param {number} kernel @param {number} stride @param {number} padding */
export function outputSize(n, kernel, stride, padding) {
  if (kernel > n + 2 * padding) throw new SizeError(`a filter of ${kernel} does not fit n + 2·padding = ${n + 2 * padding}`);
  return Math.floor((n + 2 * padding - kernel) / stride) + 1;
}

/** The matrix of a filter, row by row: which weight stands in each entry, −1 for none. @param {number} n @param {number} kernel @param {number} stride @param {number} padding */
export function entries(n, kernel, stride, padding) {
  const rows = outputSize(n, kernel, stride, padding), taps = new Int16Array(rows * n).fill(-1);
  for (let row = 0; row < rows; row++)
    for (let tap = 0; tap < kernel; tap++) {
      const col = row * stride - padding + tap;
      if (col >= 0 && col < n) taps[row * n + col] = tap;
    }
  return { rows, taps };
}

/**
 * Weights, biases not counted, of a convolution, of the same windows without sharing, and of a dense layer.
 * @param {{channels: number, rows: number, cols: number, filters: number, kernel: number, stride: number, padding: number}} layer
 */
export function compare({ channels, rows, cols, filters, kernel, stride, padding }) {
  const down = outputSize(rows, kernel, stride, padding), across = outputSize(cols, kernel, stride, padding);
  const places = BigInt(down) * BigInt(across), shared = BigInt(filters) * BigInt(channels) * BigInt(kernel) ** 2n;
  const inputs = BigInt(channels) * BigInt(rows) * BigInt(cols), outputs = BigInt(filters) * places;
  return { down, across, inputs, outputs, shared, unshared: shared * places, dense: inputs * outputs };
}
