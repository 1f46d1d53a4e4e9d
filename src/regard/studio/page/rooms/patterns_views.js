// @ts-check
/** The four ways to look at a pattern: its pairs, its tiles, what a cache holds, what ranks exchange. */
import { held, lastUse, tiles } from "../../../paper/browser/pattern.js";
import { curves } from "../parts/curves.js";
import { percent, whole } from "../parts/dom.js";
import { table } from "../parts/table.js";

/** @typedef {import("./patterns.js").Counted} Counted */
/** @typedef {import("../../../paper/browser/exchange.js").Exchange} Exchange */
/** @typedef {import("../parts/state.js").Values} Values */
/**
 * @typedef {object} Look
 * @property {{levels: ArrayLike<number>, colours: string[], tell: (q: number, k: number) => string, cuts?: [number, number][]}} cells
 * @property {[string, string][]} legend
 * @property {[string, string, string?][]} facts
 */

/** @param {Counted} found */
const kept = ({ kept: most }) => /** @type {[string, string, string]} */ (["keys kept decoding", most === null ? "all of them" : `${whole(most)} at most`, most === null ? "the cache grows with n" : "whatever the length"]);

/** How the picture looks. @param {Values} values @param {Counted} found @param {Counted | null} other @param {Exchange | null} plan @returns {Look} */
export function looks(values, found, other, plan) {
  const { n } = values, { mask, rows } = found, at = (/** @type {number} */ q, /** @type {number} */ k) => mask[q * n + k];
  const cell = (/** @type {number} */ q, /** @type {number} */ k) => `query ${q} ${at(q, k) ? "sees" : "does not see"} key ${k}; it sees ${whole(rows[q])} of ${n}`;
  if (values.view === "tiles") return byTile(values, found, cell);
  if (values.view === "cache") return byCache(values, found, cell);
  if (plan) {
    const levels = mask.map((one, i) => (one ? (plan.holder[Math.floor(i / n)] === plan.holder[i % n] ? 1 : 2) : 0));
    const inner = plan.deal.bounds.slice(1, -1);
    return {
      cells: {
        levels, colours: ["--unseen", "--seen", "--other"], cuts: inner.map((one) => [one, one]),
        tell: (q, k) => `${cell(q, k)}. Query on rank ${plan.holder[q]}, key on rank ${plan.holder[k]}`,
      },
      legend: [["--seen", "key on the same rank"], ["--other", "key of another rank"]],
      facts: [...exchanged({ ...plan, deal: plan.deal.name }), kept(found)],
    };
  }
  const most = Math.max(...rows), least = Math.min(...rows);
  /** @type {[string, string, string?][]} */
  const numbers = [["keys of a query", least === most ? whole(most) : `${whole(least)} to ${whole(most)}`, `${Number((found.pairs / n).toPrecision(4))} on average`], kept(found)];
  if (!other || other.mask.length !== mask.length) return { cells: { levels: mask, colours: ["--unseen", "--seen"], tell: cell }, legend: [["--seen", "seen"], ["--unseen", "not seen"]], facts: numbers };
  const levels = mask.map((one, i) => (one ? (other.mask[i] ? 1 : 2) : 0)), shared = levels.reduce((sum, one) => sum + (one === 1 ? 1 : 0), 0);
  return {
    cells: { levels, colours: ["--unseen", "--seen", "--other"], tell: (q, k) => `${cell(q, k)}; the other pattern ${other.mask[q * n + k] ? "sees it" : "does not"}` },
    legend: [["--seen", `seen by both, ${whole(shared)}`], ["--other", `by this one alone, ${whole(found.pairs - shared)}`]], facts: numbers,
  };
}

