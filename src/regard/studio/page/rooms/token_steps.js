// @ts-check
/** The steps before and after attention: the embedding, the choice of a head, the feed-forward, the way out. */
import { colour, h } from "../parts/dom.js";
import { Strips, rgb } from "../parts/strips.js";
import { table } from "../parts/table.js";
import { bytes, largest, share, visible } from "../parts/tensors.js";
import { tipped } from "../parts/tip.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("./one_token.js").Reply} Reply */
/** @typedef {import("../parts/tensors.js").Matrix} Matrix */

/** One step: a number, what happens, the shapes. @param {number} number @param {string} title */
export function stage(number, title) {
  const words = h("p", { class: "quiet" }), shape = h("span", { class: "shape mono" }), body = h("div", { class: "body" });
  const element = h("section", { class: "card step", "aria-label": title }, h("div", { class: "steptitle" }, h("span", { class: "badge", "aria-hidden": "true" }, String(number)), h("h2", {}, title), shape), words, body);
  return { element, body, say: (/** @type {string} */ text, /** @type {string} */ sizes) => { words.textContent = text; shape.textContent = sizes; } };
}

/** A vector with its name. @param {string} name @param {string} label */
export function line(name, label) {
  const note = h("small", {}), strip = new Strips({ label });
  const element = h("div", { class: "line" }, h("div", { class: "what" }, name, note), strip.element);
  return {
    element, strip, draw: () => strip.draw(),
    /** @param {Matrix} matrix @param {string} [remark] */
    show(matrix, remark) { note.textContent = remark ?? `${matrix.cols * matrix.rows} numbers`; strip.show(matrix); },
  };
}

const PLACED = /** @type {Record<string, string>} */ ({
  learned: "The model learned a vector for every position; this one's is added.", sinusoidal: "Waves of falling frequency tell the position; they are added.",
  natural: "Its place, counted from 1, is added to every number.", scaled: "Its place as a share of the longest text is added to every number.",
  rotary: "Nothing says yet where it stands: every layer turns its queries and keys by their positions (rotary).",
  alibi: "Nothing says yet where it stands: the scores will fall with the distance (ALiBi).",
});

export function embedding() {
  const step = stage(1, "From a token to a vector");
  const lines = { embedding: line("embedding", "embedding"), position: line("+ position", "position"), entering: line("= what enters layer 1", "what enters the first layer") };
  step.body.append(...Object.values(lines).map(({ element }) => element));
  return {
    element: step.element, redraw: () => Object.values(lines).forEach((one) => one.draw()),
    /** @param {Reply} reply */
    show({ model, tokens, token, vectors }) {
      step.say(`“${visible(tokens[token])}” is token ${token + 1} of ${tokens.length}. Its row of the embedding is where it starts. ${PLACED[model.position] ?? ""}`, `${model.vocab.toLocaleString("en")} → ${model.width}`);
      lines.embedding.show(vectors.embedding);
      lines.position.element.hidden = !vectors.position;
      if (vectors.position) lines.position.show(vectors.position, `place ${token + 1}`);
      lines.entering.element.hidden = !vectors.position && model.block !== "PostNorm";
      lines.entering.show(vectors.entering, model.block === "PostNorm" ? "normed" : undefined);
    },
  };
}

