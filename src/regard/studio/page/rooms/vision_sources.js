// @ts-check
/** Where pictures come from: test pictures page by page, the drawing pad, files that one chooses, drops or pastes. */
import { h, whole } from "../parts/dom.js";
import { segments, select, toggle } from "../parts/fields.js";
import { base64, bytes, packed, paintPixels, unpacked } from "../parts/heat.js";
import { INKS, pad } from "./vision_pad.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {import("../parts/heat.js").Pixels} Pixels */

const LARGEST = 8_000_000, LINKED = 20_000; // bytes of a file; characters of a picture that an address holds
export const OWN = 12; // pictures of one's own
const KINDS = ["image/png", "image/jpeg", "image/webp"];

/** A picture as a button. @param {Pixels} picture @param {string} words @param {boolean} pressed @param {() => void} onclick @param {string} [label] */
export function thumb(picture, words, pressed, onclick, label = words) {
  const canvas = h("canvas", { class: "pixels" });
  paintPixels(canvas, picture);
  return h("button", { type: "button", "aria-pressed": String(pressed), "aria-label": label, onclick }, canvas, h("span", {}, words));
}

/** Test pictures by class and page. @param {State} state */
export function gallerySource(state) {
  const words = h("p", { class: "quiet" }), strip = h("div", { class: "thumbs", role: "group", "aria-label": "Pictures to try" });
  const label = h("select", { "data-key": "label", "aria-label": "Pictures of a class" }), at = h("span", { class: "quiet number" });
  label.addEventListener("change", () => { state.set({ label: Number(label.value), page: 0, pick: 0 }); state.commit(); });
  const turn = (/** @type {number} */ by) => () => { state.set({ page: state.values.page + by, pick: 0 }); state.commit(); };
  const back = h("button", { type: "button", class: "button", onclick: turn(-1) }, "Earlier"), next = h("button", { type: "button", class: "button", onclick: turn(1) }, "More");
  const element = h("div", { class: "stack tight" }, h("div", { class: "field" }, h("div", { class: "label" }, h("b", {}, "pictures of")), label), strip, h("div", { class: "bar turns" }, back, next, at), words);
  return {
    element,
    /** @param {Values} values @param {any} info @param {any} page */
    show(values, info, page) {
      const { samples } = info;
      words.textContent = `These are ${samples.words.replace(/^.*: these are /, "")}${samples.words.includes(": ") ? `, as ${samples.words.split(": ")[0]}` : ""}.`;
      label.replaceChildren(h("option", { value: -1 }, "all classes"), ...samples.classes.map((/** @type {string} */ one, /** @type {number} */ i) => h("option", { value: i }, one)));
      label.value = String(values.label < samples.classes.length ? values.label : -1);
      strip.replaceChildren(...page.pictures.map((/** @type {any} */ one, /** @type {number} */ i) =>
        thumb({ shape: info.image, data: bytes(one.pixels) }, one.label, i === values.pick, () => { state.set({ pick: i }); state.commit(); }, `picture ${one.number}, ${one.label}`)));
      at.textContent = page.pages > 1 ? `${page.page + 1} of ${page.pages}, ${whole(page.count)} pictures` : "";
      back.disabled = page.page === 0;
      next.disabled = page.page + 1 >= page.pages;
      /** @type {HTMLElement} */ (back.parentElement).hidden = page.pages < 2;
    },
  };
}

