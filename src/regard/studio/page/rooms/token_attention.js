// @ts-check
/** One head: queries, keys and values, the scores between them, the mask that one can edit, the softmax, the mixture. */
import { h } from "../parts/dom.js";
import { onPaper, save, saveCsv, savePng, savers } from "../parts/exports.js";
import { Grid, paint, svgOf } from "../parts/grid.js";
import { Strips, mixed, rgb, scale } from "../parts/strips.js";
import { brief, digits, largest, row as rowOf, share, softened, visible } from "../parts/tensors.js";
import { editedCells, flipped, without } from "./token_edits.js";
import { line, stage } from "./token_steps.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("./one_token.js").Reply} Reply */
/** @typedef {import("../parts/grid.js").Cells} Cells */

const LEVELS = 33;


/** @param {State} state @param {(row: number) => void} onrow called with the row that is looked at */
export function attention(state, onrow) {
  const ended = new AbortController();
  const names = () => reply?.tokens.map(visible) ?? [];
  const at = (/** @type {number} */ i) => `“${names()[i]}”`;
  const heats = ["query", "key", "value"].map((kind) => new Strips({ label: `${kind} of each token`, name: (row, col) => `${kind} of ${at(row)}, component ${col}`, onpoint: (row) => point(row < 0 ? -1 : row, -1) }));
  const projected = stage(3, "Query, key, value");
  projected.body.append(h("div", { class: "three" }, ...heats.map((heat, i) => h("div", {}, h("h3", {}, ["queries", "keys", "values"][i]), heat.element))));

  const grids = [new Grid({ most: 420 }), new Grid({ most: 420 }), new Grid({ most: 420 })];
  const titles = ["scores", "mask: click to edit", "weights: softmax of each row"];
  const boxes = grids.map((grid, i) => h("div", {}, h("h3", {}, titles[i]), h("div", { class: "labelled" }, h("div", { class: "labels", "aria-hidden": "true" }), grid.element)));
  const readout = h("p", { class: "readout", "aria-live": "polite", "data-read": "cell" });
  const restore = h("button", { type: "button", class: "button", onclick: () => { state.set({ edits: without(state.values.edits, state.values.layer, state.values.head) }); state.commit(); } }, "Restore this head's mask");
  const restoreAll = h("button", { type: "button", class: "button", onclick: () => { state.set({ edits: [] }); state.commit(); } }, "Restore all masks");
  const none = h("p", { class: "note", hidden: true }, "This layer mixes linearly: it keeps running sums in place of scores, so there is no softmax and no mask to edit. The weights are those that its output amounts to.");
  const detail = h("div", { class: "scroll keys", tabindex: 0, role: "region", "aria-label": "Every key of the row" });
  const product = new Strips({ label: "query, key and their products", lines: 16, name: (row, col) => `${["query of " + at(here.row), "key of " + at(here.col), "their product"][row]}, component ${col}` });
  const sum = h("p", { class: "quiet", "data-read": "product" });
  const products = h("div", {}, h("h3", {}, "query × key, component by component"), h("div", { class: "trio" }, h("div", { class: "names", "aria-hidden": "true" }, h("span", {}, "q"), h("span", {}, "k"), h("span", {}, "q × k")), product.element), sum);
  const files = savers({
    PNG: () => { if (drawn[2]) savePng("attention.png", 1200, 1200, (ctx) => paint(ctx, onpaper(drawn[2]), 1200, 1200, onPaper)); },
    SVG: () => { if (drawn[2]) save("attention.svg", svgOf(onpaper(drawn[2]), onPaper, drawn[2].label), "image/svg+xml"); },
    CSV: () => csv(),
  });
  files.append(restore, restoreAll);
  const looked = stage(4, "Scores, mask, softmax");
  const becomes = h("p", { class: "becomes", "data-read": "becomes" });
  looked.body.append(none, h("div", { class: "three grids" }, ...boxes), h("div", {}, readout, becomes), files, h("div", { class: "rowdetail" }, detail, products));

  const contributions = new Strips({ label: "weight × value of each token", name: (row, col) => `weight × value of ${at(row)}, component ${col}` });
  const mixture = line("their sum: the head's mixture", "mixture of this head");
  const gathered = stage(5, "The mixture");
  gathered.body.append(h("div", { class: "line" }, h("div", { class: "what" }, "weight × value, a row a token"), contributions.element), mixture.element);
  const joined = line("all heads side by side", "mixtures of all heads"), attended = line("projected by the output matrix", "output of attention"), between = line("added to what came in", "the stream after attention");
  gathered.body.append(joined.element, attended.element, between.element);

  /** @type {Reply | null} */
  let reply = null;
  /** @type {Cells[]} */
  let drawn = [];
  let here = { row: 0, col: 0 }, pointed = [-1, -1], painting = /** @type {number | null} */ (null);

  /** The mask as it is now, the server's own with the edits that it may not have heard of yet. */
  const mask = () => {
    if (!reply?.attention.own) return null;
    const n = reply.tokens.length, edits = editedCells(state.values.edits, state.values.layer, state.values.head, n);
    return { edits, now: Uint8Array.from(edits, (one, i) => one ^ Number(/** @type {string[]} */ (reply?.attention.own)[Math.floor(i / n)][i % n])) };
  };

  function edit(/** @type {number} */ row, /** @type {number} */ col) {
    const found = mask();
    if (!found || !reply || row < 0) return;
    const was = found.now[row * reply.tokens.length + col];
    if (painting === null) painting = 1 - was;
    if (was === painting) return;
    state.set({ edits: flipped(state.values.edits, state.values.layer, state.values.head, row, col) });
    clearTimeout(state.timer);  // a drag is one step of the history, however slow
  }
  grids.forEach((grid, i) => {
    grid.words.hidden = true;
    grid.onpoint = (row, col) => { grids.forEach((other) => { if (other !== grid) other.point(row, col); }); point(row, col); };
    const { canvas } = grid;
    const cell = () => `${grid.row} ${grid.col}`, done = () => { if (painting !== null) { painting = null; state.commit(); } };
    let touched = "", known = "";  // a finger may scroll: it edits where it leaves, and outside of the mask only what it points at already
    canvas.addEventListener("pointerdown", (event) => {
      painting = null;
      if (event.pointerType === "touch") [touched, known] = [cell(), i === 1 ? cell() : touched];
      else if (!event.button) edit(grid.row, grid.col);
    });
    canvas.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch" && event.buttons & 1 && painting !== null) edit(grid.row, grid.col); });
    canvas.addEventListener("pointerup", (event) => { if (event.pointerType === "touch" && known === cell()) { edit(grid.row, grid.col); done(); } });
    addEventListener("pointerup", done, { signal: ended.signal });
    canvas.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      edit(grid.row, grid.col);
      painting = null;
      state.commit();
    });
  });

  function point(/** @type {number} */ row, /** @type {number} */ col) {
    if (!reply) return;
    const { weights } = reply.attention, n = weights.rows;
    pointed = [row, col];
    here.row = row < 0 ? reply.token : row;
    const of = weights.values.subarray(here.row * n, (here.row + 1) * n);
    here.col = col >= 0 ? col : of.indexOf(of.reduce((a, b) => Math.max(a, b), -1));
    heats[0].mark(here.row);
    for (const heat of [heats[1], heats[2]]) heat.mark(here.col);
    tell(row >= 0 && col >= 0);
    onrow(here.row);
  }

  /** All that is said of the row and the cell one looks at. @param {boolean} cell */
  function tell(cell) {
    if (!reply) return;
    const { query, key, value, scores, bias, weights, mixture: mixtures } = reply.attention, n = weights.rows, { row, col } = here, found = mask();
    const q = rowOf(query, row).values, dot = (/** @type {number} */ k) => rowOf(key, k).values.reduce((total, one, i) => total + one * q[i], 0);
    const weight = (/** @type {number} */ k) => weights.values[row * n + k];
    const scaled = reply.model.scale ? ` × ${Number(reply.model.scale.toPrecision(4))}` : "";
    const head = ["looks at", "q·k", ...(scores ? ["score"] : []), ...(bias ? ["of it bias"] : []), "weight"];
    detail.replaceChildren(h("table", {}, h("caption", {}, `The row of ${at(row)}`), h("thead", {}, h("tr", {}, ...head.map((one) => h("th", { scope: "col" }, one)))), h("tbody", {}, ...names().map((name, k) =>
      h("tr", { class: k === col ? "now" : found && !found.now[row * n + k] ? "off" : "" }, h("th", { scope: "row", class: "mono" }, name), h("td", {}, brief(dot(k))), scores && h("td", {}, brief(scores.values[row * n + k])), bias && h("td", {}, brief(bias.values[row * n + k])),
        h("td", { class: "weight" }, h("i", { style: { width: `${100 * weight(k)}%` } }), h("span", {}, found && !found.now[row * n + k] ? "masked" : share(weight(k)))))))));
    const now = /** @type {HTMLElement | null} */ (detail.querySelector(".now"));
    if (now && !detail.matches(":hover")) detail.scrollTop = now.offsetTop - detail.clientHeight / 2;
    const k = rowOf(key, col).values, times = q.map((one, i) => one * k[i]);
    product.show({ values: Float32Array.from([...q, ...k, ...times]), rows: 3, cols: q.length });
    const capped = reply.model.softcap ? `, bent into ±${reply.model.softcap}` : "", biased = bias ? ` + bias ${digits(bias.values[row * n + col])}` : "";
    sum.textContent = scores ? `q·k = Σ = ${digits(Number(dot(col).toPrecision(7)))}; ${reply.model.scale ? `× ${digits(reply.model.scale)}` : ""}${capped}${biased} = score ${digits(scores.values[row * n + col])}` : `q·k = Σ = ${digits(Number(dot(col).toPrecision(7)))}; linear attention takes φ(q)·φ(k) in place of its exponential`;
    const seen = found?.now[row * n + col];
    readout.textContent = cell ? `${at(row)} → ${at(col)}: ${scores ? `q·k ${brief(dot(col))}${scaled}${biased && " + bias"} = ${digits(scores.values[row * n + col])}, ${seen ? "shown" : "masked"}, ` : ""}weight ${seen === 0 ? "0" : digits(weight(col))}${found ? ". Click or press Enter to " + (seen ? "hide" : "show") + " it." : ""}`
      : found ? "Point at a cell for its numbers; click it, drag over several, or press Enter to edit the mask." : "Point at a cell for its numbers.";
    const parts = new Float32Array(n * value.cols);
    for (let j = 0; j < n; j++) for (let i = 0; i < value.cols; i++) parts[j * value.cols + i] = weight(j) * value.values[j * value.cols + i];
    contributions.show({ values: parts, rows: n, cols: value.cols }, col);
    mixture.show(rowOf(mixtures, row), `${value.cols} numbers, for ${at(row)}`);
  }

  /** @param {Reply} given */
  function show(given) {
    reply = given;
    const { model, tokens, attention: a, vectors } = given, n = tokens.length, tall = Math.min(18, Math.max(6, Math.round(200 / n)));
    heats.forEach((heat, i) => { heat.lines = tall; heat.show([a.query, a.key, a.value][i]); });
    contributions.lines = tall;
    const shared = model.groups < model.heads ? ` Keys and values are shared: ${model.groups} for ${model.heads} heads.` : "";
    projected.say(`${model.block === "PreNorm" || model.block === "Parallel" ? "What comes into the layer is normed; then three" : "Three"} matrices make of every token a query (what it looks for), a key (what it is found by) and a value (what it passes on).${model.turned ? " Queries and keys are turned by their positions (rotary), here already." : ""}${shared}`, `${n} × ${model.head} each`);
    const biased = a.bias ? " ALiBi's bias, which falls with the distance, is part of the score." : "";
    looked.say(model.linear ? "How much each token (row) takes from each (column)." : `Every query meets every key: a score is their product${model.scale === 1 ? "" : ` × ${Number((model.scale ?? 1).toPrecision(4))}`}. The mask (${model.pattern}) hides what a token may not see; softmax makes of each row shares that add up to 1.${biased}`, `${n} × ${n}`);
    none.hidden = !model.linear;
    boxes[0].hidden = boxes[1].hidden = products.hidden = model.linear;
    restore.hidden = restoreAll.hidden = model.linear;
    gathered.say("Each value is taken as often as its weight says; the sum is what this head found. The heads' mixtures are joined, projected and added to the stream.", `${model.head} → ${model.heads * model.head} → ${model.width}`);
    joined.show(vectors.joined, `${model.heads} × ${model.head}`);
    attended.show(vectors.attended);
    between.element.hidden = !vectors.between;
    if (vectors.between) between.show(vectors.between, model.block === "PostNorm" ? "then normed" : "");
    draw();
    point(...(pointed.every((one) => one < n) ? /** @type {[number, number]} */ (pointed) : /** @type {[number, number]} */ ([-1, -1])));
  }

  function draw() {
    if (!reply) return;
    const { attention: a, tokens } = reply, n = tokens.length, found = mask();
    const tell_ = (/** @type {number} */ row, /** @type {number} */ col) => `${at(row)} to ${at(col)}: weight ${digits(a.weights.values[row * n + col])}`;
    const [ground, seen, below, above, other] = ["--unseen", "--seen", "--against", "--for", "--other"].map(rgb);
    const one = (/** @type {ArrayLike<number>} */ levels, /** @type {string[]} */ colours, /** @type {string} */ what) => ({ rows: n, cols: n, levels, colours, tell: tell_, label: `${what} of layer ${state.values.layer}, head ${state.values.head}, ${n} by ${n}` });
    const weights = one(Array.from(a.weights.values, (w) => Math.round((LEVELS - 1) * softened(w, 1))), scale(ground, seen, LEVELS), "Weights");
    if (a.scores && found) {
      const most = largest(a.scores.values), half = LEVELS - 1;
      const scores = one(Array.from(a.scores.values, (x) => half + Math.round(half * softened(x, most))), [...scale(below, ground, LEVELS), ...scale(ground, above, LEVELS).slice(1)], "Scores");
      const levels = found.now.map((now, i) => (found.edits[i] ? 2 + now : now));
      drawn = [scores, one(levels, ["--unseen", "--half", `rgb(${mixed(ground, other, 0.45).join(",")})`, "--other"], "Mask"), weights];
      drawn.forEach((cells, i) => grids[i].show(cells));
    } else { drawn = [weights, weights, weights]; grids[2].show(weights); }
    boxes.forEach((box) => {
      const labels = /** @type {HTMLElement} */ (box.querySelector(".labels"));
      labels.hidden = n > 26;
      labels.replaceChildren(...tokens.map((token) => h("span", {}, visible(token))));
    });
    restore.disabled = !state.values.edits.some((/** @type {string} */ edit_) => edit_.startsWith(`${state.values.layer}.${state.values.head}.`));
    restoreAll.disabled = !state.values.edits.length;
  }

  /** Light paper's colours in place of those of the theme. @param {Cells} cells */
  const onpaper = (cells) => ({ ...cells, colours: scale([233, 237, 242], [31, 58, 110], LEVELS) });

  function csv() {
    if (!reply) return;
    const { attention: a, tokens } = reply, n = tokens.length, found = mask();
    saveCsv("attention.csv", [["query", "key", "score", "shown", "weight"], ...Array.from({ length: n * n }, (_, i) => [tokens[Math.floor(i / n)], tokens[i % n], a.scores ? String(a.scores.values[i]) : "", found ? found.now[i] : "", String(a.weights.values[i])])]);
  }

  return {
    stages: [projected.element, looked.element, gathered.element], show, draw, point,
    /** What the edits make of the answer. @param {import("./token_chances.js").Likeliest | null} next @param {string} after */
    next: (next, after) => { becomes.replaceChildren(...(next ? [`After “${visible(after)}” comes `, h("b", { class: "mono" }, visible(next.text)), ` with ${share(next.chance)}`, next.edited ? `; with the mask unedited ${share(next.other)}${next.was === next.text ? "" : `, and the likeliest was “${visible(next.was)}”`}.` : "."] : [])); },
    redraw: () => { draw(); for (const one of [...heats, product, contributions]) one.draw(); for (const one of [mixture, joined, attended, between]) one.draw(); },
    close: () => { ended.abort(); for (const one of [...grids, ...heats, product, contributions]) one.close(); },
  };
}
