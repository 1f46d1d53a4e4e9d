// @ts-check
/** The list of runs, their curves, their samples, and where their recipes differ. */
import { curves } from "../parts/curves.js";
import { h, whole } from "../parts/dom.js";
import { empty, table } from "../parts/table.js";

/** @typedef {import("./runs.js").Row} Row */
/** @typedef {import("./runs.js").Record_} Record_ */

const COLOURS = ["--accent", "--other", "--third", "--quiet"];
/** @param {number} i */
export const colourOf = (i) => COLOURS[i % COLOURS.length];
/** A run's name without what says that it is of the folder. @param {string} name */
export const title = (name) => name.replace(/^runs:/, "");

/** A time as people say it. @param {number} seconds */
const since = (seconds) => (seconds < 5 ? "now" : seconds < 90 ? `${seconds} s ago` : seconds < 5400 ? `${Math.round(seconds / 60)} min ago` : seconds < 129_600 ? `${Math.round(seconds / 3600)} h ago` : `${whole(Math.round(seconds / 86_400))} days ago`);

/** How long something took. @param {number} minutes */
const lasting = (minutes) => (minutes < 1 ? `${Math.round(60 * minutes)} s` : minutes < 100 ? `${minutes.toFixed(1)} min` : `${(minutes / 60).toFixed(1)} h`);