/** The drawing pad and its tools. @param {State} state @param {(draw: string[]) => void} onlive */
export function padSource(state, onlive) {
  const undo = () => { state.set({ draw: state.values.draw.slice(0, -1) }); state.commit(); };
  const board = pad({ onlive, undo, onstroke: (draw) => { state.set({ draw }); state.commit(); } });
  const inks = h("div", { class: "inks", role: "radiogroup", "aria-label": "Colour" }, ...INKS.map(([name, rgb], i) =>
    h("button", { type: "button", role: "radio", "aria-label": name, title: name, "data-ink": i, style: { "--ink-of": `rgb(${rgb.join(",")})` }, onclick: () => state.set({ ink: i, tool: state.values.tool === "eraser" ? "pen" : state.values.tool }) })));
  const back = h("button", { type: "button", class: "button", onclick: undo }, "Undo"), wipe = h("button", { type: "button", class: "button", onclick: () => { state.set({ draw: [] }); state.commit(); } }, "Clear");
  const words = h("p", { class: "quiet" }), frame = toggle(state, "fit", { label: "Fit to the frame" });
  const element = h("div", { class: "stack tight" }, h("div", { class: "pad-box" }, board.canvas),
    h("div", { class: "bar tools" }, segments(state, "tool", { label: "Tool", hidden: true, options: [["pen", "Pen"], ["shape", "Shape"], ["eraser", "Eraser"]] }), segments(state, "wide", { label: "Width", hidden: true, options: [[1, "Fine"], [2, "Medium"], [3, "Broad"]] })),
    inks, h("div", { class: "bar tools" }, back, wipe, frame), words);
  return {
    element,
    /** @param {Values} values @param {import("./vision_pad.js").Paper} paper @param {string} data */
    show(values, paper, data) {
      board.show(values.draw, paper, { tool: values.tool, wide: values.wide, ink: values.ink });
      inks.hidden = !(frame.hidden = paper.shape[0] === 3);
      inks.querySelectorAll("button").forEach((one, i) => { one.setAttribute("aria-checked", String(i === values.ink)); });
      back.disabled = wipe.disabled = !values.draw.length;
      words.textContent = paper.shape[0] === 3 ? "“Shape” fills what you draw around. The ground is sky; the model knows photographs, so it may well be wrong."
        : `${paper.dark ? "White on black" : "Black on white"}, as ${data} has it${values.fit ? "; the drawing is moved and stretched to where its things are" : ""}.`;
    },
  };
}

