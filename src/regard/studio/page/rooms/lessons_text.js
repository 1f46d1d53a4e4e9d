// @ts-check
/** A lesson as it is computed: prose at once, then formulas, checks, tables and pictures, with things to play with between. */
import { h } from "../parts/dom.js";
import { copier, save } from "../parts/exports.js";
import { inline, math, paragraphs } from "../parts/prose.js";
import { State } from "../parts/state.js";
import { failed } from "../parts/table.js";
import { REPLACED, WIDGETS } from "./lessons_widgets.js";

/** @typedef {import("../parts/state.js").State} Shared */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {import("./lessons.js").Lesson} Lesson */

/** @param {Shared} state @param {import("../main.js").Tools} tools */
export function text(state, tools) {
  /** @type {Map<string, any[]>} */
  const known = new Map();  // what was computed, by lesson
  const body = h("div", { class: "prose" }), foot = h("p", { class: "quiet foot", role: "status" }), element = h("section", { class: "card lesson", "aria-label": "Lesson" }, body, foot);
  /** @type {[HTMLImageElement, string][]} */
  let pictures = [];
  let open = "";
  /** @type {State | null} */
  let live = null;
  let rest = () => {};
  tools.onTheme(() => pictures.forEach(([image, svg]) => { image.src = address(svg); }));

  /** @param {string} lesson @param {any} step */
  function add(lesson, step) {
    const key = `${lesson} ${step.name}`, hidden = REPLACED[key] ?? [];
    for (const one of step.parts) if (!hidden.includes(one.name ?? one.kind)) body.append(...part(one));
    const made = WIDGETS[key];
    if (!made) return;
    const mine = new State(made.defaults, made.clean), widget = made.make(mine);
    live = mine;
    rest = () => { mine.onstep = () => {}; widget.rest?.(); };
    mine.load(state.values.live);
    mine.onstep = (now) => { state.set({ live: now }); state.commit(); };
    const figure = h("figure", { class: "live", "data-live": step.name }, h("figcaption", {}, h("b", {}, made.title), " ", ...inline(made.about)), widget.element);
    body.append(figure);
    mine.watch((values) => widget.show(values));
    tools.onTheme(() => { if (figure.isConnected) widget.show(mine.values); });
  }

  /** @param {any} one @returns {Node[]} */
  function part(one) {
    if (one.kind === "prose") return paragraphs(one.text);
    if (one.kind === "formula") return [h("div", { class: "formula" }, h("p", {}, ...inline(one.says)), math(one.mathml), copier("Copy LaTeX", () => one.latex))];
    if (one.kind === "check") return [h("p", { class: one.holds ? "check good" : "check bad" }, h("b", {}, one.holds ? "Holds: " : "Fails: "), ...inline(one.claim), h("small", {}, ...inline(one.seen)))];
    if (one.kind === "block") return [...(one.says ? paragraphs(one.says) : []), h("pre", { tabindex: 0 }, one.text)];
    if (one.kind === "table") return [...(one.says ? paragraphs(one.says) : []), tabled(one)];
    const image = h("img", { alt: one.alt, src: address(one.svg), "data-picture": one.name });
    pictures.push([image, one.svg]);
    const file = h("button", { type: "button", class: "button", onclick: () => save(`${one.name}.svg`, decoded(one.svg), "image/svg+xml") }, "SVG");
    return [h("figure", { class: "drawn" }, image, h("figcaption", {}, one.alt, ". ", file))];
  }

  /** @param {Lesson} lesson */
  async function compute(lesson) {
    /** @type {any[]} */
    const steps = [];
    let count = 0;
    body.setAttribute("aria-busy", "true");
    try {
      const done = await tools.stream("lesson", { lesson: lesson.name }, (said) => {
        if (open !== lesson.name) return;
        if (said.steps) { count = said.steps; }
        else { steps.push(said); add(lesson.name, said); }
        foot.textContent = `Computing: step ${steps.length} of ${count} …`;
      }, { at: element, key: "lesson" });
      if (open !== lesson.name) return;
      if (done) known.set(lesson.name, steps);
      ended(lesson, done ? steps : null);
    } catch (error) {
      if (open === lesson.name) { foot.replaceChildren(failed(error)); foot.append(again(lesson)); }
    } finally { if (open === lesson.name) body.removeAttribute("aria-busy"); }
  }

  /** @param {Lesson} lesson @param {any[] | null} steps */
  function ended(lesson, steps) {
    if (!steps) { foot.replaceChildren("Stopped. ", again(lesson)); return; }
    const checks = steps.flatMap((one) => one.parts).filter((/** @type {any} */ one) => one.kind === "check"), bad = checks.filter((/** @type {any} */ one) => !one.holds).length;
    foot.replaceChildren(bad ? `${bad} of ${checks.length} checks FAILED on this machine. ` : `${checks.length === 1 ? "1 check, which holds" : `${checks.length} checks, all of which hold`}: every number above was computed here, just now. `,
      h("button", { type: "button", class: "button main", onclick: () => { state.set({ view: "turn" }); state.commit(); } }, "Your turn: the exercises"), " ", again(lesson, "Compute again"));
  }

  /** @param {Lesson} lesson @param {string} words */
  const again = (lesson, words = "Compute the lesson") => h("button", { type: "button", class: "button", onclick: () => { known.delete(lesson.name); open = ""; show(state.values, lesson); } }, words);

  /** @param {Values} values @param {Lesson} lesson */
  function show(values, lesson) {
    if (open === lesson.name) { if (live && live.text() !== values.live) live.load(values.live); return; }
    open = lesson.name;
    tools.cancel("lesson");
    rest();
    live = null;
    pictures = [];
    body.replaceChildren();
    foot.replaceChildren();
    const steps = known.get(lesson.name);
    if (!steps) { compute(lesson); return; }
    steps.forEach((one) => add(lesson.name, one));
    ended(lesson, steps);
  }

  return { element, show, rest: () => rest() };
}

/** @param {any} one */
function tabled({ head, rows, left, says }) {
  const side = (/** @type {number} */ i) => (left[i] ? "words" : "");
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": says || head.join(", ") }, h("table", {},
    h("thead", {}, h("tr", {}, ...head.map((/** @type {string} */ one, /** @type {number} */ i) => h("th", { scope: "col", class: side(i) }, ...inline(one))))),
    h("tbody", {}, ...rows.map((/** @type {string[]} */ row) => h("tr", {}, ...row.map((cell, i) => h("td", { class: side(i) }, ...inline(cell))))))));
}

/** @param {string} svg */
const decoded = (svg) => new TextDecoder().decode(Uint8Array.from(atob(svg), (one) => one.charCodeAt(0)));

/** A drawing of Python for the paper that it lies on: on dark paper each colour's lightness is turned round, photographs stay. @param {string} svg */
function address(svg) {
  const dark = document.documentElement.dataset.theme === "dark";
  const text_ = dark ? decoded(svg).replace(/#[0-9a-f]{6}\b/gi, turned).replace("<svg ", '<svg fill="#e8eaf0" ') : decoded(svg);
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text_)}`;
}

/** Lightness turned round; strong colours, which are of lines and words, are only made light enough. @param {string} hex */
function turned(hex) {
  const rgb = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)), most = Math.max(...rgb), least = Math.min(...rgb), sum = most + least;
  const wanted = most - least > 100 && sum < 400 ? Math.max(sum, 510 - sum, 380) : 510 - sum, shift = (wanted - sum) / 2;
  return `#${rgb.map((one) => Math.min(255, Math.max(0, Math.round(26 + (one + shift) * 0.87))).toString(16).padStart(2, "0")).join("")}`;
}