/** All runs; one is chosen by its box. @param {Row[]} rows @param {string[]} chosen @param {string | null} folder @param {(name: string, on: boolean) => void} choose @returns {Node[]} */
export function listing(rows, chosen, folder, choose) {
  if (folder === null) return [empty("No folder of runs is known", "Start the studio where your runs are, or name their folder:", "regard studio --runs runs")];
  if (!rows.length) return [empty(`No run yet in ${folder}`, "Start one in a terminal beside, and watch it grow here:", `regard train digits-vit --out ${folder}/digits`)];
  const score = (/** @type {[string, number][]} */ all) => (all.length ? `${all[0][0].replaceAll("_", " ")} ${Number(all[0][1].toPrecision(4))}` : "–");
  return [
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Runs in ${folder}` }, h("table", { class: "runs" },
      h("thead", {}, h("tr", {}, ...["run", "state", "steps", "time", "validation", "test"].map((one) => h("th", { scope: "col" }, one)))),
      h("tbody", {}, ...rows.map((row) => {
        const i = chosen.indexOf(row.name), full = row.planned ? Math.min(1, row.steps / row.planned) : 0;
        const box = h("input", { type: "checkbox", checked: i >= 0, "data-run": row.name, onchange: (/** @type {Event} */ event) => choose(row.name, /** @type {HTMLInputElement} */ (event.target).checked) });
        return h("tr", { "aria-selected": String(i >= 0) },
          h("th", { scope: "row" }, h("label", {}, box, h("i", { class: "swatch", style: { background: i < 0 ? "transparent" : `var(${colourOf(i)})` } }), h("span", {}, title(row.name), row.recipe !== title(row.name) ? h("small", {}, row.recipe) : null, row.fault ? h("small", { class: "fault" }, row.fault) : null))),
          h("td", { "data-label": "state" }, h("span", { class: `state ${row.state === "running" ? "on" : ""}` }, row.state), h("small", {}, since(row.ago))),
          h("td", { "data-label": "steps" }, `${whole(row.steps)}${row.planned ? ` of ${whole(row.planned)}` : ""}`, row.state === "running" && full ? h("div", { class: "meter" }, h("i", { style: { width: `${100 * full}%` } })) : null),
          h("td", { "data-label": "time" }, row.minutes === null ? "–" : lasting(row.minutes)),
          h("td", { "data-label": "validation" }, score(row.validation)), h("td", { "data-label": "test" }, score(row.test)));
      })))),
  ];
}

/** A running mean over a fiftieth of the points, as the curves of a run's folder have it. @param {[number, number][]} points @returns {[number, number][]} */
function smoothed(points) {
  const weight = Math.min(1, 1 / Math.max(1, 0.02 * points.length));
  let total = 0;
  return points.map(([step, value], i) => [step, (total += Math.max(weight, 1 / (i + 1)) * (value - total))]);
}

/**
 * The curves of the chosen runs: training in a line, validation in dashes.
 * @param {Record_[]} records @param {string[]} names @param {import("../parts/state.js").Values} values @param {(step: number | null) => void} point @returns {Node[]}
 */
export function drawing(records, names, values, point) {
  const many = names.length > 1, minutes = values.x === "minutes";
  let stretch = 1;
  /** Steps as minutes, by the clock of training between which is drawn straight. @param {Record_} one @returns {(step: number) => number | null} */
  const clock = (one) => {
    if (!minutes) return (step) => step;
    const times = one.train.curves.seconds ?? [];
    return (step) => {
      const i = times.findIndex(([at]) => at >= step), [after, late] = times[i < 0 ? times.length - 1 : i] ?? [0, 0], [before, early] = times[i - 1] ?? [0, 0];
      if (!times.length) return null;
      return (i < 0 || after === before ? late : early + ((late - early) * (step - before)) / (after - before)) / 60;
    };
  };
  const series = records.filter((one) => !one.gone).flatMap((one) => {
    const i = names.indexOf(one.name), when = clock(one);
    return /** @type {const} */ (["train", "validation"]).flatMap((part) => {
      const points = one[part].curves[values.show];
      if (!points?.length) return [];
      stretch = Math.max(stretch, one[part].stretch);
      const shown = (values.smooth && part === "train" ? smoothed(points) : points).flatMap(([step, value]) => { const at = when(step); return at === null || (values.log && value <= 0) ? [] : [/** @type {[number, number]} */ ([at, value])]; });
      return shown.length ? [{ name: `${many ? `${title(one.name)}, ` : ""}${part === "train" ? "training" : "validation"}`, points: shown, colour: many ? colourOf(i) : part === "train" ? "--accent" : "--other", dash: (part === "train" ? "" : "7 4") + (i >= 4 ? (part === "train" ? "2 3" : " 1 4") : "") }] : [];
    });
  });
  if (!series.length) return [nothing(records, values.show.replaceAll("_", " "))];
  const told = [stretch > 1 ? `Each point is the mean of ${whole(stretch)} rows.` : "Each point is one row of the record.", series.some((/** @type {any} */ one) => one.name.endsWith("validation")) ? "Validation is dashed." : "", values.smooth ? "Training is smoothed by a running mean over a fiftieth of the run." : ""];
  return [
    curves({
      series, height: 320, label: `${values.show} against ${values.x}`, x: { label: values.x }, y: { label: values.show.replaceAll("_", " "), log: values.log, ...bounds(series, values.log) },
      onpoint: (at) => point(at === null || minutes ? null : at),
    }),
    h("p", { class: "quiet" }, told.join(" ")),
  ];
}

/** Why there is no curve: a run that goes on may still write it. @param {Record_[]} records @param {string} what */
function nothing(records, what) {
  const there = records.filter((one) => !one.gone);
  if (!records.length) return empty("Nothing is read yet", "");
  if (!there.length) return empty(records.length > 1 ? "None of these runs is there" : "This run is not there", "Choose a run in the list.");
  if (there.some((one) => one.state === "running")) return empty(`No ${what} is recorded yet`, "If the run writes it, it is drawn here at once.");
  return empty(`No ${what} is recorded`, `${there.length > 1 ? "None of the chosen runs has" : "The chosen run does not have"} such a curve: choose another above.`);
}

/** Losses are seldom near zero: the axis begins below the least of them. @param {{points: [number, number][]}[]} series @param {boolean} log */
function bounds(series, log) {
  if (log) return {};
  let low = Infinity, high = -Infinity;
  for (const { points } of series) for (const [, value] of points) { low = Math.min(low, value); high = Math.max(high, value); }
  return low > 0 && low > 0.4 * high ? { from: low - 0.06 * (high - low || low) } : {};
}

/** What a run shows of itself at each validation; the one where one points, else the last. @param {string} name */
export function sampler(name) {
  const words = h("pre", { tabindex: 0, "aria-label": `Sample of ${title(name)}` }), when = h("h3"), range = h("input", { type: "range", min: 0, step: 1, "aria-label": `Which sample of ${title(name)}` });
  const element = h("div", { class: "sample", hidden: true }, when, range, words);
  /** @type {[number, string][]} */
  let all = [];
  let at = -1, follows = true;
  const draw = () => {
    const i = follows ? all.length - 1 : Math.min(at, all.length - 1), found = all[i];
    element.hidden = !found;
    if (!found) return;
    range.max = String(all.length - 1);
    range.value = String(i);
    range.hidden = all.length < 2;
    range.style.setProperty("--part", `${(100 * i) / Math.max(1, all.length - 1)}%`);
    range.setAttribute("aria-valuetext", `step ${whole(found[0])}`);
    when.textContent = `sample at step ${whole(found[0])}${i === all.length - 1 ? ", the last" : ""}`;
    words.textContent = found[1];
  };
  range.addEventListener("input", () => { at = Number(range.value); follows = at === all.length - 1; draw(); });
  return {
    element,
    show: (/** @type {[number, string][]} */ samples) => { all = samples.filter(([, text]) => text.trim()); draw(); },
    /** Show what the run said last before a step. @param {number | null} step */
    point: (step) => {
      if (step === null) return;
      let i = all.findIndex(([one]) => one > step);
      i = i < 0 ? all.length - 1 : Math.max(0, i - 1);
      at = i;
      follows = i === all.length - 1;
      draw();
    },
  };
}

/** Where recipes differ; what is seldom looked for is folded away. @param {{names: string[], fields: string[][], more: number}} said @returns {Node[]} */
export function differing(said) {
  const head = ["setting", ...said.names.map(title)], first = said.fields.slice(0, 12), rest = said.fields.slice(12);
  return [
    h("h2", {}, "What differs"),
    first.length ? table(head, first, "Settings that differ") : h("p", { class: "quiet" }, "Their recipes are the same."),
    ...(rest.length ? [h("details", {}, h("summary", {}, `${whole(rest.length + said.more)} more`), table(head, rest, "More settings that differ"), said.more ? h("p", { class: "quiet" }, `… and ${whole(said.more)} that are not listed`) : "")] : []),
  ];
}
