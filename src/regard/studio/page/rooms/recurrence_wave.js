// @ts-check
/** The wavefront beside the double loop: play, stop, scrub; a cell shows what it waits for and depends on. */
import { STARTS, dependsOn, depth, paths, steps, waitsFor } from "../../../paper/browser/recurrence.js";
import { CellGrid } from "../parts/cells.js";
import { curves } from "../parts/curves.js";
import { h, s, whole } from "../parts/dom.js";
import { saveCsv, saveSvgPng, saveSvg, savers } from "../parts/exports.js";
import { segments, select, slider } from "../parts/fields.js";
import { facts, gallery } from "../parts/table.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */

const ORDERS = /** @type {["wave" | "loop", string][]} */ ([["wave", "The wavefront"], ["loop", "The double loop"]]);
/** @type {[string, number, number, string][]} */
const EXAMPLES = [["An image", 5, 7, "top-left"], ["A large square", 10, 10, "top-left"], ["A sentence", 1, 10, "top-left"], ["Two sentences", 6, 8, "top-left"], ["Tall", 9, 3, "top-left"], ["From behind", 5, 7, "bottom-right"]];
const PLAY = "M6 4l10 6-10 6z", PAUSE = "M5 4h4v12H5zM11 4h4v12h-4z";

/** State needs rows, cols, start, step and speed. @param {State} state */
export function wave(state) {
  const grids = ORDERS.map(() => new CellGrid({ most: 58, words: false }));
  const notes = ORDERS.map(([order]) => h("p", { class: "quiet number", "data-read": order }));
  const words = h("p", { class: "readout", "aria-live": "polite", "data-read": "cell" });
  const scrub = h("input", { type: "range", min: 0, max: 1, step: 1, "aria-label": "after step", "data-key": "step" });
  const icon = s("path", { d: PLAY }), button = h("button", { type: "button", class: "button main play", "aria-label": "Play" }, s("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, icon), h("span", {}, "Play"));
  const clock = h("output", { class: "number clock" }), list = h("div"), strip = h("div");
  let timer = 0, built = "", lit = -1;
  /** @type {[number, number]} */
  let pointed = [-1, -1];

  const playing = () => timer !== 0;
  const last = () => depthOf(state.values, "loop");
  function label() {
    const now = playing();
    icon.setAttribute("d", now ? PAUSE : PLAY);
    button.setAttribute("aria-label", now ? "Pause" : "Play");
    /** @type {HTMLElement} */ (button.lastElementChild).textContent = now ? "Pause" : "Play";
  }
  function stop() {
    if (!timer) return;
    clearTimeout(timer);
    timer = 0;
    label();
    state.commit();
  }
  function tick() {
    const { step, speed } = state.values;
    if (step >= last()) { stop(); return; }
    state.set({ step: step + 1 });
    clearTimeout(state.timer);  // one play is one step of the history, at its end
    timer = window.setTimeout(tick, 1000 / Number(speed));
  }
  button.addEventListener("click", () => {
    if (playing()) { stop(); return; }
    if (state.values.step >= last()) state.set({ step: 0 });
    timer = window.setTimeout(tick, 1000 / Number(state.values.speed));
    label();
  });
  scrub.addEventListener("input", () => { stop(); state.set({ step: Number(scrub.value) }); });
  scrub.addEventListener("change", () => state.commit());

  grids.forEach((grid, i) => {
    grid.onpoint = (row, col) => {
      pointed = [row, col];
      grids.forEach((other, j) => { if (j !== i) other.point(row, col); });
      tell(state.values);
    };
  });

  /** @param {Values} values */
  function tell(values) {
    const [row, col] = pointed, { rows, cols, start } = values;
    if (row < 0 || row >= rows || col >= cols) {
      words.textContent = "Point at a cell: outlined are the cells that it waits for, and all inputs that it depends on.";
      return;
    }
    const before = waitsFor(rows, cols, start, row, col).map(([r, c]) => `(${r + 1}, ${c + 1})`), i = row * cols + col;
    const seen = Array.from({ length: rows * cols }, (_, j) => dependsOn(rows, cols, start, [row, col], [Math.floor(j / cols), j % cols])).filter(Boolean).length;
    const [w, l] = ORDERS.map(([order]) => steps(rows, cols, start, order)[i] + 1);
    const ways = paths(rows, cols, start)[i];
    words.textContent = `Cell (${row + 1}, ${col + 1}) waits for ${before.join(" and ") || "nothing"}. It depends on ${whole(seen)} of ${rows * cols} inputs, and the first reaches it on ${whole(ways)} path${ways > 1 ? "s" : ""}. Computed in step ${w} of ${rows + cols - 1} by the wavefront, in step ${l} of ${rows * cols} by the loop.`;
  }

  /** @param {Values} values */
  function show(values) {
    const { rows, cols, start, step } = values, ways = paths(rows, cols, start), total = rows * cols;
    ORDERS.forEach(([order, name], i) => {
      const when = steps(rows, cols, start, order), count = depth(rows, cols, order), at = Math.min(step, count), now = at - 1;
      const done = when.filter((one) => one <= now).length, mine = when.filter((one) => one === now).length;
      grids[i].show({
        rows, cols, label: `${name}: ${done} of ${total} cells computed`, tell: () => "",
        cell: (row, col) => {
          const j = row * cols + col, is = when[j], [r, c] = pointed;
          const kind = r < 0 || r >= rows || c >= cols ? "" : waitsFor(rows, cols, start, r, c).some(([a, b]) => a === row && b === col) ? "needs" : dependsOn(rows, cols, start, [r, c], [row, col]) ? "reach" : "";
          const glow = order === "wave" && is === lit ? " lit" : "";
          if (is > now) return { kind: `${kind}${glow}`, text: "" };
          return is === now ? { text: whole(ways[j]), fill: "--now", ink: "#1a1f2b", kind: `${kind}${glow}` } : { text: whole(ways[j]), fill: "--seen", ink: "--on-accent", kind: `${kind}${glow}` };
        },
      });
      notes[i].textContent = at === 0 ? `0 of ${total} cells; ${count} steps one after another` : `step ${at} of ${count}: ${done} of ${total} cells, ${mine} of them now`;
    });
    scrub.max = String(total);
    if (Number(scrub.value) !== step) scrub.value = String(step);
    scrub.style.setProperty("--part", `${(100 * step) / total}%`);
    clock.textContent = `after step ${step} of ${total}`;
    tell(values);
    const shape = `${rows} ${cols} ${start}`;
    if (shape === built) return;
    built = shape;
    const count = rows + cols - 1, when = steps(rows, cols, start, "wave");
    list.replaceChildren(facts([
      ["cells", `${rows} × ${cols} = ${whole(total)}`], ["steps, double loop", whole(total), "one cell at a time"],
      ["steps, wavefront", `${rows} + ${cols} − 1 = ${count}`, total > count ? `${Number((total / count).toPrecision(3))}× fewer` : "as many"],
      ["widest diagonal", `${Math.min(rows, cols)} cell${Math.min(rows, cols) > 1 ? "s" : ""} at once`],
      ["paths to the last cell", whole(Math.max(...ways)), "so often does the first input enter it"],
    ]));
    strip.replaceChildren(curves({
      series: [{ name: "cells", points: Array.from({ length: count }, (_, d) => [d + 1, when.filter((one) => one === d).length]) }],
      x: { label: "step", from: 1, to: Math.max(2, count) }, y: { label: "cells at once" }, height: 190, label: "Cells of each diagonal",
      onpoint: (at) => { lit = at === null ? -1 : at - 1; grids[0].refresh(); },
    }));
  }

  const rowsOf = () => {
    const { rows, cols, start } = state.values, [w, l] = ORDERS.map(([order]) => steps(rows, cols, start, order)), ways = paths(rows, cols, start);
    return [["row", "col", "step of the wavefront", "step of the loop", "paths"], ...w.map((step, i) => [Math.floor(i / cols) + 1, (i % cols) + 1, step + 1, l[i] + 1, ways[i]])];
  };
  const element = h("section", { class: "stack", "aria-label": "Wavefront" },
    gallery(state, EXAMPLES.map(([name, rows, cols, start]) => ({ name, set: () => ({ rows, cols, start, step: Math.ceil((rows * cols) / 5) }) })), "Grids"),
    h("div", { class: "card controls" }, h("div", { class: "bar" },
      slider(state, "rows", { label: "rows", min: 1, max: 10 }), slider(state, "cols", { label: "columns", min: 1, max: 10 }),
      select(state, "start", { label: "from the", options: Object.keys(STARTS).map((one) => /** @type {[string, string]} */ ([one, one.replace("-", " ")])) }))),
    h("div", { class: "card" },
      h("div", { class: "bar player" }, button, h("div", { class: "scrub" }, scrub, clock), segments(state, "speed", { label: "steps a second", hidden: true, options: [["2", "Slow"], ["4", "Medium"], ["8", "Fast"]] })),
      h("div", { class: "two waves" }, ...grids.map((grid, i) => h("div", {}, h("h3", {}, ORDERS[i][1]), grid.element, notes[i]))),
      words,
      h("div", { class: "legend" }, ...[["--now", "computed now"], ["--seen", "computed before"], ["--unseen", "not yet"]].map(([one, text]) => h("span", {}, h("i", { style: { background: `var(${one})` } }), text)), h("span", {}, "numbers: paths from the first cell"))),
    h("div", { class: "two" }, h("div", { class: "card" }, h("h3", {}, "In numbers"), list),
      h("div", { class: "card" }, h("h3", {}, "How much runs at once"), strip,
        savers({ PNG: () => saveSvgPng("wavefront.png", grids[0].picture), SVG: () => saveSvg("wavefront.svg", grids[0].picture), CSV: () => saveCsv("wavefront.csv", rowsOf()) }))));
  return { element, show, rest: stop };
}

/** @param {Values} values @param {"loop" | "wave"} order */
const depthOf = ({ rows, cols }, order) => depth(rows, cols, order);