/** One's own files: by button, drop and paste. @param {State} state @param {import("../main.js").Tools} tools @param {HTMLElement} room where files may be dropped @param {() => string} model */
export function ownSource(state, tools, room, model) {
  const input = h("input", { type: "file", accept: KINDS.join(","), multiple: true, class: "unseen", tabindex: -1, "aria-hidden": "true", "data-upload": true });
  const fault = h("div", { class: "wrong", role: "alert" }), strip = h("div", { class: "thumbs", role: "group", "aria-label": "Your pictures" }), words = h("p", { class: "quiet", "data-read": "notices" });
  const meant = h("select", { "data-key": "meant", "aria-label": "What they show" });
  meant.addEventListener("change", () => { state.set({ meant: Number(meant.value) }); state.commit(); });
  const choose = h("button", { type: "button", class: "button main", onclick: () => input.click() }, "Choose pictures");
  const drop = h("div", { class: "drop" }, h("p", {}, choose, input), h("p", { class: "quiet" }, "or drop them here, or paste one. PNG, JPEG or WebP, up to 8 MB each; they stay on this machine."));
  const invert = h("button", { type: "button", class: "button", onclick: () => change((one) => ({ ...one, data: one.data.map((value) => 255 - value) })) }, "Exchange black and white");
  const remove = h("button", { type: "button", class: "button", onclick: () => { const { own, done, at } = state.values, others = (/** @type {string} */ _, /** @type {number} */ i) => i !== at; state.set({ own: own.filter(others), done: done.filter(others), at: Math.max(0, at - 1) }); state.commit(); } }, "Remove");
  const shows = h("div", { class: "field" }, h("div", { class: "label" }, h("b", {}, "they show")), meant);
  const element = h("div", { class: "stack tight own" }, drop, fault, strip, h("div", { class: "bar tools" }, invert, remove), shows, words);
  /** @type {Map<string, Pixels>} */
  const large = new Map(); // too long for an address
  let count = 0;

  /** @param {(picture: Pixels) => Pixels} how */
  function change(how) {
    const { own, done, at } = state.values, picture = of(own[at]);
    if (!picture) return;
    const text = kept(how(picture));
    const note = [done[at], "black and white exchanged by hand"].filter(Boolean).join("; "), put = (/** @type {string} */ now) => (/** @type {string} */ one, /** @type {number} */ i) => (i === at ? now : one);
    state.set({ own: own.map(put(text)), done: done.map(put(note)) });
    state.commit();
  }
  /** @param {Pixels} picture */
  function kept(picture) {
    const text = packed(picture);
    if (text.length <= LINKED) return text;
    const name = `here-${++count}`;
    large.set(name, picture);
    return name;
  }
  const of = (/** @type {string} */ text) => unpacked(text) ?? large.get(text) ?? null;
  const say = (/** @type {string} */ text) => { fault.textContent = text; };

  /** @param {Iterable<File>} files */
  async function take(files) {
    say("");
    state.set({ from: "own" });
    for (const file of files) {
      if (state.values.own.length >= OWN) { say(`At most ${OWN} pictures at a time: remove one first.`); break; }
      if (file.size > LARGEST) { say(`${file.name} has ${whole(file.size)} bytes; at most ${whole(LARGEST)} are taken.`); continue; }
      try {
        const data = base64(new Uint8Array(await file.arrayBuffer()));
        const said = await tools.ask("read", { model: model(), name: file.name.slice(-200), file: data }, { at: /** @type {HTMLElement} */ (element.parentElement), key: `read ${file.name}` });
        if (!said) continue;
        const text = kept({ shape: said.shape, data: bytes(said.pixels) });
        state.set({ own: [...state.values.own, text], done: [...state.values.done, [file.name, ...said.notices].join("; ")], at: state.values.own.length });
      } catch (error) { say(error instanceof Error ? error.message : String(error)); }
    }
    state.commit();
  }
  input.addEventListener("change", () => { const files = [...(input.files ?? [])]; input.value = ""; take(files); });
  room.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) { event.preventDefault(); drop.classList.add("over"); } });
  room.addEventListener("dragleave", (event) => { if (!room.contains(/** @type {Node} */ (event.relatedTarget))) drop.classList.remove("over"); });
  room.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    take(files);
  });
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])].filter((one) => one.type.startsWith("image/"));
    if (files.length) { event.preventDefault(); take(files); }
  }, { signal: tools.ended });

  return {
    element, of,
    /** @param {Values} values @param {any} info */
    show(values, info) {
      strip.replaceChildren(...values.own.map((/** @type {string} */ one, /** @type {number} */ i) => {
        const picture = of(one);
        return picture ? thumb(picture, `${i + 1}`, i === values.at, () => { state.set({ at: i }); state.commit(); }, `your picture ${i + 1}`)
          : h("button", { type: "button", "aria-pressed": String(i === values.at), onclick: () => state.set({ at: i }) }, h("span", { class: "quiet" }, `${i + 1}: too large for a link`));
      }));
      const one = values.own[values.at], picture = one && of(one), [channels, rows, cols] = info.image;
      invert.hidden = !picture || picture.shape[0] !== 1;
      remove.hidden = shows.hidden = !values.own.length;
      meant.replaceChildren(h("option", { value: -1 }, "not said"), ...info.classes.map((/** @type {string} */ name, /** @type {number} */ i) => h("option", { value: i }, name)));
      meant.value = String(values.meant < info.classes.length ? values.meant : -1);
      const other = picture && picture.shape.join() !== info.image.join();
      words.textContent = [one && values.done[values.at], other ? `read at ${picture.shape[2]}×${picture.shape[1]} for another model, and resized to ${cols}×${rows}${channels < picture.shape[0] ? " in grey" : ""}: add it again for its full detail` : ""].filter(Boolean).join("; ");
    },
  };
}
