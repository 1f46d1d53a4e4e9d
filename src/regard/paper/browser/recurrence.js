// @ts-check
/**
 * A recurrence over a grid in the browser: when a cell can be computed, what it waits for, on how many paths.
 *
 * The twin of `regard.recurrence.grid_rnn` where it counts paths; tests hold it against Python.
 */

/** The corners where a scan may begin: whether it runs upwards, and whether to the left. @type {Record<string, [boolean, boolean]>} */
export const STARTS = { "top-left": [false, false], "top-right": [false, true], "bottom-left": [true, false], "bottom-right": [true, true] };

/** A cell as it lies from the corner where the scan begins. @param {number} rows @param {number} cols @param {string} start @param {number} row @param {number} col @returns {[number, number]} */
const from = (rows, cols, start, row, col) => [STARTS[start][0] ? rows - 1 - row : row, STARTS[start][1] ? cols - 1 - col : col];

/** The step in which each cell is computed, row by row: by a double loop, one after another, or by a wavefront, a diagonal at a time. @param {number} rows @param {number} cols @param {string} start @param {"loop" | "wave"} order */
export function steps(rows, cols, start, order) {
  return Array.from({ length: rows * cols }, (_, i) => {
    const [r, c] = from(rows, cols, start, Math.floor(i / cols), i % cols);
    return order === "loop" ? r * cols + c : r + c;
  });
}

/** How many steps one after another: rows · cols, or rows + cols − 1. @param {number} rows @param {number} cols @param {"loop" | "wave"} order */
export const depth = (rows, cols, order) => (order === "loop" ? rows * cols : rows + cols - 1);

/** The one or two cells that a cell waits for, as [row, col]. @param {number} rows @param {number} cols @param {string} start @param {number} row @param {number} col @returns {[number, number][]} */
export function waitsFor(rows, cols, start, row, col) {
  const [up, left] = STARTS[start], before = /** @type {[number, number][]} */ ([[row, col + (left ? 1 : -1)], [row + (up ? 1 : -1), col]]);
  return before.filter(([r, c]) => r >= 0 && r < rows && c >= 0 && c < cols);
}

/** Whether the state of a cell depends on the input of another. @param {number} rows @param {number} cols @param {string} start @param {[number, number]} cell @param {[number, number]} other */
export function dependsOn(rows, cols, start, cell, other) {
  const [r, c] = from(rows, cols, start, ...cell), [a, b] = from(rows, cols, start, ...other);
  return a <= r && b <= c;
}

/** On how many paths the input of the first cell reaches each cell, row by row. @param {number} rows @param {number} cols @param {string} start */
export function paths(rows, cols, start) {
  const out = new Array(rows * cols).fill(0), order = steps(rows, cols, start, "wave");
  const last = rows + cols - 1;
  for (let step = 0; step < last; step++)
    order.forEach((one, i) => {
      if (one !== step) return;
      const before = waitsFor(rows, cols, start, Math.floor(i / cols), i % cols);
      out[i] = before.length ? before.reduce((sum, [r, c]) => sum + out[r * cols + c], 0) : 1;
    });
  return out;
}
