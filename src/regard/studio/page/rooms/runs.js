// @ts-check
/** Runs: trainings as they go, and what became of them; asked for again and again while one looks. */
import { h } from "../parts/dom.js";
import { copier, saveCsv, savers, saveSvg, saveSvgPng } from "../parts/exports.js";
import { segments, select, toggle } from "../parts/fields.js";
import { empty, failed, lede } from "../parts/table.js";
import { colourOf, differing, drawing, listing, sampler, title } from "./runs_views.js";

/** @typedef {import("../parts/state.js").Values} Values */
/**
 * @typedef {object} Row one run in the list
 * @property {string} name
 * @property {string} recipe
 * @property {string} state
 * @property {number} steps
 * @property {number | null} planned
 * @property {number | null} minutes
 * @property {[string, number][]} validation
 * @property {[string, number][]} test
 * @property {string} kind
 * @property {number} ago seconds since it was written to
 * @property {string} fault
 */
/** @typedef {{stretch: number, curves: Record<string, [number, number][]>}} Curves */
/** @typedef {{name: string, mark: string, gone?: string, same?: boolean, state: string, kind: string, last: number, planned: number | null, train: Curves, validation: Curves, samples: [number, string][], fault: string}} Record_ */

export const CHOSEN = 8;
const SOON = 2000, LATER = 6000; // milliseconds until asked again: while something trains, and else
const ROOMS = /** @type {Record<string, [string, string]>} */ ({ images: ["vision", "Vision"], dialogues: ["language", "Language"], sentiment: ["sentiment", "Sentiment"] });

/** No run in a link is the newest; `none` is that one wants to see no run. */
const defaults = { runs: /** @type {string[]} */ ([]), none: false, show: "loss", x: "step", log: false, smooth: false };

/** @param {Values} values */
const clean = (values) => ({
  ...values, runs: [...new Set(values.runs)].slice(0, CHOSEN), none: values.none && !values.runs.length, show: String(values.show).slice(0, 100), x: values.x === "minutes" ? "minutes" : "step",
});