/** All heads as small pictures, to choose from. @param {State} state */
export function heads(state) {
  const step = stage(2, "Choose a layer and a head"), board = h("div", { class: "maps" });
  step.body.append(board);
  /** @type {Reply | null} */
  let reply = null;
  /** @type {{canvas: HTMLCanvasElement, button: HTMLButtonElement, layer: number, head: number}[]} */
  let buttons = [];

  function build(/** @type {number} */ layers, /** @type {number} */ count) {
    buttons = [];
    board.replaceChildren(...Array.from({ length: layers }, (_, i) => h("div", { class: "maprow", role: "group", "aria-label": `Layer ${i + 1}` }, h("span", { class: "quiet" }, `layer ${i + 1}`), h("div", {}, ...Array.from({ length: count }, (_, j) => {
      const canvas = h("canvas", { width: 48, height: 48 });
      const button = h("button", { type: "button", class: "map", onclick: () => { state.set({ layer: i + 1, head: j + 1 }); state.commit(); } }, canvas, h("span", {}, String(j + 1)));
      tipped(button, () => told(i, j));
      buttons.push({ canvas, button, layer: i, head: j });
      return button;
    })))));
  }

  function told(/** @type {number} */ layer, /** @type {number} */ head) {
    const does = reply?.maps.does[layer - reply.maps.first]?.[head], title = `layer ${layer + 1}, head ${head + 1}`;
    return does ? `${title}\non the token before ${share(does[0])}\non itself ${share(does[1])}\non the first token ${share(does[2])}\nmeans over the rows` : title;
  }

  function draw() {
    if (!reply) return;
    const { maps, tokens, model } = reply, n = tokens.length, data = bytes(maps.data), [ground, seen] = [rgb("--unseen"), rgb("--seen")];
    for (const { canvas, button, layer, head } of buttons) {
      const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), at = ((layer - maps.first) * model.heads + head) * n * n;
      const known = at >= 0 && at < data.length;
      ctx.fillStyle = colour("--unseen");
      ctx.fillRect(0, 0, 48, 48);
      for (let i = 0; known && i < n * n; i++) {
        const dark = Math.sqrt(data[at + i] / 255), [row, col] = [Math.floor(i / n), i % n];
        if (dark < 0.03) continue;
        ctx.fillStyle = `rgb(${ground.map((one, c) => Math.round(one + (seen[c] - one) * dark)).join(",")})`;
        ctx.fillRect(Math.floor((col * 48) / n), Math.floor((row * 48) / n), Math.ceil(48 / n), Math.ceil(48 / n));
      }
      button.setAttribute("aria-pressed", String(layer + 1 === state.values.layer && head + 1 === state.values.head));
      button.setAttribute("aria-label", told(layer, head).replaceAll("\n", ", "));
    }
  }

  return {
    element: step.element, redraw: draw,
    /** @param {Reply} given */
    show(given) {
      if (reply?.model.layers !== given.model.layers || reply?.model.heads !== given.model.heads) build(given.model.layers, given.model.heads);
      reply = given;
      step.say(`${given.model.heads} heads a layer, each with a way of looking of its own: rows look at columns, the stronger the colour the more.${given.maps.first || given.maps.does.length < given.model.layers ? " Pictures are of the chosen layer alone." : ""}`, `${given.model.layers} × ${given.model.heads}`);
      draw();
    },
  };
}

export function feedforward() {
  const step = stage(6, "The feed-forward");
  const lines = { ready: line("what it reads", "input of the feed-forward"), hidden: line("hidden, after the bend", "hidden numbers"), fed: line("back to the width", "output of the feed-forward"), out: line("added: what leaves the layer", "what leaves the layer") };
  const folded = (/** @type {Matrix} */ { values, cols }, /** @type {number} */ width) => (cols % width === 0 && cols > width ? { values, rows: cols / width, cols: width } : { values, rows: 1, cols });
  let width = 1;
  lines.hidden.strip.name = (row, col) => `hidden number ${row * width + col}`;
  lines.hidden.strip.lines = 12;
  step.body.append(...Object.values(lines).map(({ element }) => element));
  return {
    element: step.element, redraw: () => Object.values(lines).forEach((one) => one.draw()),
    /** @param {Reply} reply */
    show({ model, vectors, tokens, token }) {
      width = model.width;
      const positive = vectors.hidden.values.reduce((count, one) => count + (one > 0 ? 1 : 0), 0), gated = model.feedforward !== "Gelu";
      step.say(`Now “${visible(tokens[token])}” is worked on by itself: ${gated ? `two matrices widen it, one gates the other (${model.feedforward})` : "one matrix widens it, GELU bends it"}, another brings it back.${model.block === "Parallel" ? " It reads what attention read, beside it." : ""} ${positive.toLocaleString("en")} of ${vectors.hidden.cols.toLocaleString("en")} hidden numbers are above zero here.`, `${model.width} → ${vectors.hidden.cols.toLocaleString("en")} → ${model.width}`);
      lines.ready.show(vectors.ready, model.block === "PostNorm" ? undefined : `normed (${model.norm})`);
      lines.hidden.show(folded(vectors.hidden, model.width));
      lines.fed.show(vectors.fed);
      lines.out.show(vectors.out, model.block === "PostNorm" ? "then normed" : undefined);
    },
  };
}

export function wayOut() {
  const step = stage(7, "From the last layer to the next token"), final = line("after the last layer, normed", "what the head reads"), lens = h("div", { "data-read": "lens" });
  step.body.append(final.element, h("h3", {}, "if the model ended earlier"), lens);
  return {
    element: step.element, redraw: () => final.draw(),
    /** @param {Reply} reply */
    show({ model, vectors, lens: rows, named }) {
      step.say(`The last vector is compared with ${model.tied ? "the embedding of every token" : "one row for every token"}: ${model.vocab.toLocaleString("en")} products, the logits. Their softmax is the chance of each token to come next.`, `${model.width} → ${model.vocab.toLocaleString("en")}`);
      final.show(vectors.final, `largest ${largest(vectors.final.values).toPrecision(3)}`);
      const likeliest = visible(named[0][1]);
      lens.replaceChildren(table(["after", "likeliest", "chance", `of “${likeliest}”`], rows.map(([text, chance, wanted], i) => [i === 0 ? "the start" : `layer ${i}`, h("span", { class: "mono" }, visible(text)), share(chance), share(wanted)]), "What would come next if the model ended earlier"));
    },
  };
}
