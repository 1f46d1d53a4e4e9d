// @ts-check
/** Own code: a task, a place to write or upload, and the grader's report with expected and found side by side. */
import { CellGrid } from "../parts/cells.js";
import { h, id } from "../parts/dom.js";
import { save } from "../parts/exports.js";
import { inline } from "../parts/prose.js";
import { failed, table } from "../parts/table.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {import("./lessons.js").Task} Task */

const MOST = 40_000, FILE = 4_000_000; // characters of a solution, bytes of a file that is read

/** @param {State} state @param {import("../main.js").Tools} tools @param {import("./lessons_progress.js").Progress} kept */
export function code(state, tools, kept) {
  const name = id(), title = h("h2"), about = h("p", { class: "quiet" }), fault = h("div", { class: "wrong", id: `${name}-wrong`, role: "alert" });
  const editor = h("textarea", { id: name, rows: 22, spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-describedby": `${name}-wrong`, "data-key": "source" });
  const upload = h("input", { type: "file", accept: ".py,.ipynb", class: "unseen", tabindex: -1, "aria-label": "Upload a .py or .ipynb file" });
  const grade = h("button", { type: "button", class: "button main" }, "Grade"), lesson = h("button", { type: "button", class: "button" }, "Its lesson");
  const report = h("div", { class: "report", "aria-live": "polite", "data-read": "report" }), stage = h("p", { class: "quiet", role: "status" });
  const element = h("section", { class: "card homework", "aria-label": "Your own code" }, title, about,
    h("div", { class: "field code" }, h("label", { for: name }, h("b", {}, "your code"), h("span", {}, "Ctrl + Enter grades it")), editor, fault), upload,
    h("div", { class: "buttons" }, grade, h("button", { type: "button", class: "button", onclick: () => upload.click() }, "Upload .py or .ipynb"), h("button", { type: "button", class: "button", onclick: () => save(`${task?.name.replaceAll("-", "_")}.py`, editor.value, "text/x-python") }, "Save as file"),
      h("button", { type: "button", class: "button", onclick: () => reset() }, "Back to the skeleton"), lesson), stage, report);
  /** @type {Task | null} */
  let task = null;
  /** @type {any} */
  let last = null;
  let shown = "";

  const wrong = (/** @type {string} */ message) => { fault.textContent = message; editor.setAttribute("aria-invalid", String(message !== "")); };
  const put = (/** @type {string} */ source) => { editor.value = source; changed(); };
  function changed() {
    wrong(editor.value.length > MOST ? `a solution may have at most ${MOST.toLocaleString("en")} characters here, this has ${editor.value.length.toLocaleString("en")}` : "");
    if (task) kept.keep(task.name, editor.value);
    report.classList.toggle("stale", shown !== "" && editor.value !== shown);
    stage.textContent = report.classList.contains("stale") ? "The report below is about your code as it was." : "";
  }
  editor.addEventListener("input", () => changed());
  editor.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    if (event.ctrlKey || event.metaKey) { event.preventDefault(); run(); return; }
    const before = editor.value.slice(0, editor.selectionStart).split("\n").pop() ?? "", indent = (/^\s*/.exec(before)?.[0] ?? "") + (/:\s*(#.*)?$/.test(before) ? "    " : "");
    if (!indent || event.isComposing) return;
    event.preventDefault();
    if (!document.execCommand("insertText", false, `\n${indent}`)) editor.setRangeText(`\n${indent}`, editor.selectionStart, editor.selectionEnd, "end");
    changed();
  });
  upload.addEventListener("change", async () => {
    const file = upload.files?.[0];
    upload.value = "";
    if (!file) return;
    if (!/\.(py|ipynb)$/i.test(file.name)) { wrong(`a solution is a .py or .ipynb file, got ${file.name}`); return; }
    if (file.size > FILE) { wrong(`${file.name} has ${file.size.toLocaleString("en")} bytes, more than ${FILE.toLocaleString("en")}`); return; }
    const source = await file.text();
    try { put(/\.ipynb$/i.test(file.name) ? cells(source) : source); }
    catch { wrong(`${file.name} is no notebook in the format of Jupyter`); }
  });
  grade.addEventListener("click", () => run());
  lesson.addEventListener("click", () => { if (task) { state.set({ view: "read", lesson: task.lesson, exercise: "", answer: "", checked: false, hints: 0, live: "" }); state.commit(); } });

  async function reset() {
    const mine = task;
    if (!mine) return;
    try {
      const found = await tools.ask("skeleton", { task: mine.name }, { at: element });
      if (!found || task !== mine) return;
      put(found.skeleton);
      kept.keep(mine.name, null); // as if nothing had been written
    } catch (error) { wrong(error instanceof Error ? error.message : String(error)); }
  }

  async function run() {
    const mine = task, source = editor.value;
    if (!mine) return;
    if (!source.trim()) { wrong("write or paste a solution first"); editor.focus(); return; }
    if (source.length > MOST) { changed(); editor.focus(); return; }
    wrong("");
    report.classList.add("stale");
    grade.disabled = true;
    let found = null;
    try {
      const done = await tools.stream("grade", { task: mine.name, source }, (part) => { if (task !== mine) return; if (part.stage) stage.textContent = `${part.stage} …`; else found = part.report; }, { at: element, key: "grade" });
      if (task !== mine) return;
      if (!done) { stage.textContent = "Stopped: nothing was graded."; report.replaceChildren(); shown = ""; report.classList.remove("stale"); return; }
      told(mine, found, source);
    } catch (error) {
      if (task !== mine) return;
      stage.textContent = "";
      report.replaceChildren();
      shown = "";
      report.classList.remove("stale");
      if (error instanceof Error && /** @type {any} */ (error).field === "source") wrong(error.message);
      else report.replaceChildren(failed(error));
    } finally { grade.disabled = false; }
  }

  /** @param {Task} mine @param {any} found @param {string} source */
  function told(mine, found, source) {
    last = found;
    shown = source;
    kept.score(mine.name, found.points, found.most);
    const lessons = [...new Set(found.mistakes.map((/** @type {any} */ one) => one.lesson).filter(Boolean))];
    report.replaceChildren(
      h("div", { class: `score ${found.right ? "good" : "bad"}` }, h("span", { class: "big", "data-read": "points" }, `${found.points} of ${found.most}`), h("span", {}, " points")),
      h("p", { class: "diagnosis" }, ...inline(`${found.says[0].toUpperCase()}${found.says.slice(1)}.`.replace(/\.\.$/, "."))),
      ...(found.example ? [example(found.example)] : []),
      table(["part", "points", "why"], found.parts.map((/** @type {any} */ one) => [one.name, `${one.points} of ${one.most}`, one.why || (one.points === one.most ? "right" : "")]), "Points by part"),
      ...found.notes.map((/** @type {string} */ one) => h("p", { class: "quiet" }, `Note: ${one}`)),
      h("div", { class: "buttons" }, ...lessons.map((one) => h("button", { type: "button", class: "button", onclick: () => { state.set({ view: "read", lesson: String(one), live: "" }); state.commit(); } }, "The lesson about this mistake")),
        h("button", { type: "button", class: "button", onclick: () => save(`${mine.name}-report.json`, JSON.stringify(last, null, 2), "application/json") }, "Save the report")));
    report.classList.remove("stale");
    stage.textContent = "";
    changed();
    tools.say(`${found.points} of ${found.most} points. ${found.says}`);
  }

  /** @param {Values} values @param {Task | undefined} now @param {boolean} [anew] */
  function show(values, now, anew = false) {
    if (!now) { title.textContent = "No task is here"; return; }
    if (now === task && !anew) return;
    tools.cancel("grade");
    task = now;
    title.textContent = now.title;
    about.textContent = `${now.points} points: ${now.parts.map((one) => `${one.name} ${one.points}`).join(", ")}. ${now.mistakes} mistakes are known by name. Your code runs in a sandbox, without network and files, and is kept in this browser, not in the link.`;
    lesson.hidden = !now.lesson;
    report.replaceChildren();
    [shown, last] = ["", null];
    const mine = kept.code(now.name);
    editor.value = mine ?? "";
    changed();
    if (mine === null) { kept.keep(now.name, null); reset(); }
  }

  return { element, show };
}

/** The code cells of a notebook, with lines of # %% between them. @param {string} source */
function cells(source) {
  const found = JSON.parse(source), all = found.cells ?? found.worksheets[0].cells;
  const codes = all.filter((/** @type {any} */ one) => one.cell_type === "code").map((/** @type {any} */ one) => one.source ?? one.input ?? "");
  return codes.map((/** @type {any} */ one) => `# %%\n${Array.isArray(one) ? one.join("") : one}`).join("\n");
}

/** The smallest example that goes wrong. @param {any} given */
function example({ call, view, says, found, expected }) {
  const both = [rows(expected), rows(found)], names = ["expected", "found"];
  const words = h("p", { class: "readout", "aria-live": "polite" }), idle = "Point at a number: both are told.";
  const head = h("p", {}, h("b", {}, "Smallest example: "), h("code", {}, call), view === "result" ? "" : `, ${view}`, `: ${says}`);
  if (!both[0] || !both[1]) return h("div", { class: "example" }, head, h("dl", { class: "facts" }, ...[expected, found].flatMap((one, i) => [h("dt", {}, names[i]), h("dd", {}, h("code", {}, both[i] ? JSON.stringify(one) : String(one)))])));
  const [want, got] = /** @type {(number | string)[][][]} */ (both), numbers = [...want, ...got].flat().filter((one) => typeof one === "number" && Math.abs(one) < 1e30).map(Number), low = Math.min(...numbers), high = Math.max(...numbers);
  const grids = names.map(() => new CellGrid({ most: 46, least: 26, words: false }));
  const tell = (/** @type {number} */ row, /** @type {number} */ col) => { words.textContent = row < 0 ? idle : `Row ${row}, column ${col}: expected ${want[row]?.[col] ?? "nothing"}, found ${got[row]?.[col] ?? "nothing"}.`; };
  [want, got].forEach((values, i) => {
    grids[i].onpoint = (row, col) => { grids[1 - i].point(row, col); tell(row, col); };
    grids[i].show({
      rows: values.length, cols: values[0].length, label: names[i], tell: () => "",
      cell: (row, col) => {
        const value = values[row][col], share = typeof value === "number" && high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0, dark = share >= 0.5, part = Math.round(dark ? 70 + (share - 0.5) * 60 : share * 70);
        const other = [want, got][1 - i][row]?.[col], same = typeof other === "number" && typeof value === "number" ? Math.abs(other - value) <= 2e-4 * (1 + Math.abs(value)) : other === value;
        return { text: short(value), fill: `color-mix(in srgb, var(--seen) ${part}%, var(--unseen))`, ink: dark ? "--on-accent" : "--ink", kind: same ? "" : "needs" };
      },
    });
  });
  tell(-1, -1);
  return h("div", { class: "example" }, head, h("div", { class: "two grids" }, ...grids.map((grid, i) => h("div", {}, h("h3", {}, names[i]), grid.element))), words, h("p", { class: "quiet legend" }, h("span", {}, h("i", { class: "outlined" }), "differs")));
}

/** A small matrix, the first of a batch; null for anything else. @param {any} value @returns {(number | string)[][] | null} */
function rows(value) {
  let out = value;
  while (Array.isArray(out?.[0]?.[0])) out = out[0];
  if (typeof out === "number") out = [out];
  if (!Array.isArray(out) || !out.length) return null;
  if (!Array.isArray(out[0])) out = [out];
  return out.length <= 16 && out[0].length > 0 && out.every((/** @type {any} */ row) => Array.isArray(row) && row.length === out[0].length && row.length <= 16 && row.every((one) => typeof one !== "object")) ? out : null;
}

/** @param {number | string} value */
const short = (value) => (typeof value === "number" ? String(Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 5e-4) ? value.toExponential(0).replace("e+", "e") : Number(value.toPrecision(3))).replace("-", "−") : value);
