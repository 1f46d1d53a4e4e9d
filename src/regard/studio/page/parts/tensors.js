// @ts-check
/** Numbers of a model as the server sends them: float32, all of their digits. */
import { percent } from "./dom.js";

/** @typedef {{shape: number[], data: string}} Packed */
/** @typedef {{values: Float32Array, rows: number, cols: number}} Matrix a vector is one row */

/** Bytes of a base64 text. @param {string} data */
export const bytes = (data) => Uint8Array.from(atob(data), (one) => one.charCodeAt(0));

/** @param {Packed} packed @returns {Matrix} */
export function unpack({ shape, data }) {
  const cols = shape[shape.length - 1];
  return { values: new Float32Array(bytes(data).buffer), rows: shape.length > 1 ? shape[0] : 1, cols };
}

/** A row of a matrix. @param {Matrix} matrix @param {number} i @returns {Matrix} */
export const row = ({ values, cols }, i) => ({ values: values.subarray(i * cols, (i + 1) * cols), rows: 1, cols });

/** A float32 with all the digits that it has. @param {number} value */
export const digits = (value) => (value === 0 ? "0" : Math.abs(value) < 1e-4 ? value.toExponential(4).replace("-", "−").replace("e-", "e−") : String(Number(value.toPrecision(7))).replace("-", "−"));

/** The same for a glance. @param {number} value */
export const brief = (value) => (Math.abs(value) >= 99.995 ? value.toFixed(1) : value.toFixed(2)).replace("-", "−");

/** What softens large differences for the eye: −1 to 1, the root of a share of the largest. @param {number} value @param {number} most */
export const softened = (value, most) => (most > 0 ? Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value) / most)) : 0);

/** The largest size among numbers. @param {ArrayLike<number>} values */
export function largest(values) {
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i]));
  return most;
}

/** A token as one can see it. @param {string} text */
export const visible = (text) => text.replaceAll(" ", "␣").replaceAll("\n", "⏎").replaceAll("\t", "⇥") || "∅";

/** A share for a glance, in three digits; the exact one is told where one points. @param {number} value */
export const share = (value) => (value > 0 && value < 5e-5 ? "< 0.01 %" : percent(Number(value.toPrecision(3)))).replaceAll(" ", "\u00a0");
