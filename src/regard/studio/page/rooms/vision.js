// @ts-check
/** Vision: what a picture is taken for, where each head looked, and what the answer needs to see. */
import { h, percent, whole } from "../parts/dom.js";
import { copier, save, saveCsv, savePng, savers } from "../parts/exports.js";
import { segments, select } from "../parts/fields.js";
import { base64, bytes, enlarge, packed, paintPixels, svgPicture } from "../parts/heat.js";
import { empty, failed, lede } from "../parts/table.js";
import { raster } from "./vision_pad.js";
import { gallerySource, OWN, ownSource, padSource, thumb } from "./vision_sources.js";
import { bars, checkCurves, chosen, exact, headGrid, hidingCurves, legend, mapped, place, told } from "./vision_views.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {import("../parts/heat.js").Pixels} Pixels */

const PAUSE = 250; // milliseconds of rest until all pictures are looked at together
const defaults = {
  model: "", from: "test", label: -1, page: 0, pick: 0, draw: /** @type {string[]} */ ([]), tool: "pen", wide: 2, ink: 0, fit: true,
  own: /** @type {string[]} */ ([]), done: /** @type {string[]} */ ([]), at: 0, meant: -1, view: "attention", layer: 0, head: 0, query: -1, target: -1, hide: false, by: "attention", over: "picture",
};

/** @param {Values} values */
function clean(values) {
  const within = (/** @type {string} */ key, /** @type {number} */ least, /** @type {number} */ most) => Math.round(Math.min(most, Math.max(least, Number.isFinite(values[key]) ? values[key] : least)));
  const among = (/** @type {string} */ key, /** @type {string[]} */ words) => (words.includes(values[key]) ? values[key] : words[0]);
  const own = values.own.slice(0, OWN);
  return {
    ...values, own, done: own.map((/** @type {string} */ _, /** @type {number} */ i) => (values.done[i] ?? "").slice(0, 300)), draw: values.draw.slice(0, 60), at: Math.min(Math.max(0, own.length - 1), within("at", 0, OWN)),
    from: among("from", ["test", "draw", "own"]), tool: among("tool", ["pen", "shape", "eraser"]), view: among("view", ["attention", "rollout", "gradient", "plain"]),
    by: among("by", ["attention", "rollout", "gradient"]), over: among("over", ["picture", "set"]), wide: within("wide", 1, 3), ink: within("ink", 0, 7),
    label: within("label", -1, 9999), page: within("page", 0, 99_999), pick: within("pick", 0, 11), meant: within("meant", -1, 9999), layer: within("layer", 0, 999), head: within("head", 0, 999),
    query: within("query", -1, 99_999), target: within("target", -1, 9999),
  };
}

/** @param {HTMLElement} at @param {State} state @param {import("../main.js").Tools} tools */
function mount(at, state, tools) {
  tools.style("vision");
  const body = h("div", { class: "stack vision" }, h("div", { class: "card waiting" }, "Opening the models …"));
  at.append(lede("Where a model looks", "Pick, draw or drop a picture. Bars tell what the model takes it for; colours, patch by patch, where it looked to say so.", copier("Copy link", tools.link)), body);
  tools.askOf("shell", "models", {}, { at: /** @type {HTMLElement} */ (body.firstChild) }).then((said) => {
    if (!said) { if (!tools.ended.aborted) body.replaceChildren(empty("Not loaded", "The list of models was cancelled: reload the page to ask again.")); return; }
    const names = said.models.filter((/** @type {any} */ one) => one.kind === "images").map((/** @type {any} */ one) => one.name);
    if (names.length) filled(body, state, tools, names);
    else body.replaceChildren(empty("No model for images is here", "Make one in about a minute, then start the studio with it.", "regard train digits-vit --out runs/digits-vit && regard studio --run runs/digits-vit"));
  }, (error) => body.replaceChildren(failed(error)));
}