/** @param {HTMLElement} at @param {import("../parts/state.js").State} state @param {import("../main.js").Tools} tools */
function mount(at, state, tools) {
  tools.style("runs");
  const list = h("section", { class: "card list", "aria-label": "Runs" }, h("div", { class: "waits" }));
  const show = select(state, "show", { label: "curve of", options: [["loss", "loss"]] });
  const x = segments(state, "x", { label: "against", options: [["step", "steps"], ["minutes", "minutes"]] });
  const bar = h("div", { class: "bar" }, show, x, toggle(state, "log", { label: "Log axis" }), toggle(state, "smooth", { label: "Smooth" }));
  const plot = h("div", { class: "drawn" }), cards = h("div", { class: "chosen" }), differ = h("section", { class: "card differ", "aria-label": "What differs", hidden: true });
  const files = savers({
    PNG: () => { const picture = plot.querySelector("svg"); if (picture) void saveSvgPng("runs.png", picture); },
    SVG: () => { const picture = plot.querySelector("svg"); if (picture) saveSvg("runs.svg", picture); },
    CSV: () => saveCsv("runs.csv", [["run", "part", "count", "step", "value"], ...chosen().flatMap((name) => {
      const one = known.get(name);
      return one ? ["train", "validation"].flatMap((part) => Object.entries(/** @type {any} */ (one)[part].curves).flatMap(([count, points]) => /** @type {[number, number][]} */ (points).map(([step, value]) => [title(name), part, count, step, value]))) : [];
    })]),
  });
  const curvesCard = h("section", { class: "card", "aria-label": "Curves", hidden: true }, bar, plot, files);
  at.append(lede("Trainings, as they go", "What is trained beside is drawn while it grows. Choose up to eight runs to compare them.", copier("Copy link", tools.link)), list, curvesCard, cards, differ);

  /** @type {Row[] | null} */
  let rows = null;
  /** @type {Map<string, Record_>} */
  const known = new Map();
  /** @type {Values | null} */
  let seen = null;
  let timer = 0, drawn = "", carded = "", differing_ = "", listed = "", busy = false, again = false, /** @type {string | null} */ folder = null;
  /** @type {Map<string, ReturnType<typeof sampler>>} */
  const samples = new Map();

  /** The runs that are drawn: those that were chosen, else the newest, unless none is wanted. */
  const chosen = () => /** @type {string[]} */ (state.values.runs.length ? state.values.runs : rows?.length && !state.values.none ? [rows[0].name] : []);
  const choose = (/** @type {string} */ name, /** @type {boolean} */ on) => {
    const now = chosen(), runs = on ? [...now, name].slice(-CHOSEN) : now.filter((/** @type {string} */ one) => one !== name);
    state.set({ runs, none: !runs.length });
    state.commit();
  };

  /** Ask for the list and for what of the chosen runs is new. */
  async function look() {
    if (busy) { again = true; return; }
    busy = true;
    clearTimeout(timer);
    try {
      const said = await tools.ask("overview", {}, rows ? {} : { at: list });
      if (said) {
        rows = said.runs;
        folder = said.folder;
        const names = chosen();
        if (names.length) {
          const marks = Object.fromEntries(names.map((/** @type {string} */ name) => [name, known.get(name)?.mark ?? ""]));
          const more = await tools.ask("records", { runs: names, marks }, names.every((/** @type {string} */ name) => known.has(name)) ? {} : { at: curvesCard });
          for (const one of more?.runs ?? []) if (!one.same) known.set(one.name, one);
        }
        list.querySelector(".failed")?.remove();
        draw();
      } else if (!rows) list.replaceChildren(empty("Not asked", "The question was cancelled; it is asked again in a moment."));
    } catch (error) {
      list.querySelector(".failed")?.remove();
      list.prepend(failed(error));
    }
    busy = false;
    if (tools.ended.aborted) return;
    const wait = again ? 0 : rows?.some((one) => one.state === "running") ? SOON : LATER;
    again = false;
    timer = window.setTimeout(() => { if (document.hidden) timer = window.setTimeout(look, LATER); else void look(); }, wait);
  }

  function draw() {
    if (!rows) return;
    const names = chosen(), key = JSON.stringify([rows, names, folder]), all = rows;
    if (key !== listed) {
      listed = key;
      const place = list.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.run : undefined;
      list.replaceChildren(...listing(rows, names, folder, choose));
      if (place !== undefined) /** @type {HTMLElement | undefined} */ ([...list.querySelectorAll("[data-run]")].find((one) => /** @type {HTMLElement} */ (one).dataset.run === place))?.focus();
    }
    curvesCard.hidden = names.length === 0;
    const there = names.map((name) => known.get(name)).filter((one) => one !== undefined);
    const found = [...new Set(there.flatMap((one) => (one.gone ? [] : ["train", "validation"].flatMap((part) => Object.keys(/** @type {any} */ (one)[part].curves)))))].filter((one) => one !== "seconds");
    options(found, names.length > 0 && there.length === names.length);
    const read = JSON.stringify([rows.length > 0, names, there.map((one) => one.mark), rows.filter((one) => names.includes(one.name)).map(({ ago, ...rest }) => rest)]), picture = JSON.stringify([read, state.values]);
    const held = drawn && state.values === seen && plot.matches(":hover, :focus-within"); // whoever reads a value there keeps it
    if (picture !== drawn && !held) {
      [drawn, seen] = [picture, state.values];
      plot.replaceChildren(...drawing(there, names, state.values, (step) => samples.forEach((one) => one.point(step))));
    }
    if (read !== carded) {
      carded = read;
      for (const name of samples.keys()) if (!names.includes(name)) samples.delete(name);
      cards.replaceChildren(...(names.length || !all.length ? names.map((name, i) => card(name, i)) : [empty("No run is chosen", "Choose a run in the list, and its curves are here at once.")]));
    }
    void compare(names.filter((name) => known.get(name) && !known.get(name)?.gone));
  }

  /** What the list of curves offers; what a link asks for and no chosen run has is said to be that. @param {string[]} found @param {boolean} read whether all chosen runs are read */
  function options(found, read) {
    const list_ = /** @type {HTMLSelectElement} */ (show.querySelector("select")), names = [...new Set(["loss", ...found, state.values.show])];
    const words = names.map((one) => `${/** @type {Record<string, string>} */ ({ lr: "learning rate", norm: "norm of the gradient" })[one] ?? one.replaceAll("_", " ")}${read && !found.includes(one) ? " (not recorded)" : ""}`);
    if ([...list_.options].map((one) => one.value + one.text).join() === names.map((one, i) => one + words[i]).join()) return;
    list_.replaceChildren(...names.map((one, i) => h("option", { value: one }, words[i])));
    list_.value = state.values.show;
  }

  /** @param {string} name @param {number} i */
  function card(name, i) {
    const one = known.get(name), row = rows?.find((other) => other.name === name);
    const head = h("h2", {}, h("i", { class: "swatch", style: { background: `var(${colourOf(i)})` } }), title(name));
    if (!one || one.gone) return h("section", { class: "card", "aria-label": title(name) }, head, h("p", { class: "quiet" }, one?.gone ?? "Not read yet."));
    const [room, words] = ROOMS[one.kind] ?? ["", ""];
    const places = h("div", { class: "buttons" },
      room && tools.has(room) ? h("button", { type: "button", class: "button main", onclick: () => tools.go(room, { model: name }) }, `Open in ${words}`) : null,
      tools.has("costs") ? h("button", { type: "button", class: "button", onclick: () => tools.go("costs", { model: name }) }, "Price it in Costs") : null);
    const sample = samples.get(name) ?? sampler(name);
    samples.set(name, sample);
    sample.show(one.samples);
    const scores = (/** @type {[string, number][]} */ all) => all.map(([score, value]) => `${score.replaceAll("_", " ")} ${Number(value.toPrecision(5))}`).join(", ");
    const told = [
      [row?.recipe && row.recipe !== title(name) ? row.recipe : "", row?.state === "running" ? `running, step ${one.last.toLocaleString("en")}${one.planned ? ` of ${one.planned.toLocaleString("en")}` : ""}` : `${row?.state ?? one.state}, step ${one.last.toLocaleString("en")}`].filter(Boolean).join(": "),
      row?.validation.length ? `best on validation: ${scores(row.validation)}` : "", row?.test.length ? `on the test part: ${scores(row.test)}` : "",
    ].filter(Boolean);
    return h("section", { class: "card run", "aria-label": title(name), "data-name": name }, head, ...told.map((line) => h("p", { class: "quiet" }, line)),
      one.fault ? h("p", { class: "wrong" }, one.fault) : null, places, sample.element);
  }

  /** Where the recipes of several runs differ. @param {string[]} names */
  async function compare(names) {
    differ.hidden = names.length < 2;
    const key = names.join("\n");
    if (names.length < 2 || key === differing_) { if (names.length < 2) differing_ = ""; return; }
    differing_ = key;
    differ.classList.add("stale");
    try {
      const said = await tools.ask("differences", { runs: names }, { at: differ });
      if (said && differing_ === key) differ.replaceChildren(...differing(said));
    } catch (error) {
      if (differing_ === key) differ.replaceChildren(failed(error));
    }
    differ.classList.remove("stale");
  }

  plot.addEventListener("pointerleave", draw);
  plot.addEventListener("focusout", draw);
  const back = () => { if (!document.hidden) void look(); };
  document.addEventListener("visibilitychange", back, { signal: tools.ended });
  state.watch((_, changed) => { if (rows) draw(); if (!rows || changed.has("runs")) void look(); });
  return () => { clearTimeout(timer); };
}

/** @type {import("../main.js").Room} */
export default { title: "Runs", defaults, clean, mount };