/** @param {Values} values @param {Counted} found @param {(q: number, k: number) => string} cell @returns {Look} */
function byTile({ n, tile }, { mask, pairs, ...rest }, cell) {
  const side = Math.ceil(n / tile), states = tiles(mask, n, tile), of = (/** @type {number} */ i) => states[Math.floor(Math.floor(i / n) / tile) * side + Math.floor((i % n) / tile)];
  const levels = mask.map((one, i) => [0, one ? 2 : 1, 3][of(i)]), computed = levels.reduce((sum, one) => sum + (one ? 1 : 0), 0);
  const count = (/** @type {number} */ state) => states.reduce((sum, one) => sum + (one === state ? 1 : 0), 0);
  return {
    cells: { levels, colours: ["--unseen", "--wasted", "--half", "--seen"], tell: (q, k) => `${cell(q, k)}; its ${tile}×${tile} tile is ${["empty: skipped", "partial: computed, then masked", "full: computed without a mask"][of(q * n + k)]}` },
    legend: [["--seen", "full tile"], ["--half", "partial tile, seen"], ["--wasted", "partial tile, masked"], ["--unseen", "empty tile"]],
    facts: [
      [`${whole(states.length)} tiles`, `${whole(count(2))} full, ${whole(count(1))} partial`, `${whole(count(0))} empty, which a kernel skips`],
      ["cells computed", whole(computed), pairs ? `${Number((computed / pairs).toPrecision(3))}× the pairs that count` : ""], kept({ mask, pairs, ...rest }),
    ],
  };
}

/** @param {Values} values @param {Counted} found @param {(q: number, k: number) => string} cell @returns {Look} */
function byCache({ n }, found, cell) {
  const last = lastUse(found.mask, n), holds = held(found.mask, n), most = Math.max(...holds);
  const levels = found.mask.map((one, i) => { const q = Math.floor(i / n), k = i % n; return k > q ? (one ? 3 : 0) : one ? 2 : last[k] >= q ? 1 : 0; });
  return {
    cells: {
      levels, colours: ["--unseen", "--half", "--seen", "--other"],
      tell: (q, k) => `step ${q} holds ${whole(holds[q])} keys. ${cell(q, k)}; ${k > q ? "key " + k + " is not yet there" : last[k] < q ? `key ${k} is needed no more` : `key ${k} is last seen at step ${last[k]}`}`,
    },
    legend: [["--seen", "seen now"], ["--half", "held for later"], ...(levels.includes(3) ? [/** @type {[string, string]} */ (["--other", "seen, but in the future"])] : [])],
    facts: [["held at most, up to n", `${whole(most)} keys`, `of ${whole(n)} without forgetting`], kept(found)],
  };
}

/** What an exchange comes to. @param {{keys: number, ring: number, imbalance: number, deal: string}} plan @returns {[string, string, string?][]} */
export const exchanged = ({ keys, ring, imbalance, deal }) => [
  ["keys exchanged", whole(keys), ring ? `${percent(keys / ring)} of the ${whole(ring)} of a ring` : ""],
  ["busiest rank", `${imbalance.toFixed(3)}× the mean`, `dealt ${/** @type {Record<string, string>} */ ({ even: "in equal stretches", zigzag: "in a zigzag", pairs: "by equal pairs" })[deal]}`],
];

/** What each rank does. @param {{held: number[], pairs: number[], received: number[], sent: number[]}} plan */
export const byRank = ({ held: has, pairs, received, sent }) =>
  table(["rank", "positions", "pairs", "keys in", "keys out"], has.map((count, i) => [String(i), whole(count), whole(pairs[i]), whole(received[i]), whole(sent[i])]), "What each rank does");

/** What stands below the picture. @param {Values} values @param {Counted} found @param {Exchange | null} plan @param {(q: number | null) => void} point @returns {Node[]} */
export function extra(values, found, plan, point) {
  if (values.view === "cache") {
    const points = held(found.mask, values.n).map((count, q) => /** @type {[number, number]} */ ([q, count]));
    return [curves({ series: [{ name: "held", points }], x: { label: "step" }, y: { label: "keys held" }, height: 200, label: "Keys held at each step", onpoint: point })];
  }
  if (!plan) return [];
  return [byRank(plan)];
}