/** @param {HTMLElement} body @param {State} state @param {import("../main.js").Tools} tools @param {string[]} names */
function filled(body, state, tools, names) {
  const first = names[0].startsWith("zoo:") && names.includes("zoo:digits-vit") ? "zoo:digits-vit" : names[0];
  /** @type {Map<string, any>} */
  const infos = new Map();
  /** @type {Map<string, any>} */
  const answers = new Map();
  /** @type {string[] | null} */
  let live = null; // the strokes while one draws
  let looked = /** @type {import("./vision_views.js").Looked | null} */ (null), slope = /** @type {any} */ (null), picture = /** @type {Pixels | null} */ (null);
  let question = "", hidden = "not yet", together = "", wanted = false, asking = "";

  const model = select(state, "model", { label: "model", options: names.map((one) => [one, one]) });
  const record = h("p", { class: "quiet record", "data-read": "record" });
  const tests = gallerySource(state), drawing = padSource(state, (draw) => { live = draw; show(); }), owned = ownSource(state, tools, body, () => now());
  const source = h("section", { class: "card source", "aria-label": "Picture" }, segments(state, "from", { label: "Where the picture comes from", hidden: true, options: [["test", "Examples"], ["draw", "Draw"], ["own", "Your own"]] }), tests.element, drawing.element, owned.element);
  const readout = h("p", { class: "readout", "aria-live": "polite" }), key = h("div", { class: "key" }), aside = h("p", { class: "quiet", "data-read": "aside" });
  const map = mapped("map", (patch) => point(patch), (patch) => { if (looked?.weights && state.values.view === "attention") { state.set({ query: patch === state.values.query ? -1 : patch }); state.commit(); } });
  const plain = mapped("plain", (patch) => point(patch), null);
  const heads = headGrid((layer, head) => { state.set({ layer, head, view: "attention" }); state.commit(); });
  const answer = h("div", { class: "answer" }), fromReader = h("button", { type: "button", class: "button", onclick: () => { state.set({ query: -1 }); state.commit(); } }, "Back to the answer's reader");
  const views = segments(state, "view", { label: "Show", hidden: true, options: [["attention", "Attention"], ["rollout", "Rollout"], ["gradient", "Gradient"], ["plain", "Picture"]] });
  const files = savers({
    PNG: () => { if (picture) savePng("vision.png", 640, Math.round((640 * map.canvas.height) / map.canvas.width), (ctx) => enlarge(map.canvas, ctx, 640, ctx.canvas.height)); },
    SVG: () => { if (picture) save("vision.svg", svgPicture(map.canvas, readout.textContent ?? ""), "image/svg+xml"); },
    CSV: () => csv(),
  });
  const headBox = h("div", { class: "heads-box" }, h("h3", {}, "every layer and head"), heads.element);
  const result = h("section", { class: "card result", "aria-label": "Answer", "aria-busy": "false" }, h("div", { class: "bar" }, views, fromReader),
    h("div", { class: "panes" }, h("div", { class: "map-pane" }, map.box, key, readout, aside), h("div", { class: "answer-pane" }, answer), h("div", { class: "side-pane" }, h("div", { class: "small-picture" }, h("h3", {}, "as the model takes it"), plain.box), headBox)), files);
  const nothing = h("section", { class: "nothing", "aria-live": "polite" });
  const curveBox = h("div", { class: "curve-box" }), leftOver = h("div", { class: "left-over" });
  const hiding = h("section", { class: "card hiding", "aria-label": "Hiding" });
  const start = h("button", { type: "button", class: "button main", onclick: () => { state.set({ hide: true }); state.commit(); } }, "Hide patches");
  const overBox = segments(state, "over", { label: "Over", hidden: true, options: [["picture", "This picture"], ["set", "64 test pictures"]] });
  const curveFiles = savers({ CSV: () => { if (hideCsv) saveCsv("hiding.csv", hideCsv()); } });
  hiding.append(h("div", { class: "bar" }, h("div", { class: "grow" }, h("h2", {}, "What the answer needs to see"), h("p", { class: "quiet" }, "Patches are taken away altogether: no token attends to them. If a map points at what counts, its strongest hurt sooner than others.")), start),
    h("div", { class: "bar" }, select(state, "by", { label: "hidden in the order of", options: [["attention", "attention, mean of all heads"], ["rollout", "rollout"], ["gradient", "gradient"]] }), overBox), h("div", { class: "hide-panes" }, curveBox, leftOver), curveFiles);
  const all = h("section", { class: "card together", "aria-label": "All of these pictures" });
  body.replaceChildren(h("div", { class: "card controls" }, h("div", { class: "bar" }, model, record)), h("div", { class: "work" }, source, h("div", { class: "stack" }, nothing, result)), hiding, all);

  /** @type {(() => (string | number)[][]) | null} */
  let hideCsv = null;
  const now = () => state.values.model || first;
  const told_ = (/** @type {unknown} */ error) => { nothing.hidden = false; nothing.replaceChildren(failed(error)); };

  /** Ask once for what does not change. @param {string} action @param {any} what @param {HTMLElement} place_ */
  async function known(action, what, place_) {
    const name = `${action} ${JSON.stringify(what)}`;
    if (!answers.has(name)) {
      const said = await tools.ask(action, what, { at: place_, key: action });
      if (!said) return null;
      if (answers.size > 80) answers.delete(answers.keys().next().value ?? "");
      answers.set(name, said);
    }
    return answers.get(name);
  }

  /** All of the room, as far as it is known; what is not is asked for. */
  async function show() {
    const values = state.values, name = now();
    /** @type {HTMLSelectElement} */ (model.querySelector("select")).value = name;
    tests.element.hidden = values.from !== "test";
    drawing.element.hidden = values.from !== "draw";
    owned.element.hidden = values.from !== "own";
    if (!names.includes(name)) {
      model.wrong(`no model for images is called ${name.slice(0, 60)}`);
      source.hidden = result.hidden = hiding.hidden = all.hidden = true;
      nothing.hidden = false;
      nothing.replaceChildren(empty("No such model", "Choose another one above."));
      record.textContent = "";
      return;
    }
    source.hidden = false;
    model.wrong(null);
    try {
      if (!infos.has(name)) {
        result.classList.add("stale");
        const said = await tools.ask("model", { model: name }, { at: source, key: "model" });
        if (!said) return;
        infos.set(name, said);
        if (name !== now()) return show();
      }
      const info = infos.get(name), right = info.accuracy.test ?? info.accuracy.validation;
      record.textContent = `${info.architecture}, ${whole(info.parameters)} parameters${right === null ? "" : `, ${percent(right)} right in ${info.accuracy.test === null ? "validation" : "test"}`}; it takes ${info.image[2]}×${info.image[1]} ${info.image[0] === 1 ? "in grey" : "in colour"}${info.grid ? ` as ${info.grid[0]}×${info.grid[1]} patches` : ""}.`;
      const paper = { shape: info.image, dark: info.dark, box: info.box, fit: values.fit && info.image[0] === 1 }; // colours are scenes, which have their frame
      /** @type {any} */
      let page = null;
      if (values.from === "test") {
        page = await known("pictures", { model: name, label: Math.min(values.label, info.samples.classes.length - 1), page: values.page }, source);
        if (!page || state.values !== values) return;
        tests.show({ ...values, pick: Math.min(values.pick, page.pictures.length - 1) }, info, page);
      } else if (values.from === "draw") drawing.show(values, paper, info.data);
      else owned.show(values, info);
      const sample = page?.pictures[Math.min(values.pick, page.pictures.length - 1)];
      const strokes = live ?? values.draw;
      picture = sample ? { shape: info.image, data: bytes(sample.pixels) } : values.from === "draw" ? (strokes.length ? raster(strokes, paper) : null) : (values.from === "own" && values.own.length ? owned.of(values.own[values.at]) : null);
      nothing.hidden = picture !== null;
      result.hidden = hiding.hidden = picture === null;
      if (!picture) {
        [looked, question, hidden] = [null, "", "not yet"];
        for (const one of ["look", "gradient", "hide"]) tools.cancel(one);
        nothing.replaceChildren(values.from === "draw" ? empty("Nothing is drawn yet", `Draw ${info.data === "digits" ? "a digit, large," : `one of ${info.classes.slice(0, 3).join(", ")} …`} on the pad: the answer follows the pen.`)
          : values.own.length ? empty("This picture is not in the link", "It was too large for an address, and stayed on the page where it was added. Add it again.") : empty("No picture yet", "Choose, drop or paste one: it is read as the model takes it, and stays on this machine."));
      } else await answered(values, info, sample);
      if (state.values === values) several(values, info, page); // while the answer came, something may have been changed
    } catch (error) {
      result.hidden = hiding.hidden = true;
      if (error instanceof Error && "field" in error && error.field === "model") model.wrong(error.message); else told_(error);
    }
  }

  /** @param {Values} values @param {any} info @param {any} sample */
  async function answered(values, info, sample) {
    const name = now(), seen = /** @type {Pixels} */ (picture), query = info.grid && values.view === "attention" ? Math.min(values.query, info.grid[0] * info.grid[1] - 1) : -1;
    const body_ = { model: name, pixels: base64(seen.data), shape: seen.shape, query }, asked = JSON.stringify(body_);
    if (question !== asked) for (const one of ["gradient", "several"]) tools.cancel(one); // the answer comes first
    question = asked;
    if (!answers.has(`look ${asked}`)) {
      result.classList.add("stale");
      wanted = asking !== "";
      if (asking && (live || asking === asked)) return; // while one draws, the answer on its way is awaited, then the newest is asked for
      asking = asked;
      let said = null;
      try { said = await known("look", body_, result); } finally { if (asking === asked) asking = ""; }
      if (question !== asked) { if (wanted) { wanted = false; show(); } return; }
      if (!said) { question = ""; return; }
      values = state.values;
    }
    looked = answers.get(`look ${asked}`) ?? null;
    if (!looked) return;
    slope = null;
    const target = Math.min(values.target, info.classes.length - 1), gradient = { model: name, pixels: body_.pixels, shape: seen.shape, target };
    const needs = values.view === "gradient" || !looked.weights;
    if (needs) {
      slope = answers.get(`gradient ${JSON.stringify(gradient)}`) ?? null;
      if (!slope) known("gradient", gradient, result).then((said) => { if (said && question === asked) drawn(state.values, info, sample); }, told_);
    }
    drawn(values, info, sample);
  }

  /** @param {Values} values @param {any} info @param {any} sample */
  function drawn(values, info, sample) {
    if (!looked || !picture) return;
    const view = looked.weights ? values.view : values.view === "plain" ? "plain" : "gradient", found = /** @type {import("./vision_views.js").Looked} */ (looked);
    const target = Math.min(values.target, info.classes.length - 1);
    slope = answers.get(`gradient ${JSON.stringify({ model: now(), pixels: base64(picture.data), shape: picture.shape, target })}`) ?? null;
    const taken = { shape: info.image, data: bytes(found.pixels) }, layer = Math.min(values.layer, info.layers), head = Math.min(values.head, info.heads);
    const now_ = chosen({ ...values, view, layer, head }, found, slope, info.classes), grid = /** @type {[number, number]} */ (now_ ? [now_.rows, now_.cols] : info.grid ?? [info.image[1], info.image[2]]);
    result.classList.toggle("stale", view === "gradient" && !slope);
    shown = now_;
    map.show(taken, now_, grid, now_ ? `Map over the picture: ${now_.of}` : "The picture");
    plain.show(taken, null, grid, "The picture as the model takes it");
    const query = view === "attention" ? Math.min(values.query, grid[0] * grid[1] - 1) : -1;
    map.from(query);
    plain.from(query);
    key.replaceChildren(...(now_ ? [legend(now_)] : []));
    const reader = { class: "the class token, from which the answer is read", mean: "all tokens in the mean, as the answer is read", last: "the last token, from which the answer is read" }[found.reader ?? ""] ?? "the token that the answer is read from";
    const best = now_ ? now_.values.reduce((most, one, i) => (Math.abs(one) > Math.abs(now_.values[most]) ? i : most), 0) : 0;
    idle = !now_ ? "Point at the picture for its patches." : `${now_.signed ? "What moved the logit most" : "Most of it"}: ${told(now_, best, info.image)}.`;
    aside.textContent = !now_ ? "" : view === "gradient" ? `Integrated gradients in ${slope.steps} steps: an estimate, whose sum misses the logit's change by ${exact(slope.gap)}.`
      : view === "rollout" ? "Rollout multiplies the layers' mean attention, half of each token passed on by its residual."
        : `The view of ${query < 0 ? reader : `the ${place(query, now_, info.image)}`}. ${now_.front ? `The class token keeps ${percent(now_.front)}. ` : ""}${query < 0 ? "Click a patch for the view from there." : ""}`;
    fromReader.hidden = query < 0;
    headBox.hidden = !found.weights;
    for (const input of views.querySelectorAll("input")) /** @type {HTMLElement} */ (input.parentElement).hidden = !found.weights && ["attention", "rollout"].includes(input.value);
    if (found.weights) heads.show(found, taken, { layer, head });
    const truth = sample ? sample.label : values.from === "own" && values.meant >= 0 ? info.classes[values.meant] ?? null : null;
    answer.replaceChildren(bars(found, info.classes, { truth, sure: values.from === "own" ? "meant as" : info.samples.sure, target: view === "gradient" ? slope?.target ?? -1 : -1, pick: (i) => { state.set({ view: "gradient", target: i }); state.commit(); } }));
    point(-1);
    hide(values, info);
  }

  /** @type {import("./vision_views.js").Shown | null} */
  let shown = null;
  let idle = "";
  function point(/** @type {number} */ patch) {
    map.point(patch);
    plain.point(patch);
    const info = infos.get(now());
    readout.textContent = patch < 0 || !info ? idle : shown ? told(shown, patch, info.image) : `${place(patch, { rows: info.grid?.[0] ?? info.image[1], cols: info.grid?.[1] ?? info.image[2] }, info.image)}`;
  }

  function csv() {
    if (!looked || !shown || !infos.get(now())) return;
    const { cols, raw } = shown, cell = (/** @type {number} */ i) => [Math.floor(i / cols) + 1, (i % cols) + 1];
    if (!looked.weights || shown.signed) saveCsv("vision.csv", [["row", "column", "part of the logit"], ...raw.map((one, i) => [...cell(i), one])]);
    else if (state.values.view === "rollout") saveCsv("vision.csv", [["row", "column", "rollout"], ...raw.map((one, i) => [...cell(i), one])]);
    else saveCsv("vision.csv", [["layer", "head", "row", "column", "weight"], ...looked.weights.flatMap((layer, l) => layer.flatMap((head, j) => head.slice(looked?.front).map((one, i) => [l + 1, j + 1, ...cell(i), one])))]);
  }

  /** The hiding curve, where it was asked for. @param {Values} values @param {any} info */
  async function hide(values, info) {
    const found = /** @type {import("./vision_views.js").Looked} */ (looked), seen = /** @type {Pixels} */ (picture);
    hiding.hidden = !found.weights;
    start.hidden = values.hide;
    overBox.hidden = !info.samples.checked;
    const set = values.over === "set" && info.samples.checked, asked = !values.hide || live ? "" : JSON.stringify(set ? [now(), values.by, "set"] : [now(), values.by, found.pixels]);
    if (asked === hidden) return;
    if (!live) hidden = asked;
    tools.cancel("hide");
    hideCsv = null;
    curveFiles.hidden = true;
    leftOver.replaceChildren();
    if (!values.hide) { curveBox.replaceChildren(empty("Not measured yet", "A second or two of work: the picture is read with more and more patches taken away.")); return; }
    if (live) { curveBox.classList.add("stale"); return; }
    curveBox.classList.remove("stale");
    curveBox.replaceChildren(h("p", { class: "quiet pending" }, "Hiding patches …"));
    try {
      const ended = set ? await overSet(values, asked) : await overPicture(values, info, seen, asked);
      if (!ended && hidden === asked) { hidden = "not yet"; state.set({ hide: false }); }
    } catch (error) { if (hidden === asked) { hidden = "not yet"; curveBox.replaceChildren(failed(error)); } }
  }

  /** @param {Values} values @param {string} asked */
  async function overSet(values, asked) {
    /** @type {any[]} */
    const shares = [];
    hideCsv = () => [["hidden share", "strongest first", "low", "high", "at random", "low", "high", "weakest first", "low", "high"], ...shares.map((one) => [one.share, ...one.most, ...one.random, ...one.least])];
    return tools.stream("check", { model: now(), by: values.by }, (part) => {
      if (hidden !== asked) return;
      shares.push(part);
      curveBox.replaceChildren(...checkCurves(shares));
      curveFiles.hidden = false;
    }, { key: "hide", at: hiding });
  }

  /** @param {Values} values @param {any} info @param {Pixels} seen @param {string} asked */
  async function overPicture(values, info, seen, asked) {
    /** @type {any} */
    let got = null;
    const sides = /** @type {[string, string][]} */ ([["most", "strongest hidden"], ["least", "weakest hidden"]]).map(([key_, words]) => {
      const canvas = h("canvas", { class: "pixels" }), name = h("p", { class: "quiet", "data-read": `left-${key_}` });
      return { key_, words, canvas, name, element: h("figure", {}, canvas, name) };
    });
    leftOver.replaceChildren(...sides.map((one) => one.element));
    const look = (/** @type {number} */ count) => {
      const i = got.points.indexOf(count);
      for (const { key_, words, canvas, name } of sides) {
        const one = got.orders[key_];
        if (!one || i < 0) continue;
        paintPixels(canvas, { shape: info.image, data: bytes(/** @type {any} */ (looked).pixels) }, { rows: info.grid[0], cols: info.grid[1], values: [], low: 0, high: 1 }, (patch) => one.ranks[patch] < count);
        name.textContent = `${words}: ${whole(count)} of ${whole(got.patches)}; ${percent(one.chances[i])} “${info.classes[got.answer]}”${one.answers[i] === got.answer ? "" : `, it says “${info.classes[one.answers[i]]}”`}`;
      }
    };
    hideCsv = () => [["patches hidden", ...Object.keys(got.orders)], ...got.points.map((/** @type {number} */ x, /** @type {number} */ i) => [x, ...Object.values(got.orders).map((/** @type {any} */ one) => one.chances[i])])];
    return tools.stream("hide", { model: now(), by: values.by, pixels: base64(seen.data), shape: seen.shape }, (part) => {
      if (hidden !== asked) return;
      if (part.points) { got = { ...part, orders: {} }; return; }
      got.orders[part.order] = part;
      if (!got.orders.least) return;
      curveBox.replaceChildren(hidingCurves(got, info.classes[got.answer], (x) => { if (x !== null) look(x); }));
      if (part.order === "least") { look(got.points[Math.ceil(got.points.length / 4)]); curveFiles.hidden = false; }
    }, { key: "hide", at: hiding });
  }

  /** What all pictures of the gallery are taken for. @param {Values} values @param {any} info @param {any} page */
  async function several(values, info, page) {
    const list = values.from === "test" ? page.pictures.map((/** @type {any} */ one) => ({ shape: info.image, data: bytes(one.pixels) })) : values.from === "own" ? values.own.map(owned.of).filter(Boolean) : [], at_ = values.own.flatMap((/** @type {string} */ one, /** @type {number} */ i) => (owned.of(one) ? [i] : []));
    all.hidden = list.length < 2;
    if (list.length < 2) { together = ""; return; }
    const body_ = { model: now(), pictures: list.map((/** @type {Pixels} */ one) => ({ pixels: base64(one.data), shape: one.shape })) }, asked = JSON.stringify([body_, values.meant, values.from]);
    if (asked === together) return;
    together = asked;
    all.classList.add("stale");
    try {
      await new Promise((done) => { setTimeout(done, PAUSE); }); // who clicks on wants an answer first
      if (together !== asked || tools.ended.aborted) return;
      const said = await known("several", body_, all);
      if (together !== asked) return;
      if (!said) { together = ""; return; }
      const truths = values.from === "test" ? page.pictures.map((/** @type {any} */ one) => one.label) : list.map(() => (values.meant >= 0 ? info.classes[values.meant] : null));
      all.replaceChildren(...summed(said, truths, info, values, at_));
      all.classList.remove("stale");
    } catch (error) {
      together = "";
      all.classList.remove("stale");
      all.replaceChildren(failed(error));
    }
  }

  /** @param {any} said @param {(string | null)[]} truths @param {any} info @param {Values} values @param {number[]} places of one's own pictures */
  function summed(said, truths, info, values, places) {
    const best = said.probabilities.map((/** @type {number[]} */ one) => one.indexOf(Math.max(...one))), known_ = truths.filter((one) => one !== null && info.classes.includes(one)).length;
    const right = best.filter((/** @type {number} */ one, /** @type {number} */ i) => info.classes[one] === truths[i]).length, count = truths.length;
    const cards = best.map((/** @type {number} */ one, /** @type {number} */ i) => {
      const at_ = { shape: info.image, data: bytes(said.pixels[i]) };
      const button = thumb(at_, `${info.classes[one]} ${percent(Number(said.probabilities[i][one].toPrecision(3)))}`, false, () => { state.set(values.from === "test" ? { pick: i } : { at: places[i] }); state.commit(); }, `picture ${i + 1}: ${info.classes[one]}, ${percent(said.probabilities[i][one])}`);
      if (said.grid) paintPixels(/** @type {HTMLCanvasElement} */ (button.firstChild), at_, overlaid(said.attention[i], said.grid));
      if (truths[i] !== null && info.classes.includes(truths[i])) button.append(h("b", { class: info.classes[one] === truths[i] ? "good" : "bad" }, info.classes[one] === truths[i] ? "✓" : `✗ ${truths[i]}`));
      return button;
    });
    const out = [h("div", {}, h("h2", {}, `All ${count} together`), h("p", { class: "quiet", "data-read": "together" }, known_ ? `${right} of ${known_} are taken for what they ${values.from === "own" || info.samples.sure !== "truly" ? "are meant as" : "are"}. ` : "", said.grid ? "Colours: attention, the mean of all layers and heads." : "")),
      h("div", { class: "thumbs wide" }, ...cards)];
    if (said.grid) {
      const mean = said.attention[0].map((/** @type {number} */ _, /** @type {number} */ i) => said.attention.reduce((/** @type {number} */ sum, /** @type {number[]} */ one) => sum + one[i] / one.reduce((x, y) => x + y, 0), 0) / count);
      const middle = new Uint8Array(said.pixels.map(bytes)[0].length);
      const every = said.pixels.map(bytes);
      middle.forEach((_, i) => { middle[i] = Math.round(every.reduce((/** @type {number} */ sum, /** @type {Uint8Array} */ one) => sum + one[i], 0) / count); });
      const over = overlaid(mean, said.grid), words = h("p", { class: "readout" });
      const rest = `Mean of ${count} pictures and of where the model looked in them.`;
      const view = mapped("mean", (patch) => { words.textContent = patch < 0 ? rest : `${place(patch, over, info.image)}: ${exact(over.values[patch])}× the even share, mean of ${count} pictures`; }, null);
      view.show({ shape: info.image, data: middle }, over, said.grid, "What it looks at in these pictures");
      words.textContent = rest;
      out.splice(1, 1, h("div", { class: "mean-panes" }, h("figure", {}, view.box, words), h("div", { class: "thumbs wide" }, ...cards)));
    }
    return out;
  }

  state.watch((_, changed) => { if (changed.has("draw")) live = null; show(); });
}

/** @param {number[]} weights @param {[number, number]} grid */
function overlaid(weights, [rows, cols]) {
  const even = weights.reduce((x, y) => x + y, 0) / weights.length, values = weights.map((one) => one / even);
  return { rows, cols, values, low: 0, high: Math.max(...values) };
}

/** @type {import("../main.js").Room} */
export default { title: "Vision", defaults, clean, mount };
