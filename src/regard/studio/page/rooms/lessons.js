// @ts-check
/** Lessons and homework: lessons that are computed as one reads, exercises that are checked, own code that is graded. */
import { h } from "../parts/dom.js";
import { copier, save } from "../parts/exports.js";
import { segments } from "../parts/fields.js";
import { inline } from "../parts/prose.js";
import { empty, failed, lede } from "../parts/table.js";
import { code } from "./lessons_code.js";
import { progress } from "./lessons_progress.js";
import { text } from "./lessons_text.js";
import { turn } from "./lessons_turn.js";

/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {{name: string, asks: string, letters: string[], domain: string, kind: string}} Exercise */
/** @typedef {{name: string, title: string, question: string, exercises: Exercise[]}} Lesson */
/** @typedef {{name: string, title: string, points: number, lesson: string, mistakes: number, parts: {name: string, points: number}[]}} Task */

const defaults = { lesson: "counting-attention", view: "read", exercise: "", answer: "", checked: false, hints: 0, task: "", live: "" };

/** @param {Values} values */
function clean(values) {
  /** @type {Values} */
  const out = { ...values, lesson: values.lesson.slice(0, 60), exercise: values.exercise.slice(0, 60), task: values.task.slice(0, 60), answer: values.answer.slice(0, 1500), live: values.live.slice(0, 300) };
  out.hints = Math.round(Math.min(9, Math.max(0, values.hints)));
  if (!["read", "turn", "code"].includes(values.view)) out.view = "read";
  return out;
}

/** @param {HTMLElement} at @param {import("../parts/state.js").State} state @param {import("../main.js").Tools} tools */
function mount(at, state, tools) {
  for (const one of ["cells", "recurrence", "lessons"]) tools.style(one);
  /** @type {Lesson[]} */
  let lessons = [];
  /** @type {Task[]} */
  let tasks = [];
  const kept = progress(tools.ended, () => mark());
  const list = h("nav", { class: "card contents", "aria-label": "Lessons and tasks" }), picker = h("select", { "aria-label": "Lesson or task" });
  const title = h("h2"), asks = h("p", { class: "question" }), views = segments(state, "view", { label: "Show", hidden: true, options: [["read", "Lesson"], ["turn", "Exercises"]] });
  const files = h("div", { class: "buttons" }, ...[["md", "Markdown"], ["tex", "LaTeX"], ["sheet", "Questions"]].map(([format, words]) =>
    h("button", { type: "button", class: "button", onclick: () => download(format) }, words)));
  const fault = h("div"), head = h("div", { class: "card head" }, title, asks, h("div", { class: "bar" }, views, files), fault);
  const parts = { read: text(state, tools), turn: turn(state, tools, kept), code: code(state, tools, kept) };
  const main = h("div", { class: "stack" }, head, ...Object.values(parts).map((one) => one.element)), room = h("div", { class: "lessons" }, h("div", { class: "picker field" }, picker), list, main);
  const start = h("div", { class: "card opening" }, h("p", { class: "quiet" }, "Opening the lessons …"));
  at.append(lede("Lessons and homework", "Theory questions answered by running code, exercises that read what you type, and your own code graded. What you solve is kept in this browser.", copier("Copy link", tools.link)), start);

  /** @param {string} format */
  async function download(format) {
    fault.replaceChildren();
    try { await tools.stream("file", { lesson: state.values.lesson, format }, (part) => save(part.name, part.text, format === "md" ? "text/markdown" : "application/x-tex"), { at: head }); }
    catch (error) { fault.replaceChildren(failed(error)); }
  }
  /** @param {Values} values */
  const go = (values) => { state.set({ exercise: "", answer: "", checked: false, hints: 0, live: "", ...values }); state.commit(); };
  picker.addEventListener("change", () => { const [kind, name] = picker.value.split(":"); go(kind === "task" ? { view: "code", task: name } : { view: state.values.view === "code" ? "read" : state.values.view, lesson: name }); });

  /** What is solved, beside each name. */
  function mark() {
    const { values } = state, now = values.view === "code" ? `task:${chosen()?.name}` : `lesson:${values.lesson}`;
    for (const button of list.querySelectorAll("button[data-goes]")) {
      const goes = String(/** @type {HTMLElement} */ (button).dataset.goes), [kind, name] = goes.split(":"), done = /** @type {HTMLElement} */ (button.lastElementChild);
      if (goes === now) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
      if (kind === "task") {
        const best = kept.points(name), most = tasks.find((one) => one.name === name)?.points ?? 0;
        done.textContent = best ? `${best[0]}/${most}` : "";
        done.classList.toggle("all", best !== null && best[0] >= most);
      } else {
        const all = lessons.find((one) => one.name === name)?.exercises ?? [], right = all.filter((one) => kept.solved(name, one.name)).length;
        done.textContent = right ? `${right}/${all.length}` : "";
        done.classList.toggle("all", right > 0 && right === all.length);
      }
    }
    picker.value = now;
    list.querySelector(".forget")?.toggleAttribute("disabled", !kept.any());
    parts.turn.mark();
  }
  const chosen = () => tasks.find((one) => one.name === state.values.task) ?? tasks[0];

  function contents() {
    const item = (/** @type {string} */ goes, /** @type {string} */ words, /** @type {Values} */ values) => h("li", {}, h("button", { type: "button", "data-goes": goes, onclick: () => go(values) }, h("span", {}, words), h("span", { class: "done number" })));
    list.replaceChildren(
      h("h3", {}, "Lessons"), h("ol", {}, ...lessons.map((one) => item(`lesson:${one.name}`, one.title, { view: "read", lesson: one.name }))),
      h("h3", {}, "Your own code"), h("ol", {}, ...tasks.map((one) => item(`task:${one.name}`, one.title, { view: "code", task: one.name }))),
      h("button", { type: "button", class: "button forget", onclick: (/** @type {Event} */ event) => {
        const button = /** @type {HTMLElement} */ (event.currentTarget);
        if (button.dataset.sure) { kept.forget(); delete button.dataset.sure; button.textContent = "Forget my progress"; parts.code.show(state.values, chosen(), true); }
        else { button.dataset.sure = "1"; button.textContent = "Really? Click again"; setTimeout(() => { delete button.dataset.sure; button.textContent = "Forget my progress"; }, 4000); }
      } }, "Forget my progress"));
    picker.replaceChildren(h("optgroup", { label: "Lessons" }, ...lessons.map((one) => h("option", { value: `lesson:${one.name}` }, one.title))), h("optgroup", { label: "Your own code" }, ...tasks.map((one) => h("option", { value: `task:${one.name}` }, one.title))));
  }

  /** @param {Values} values */
  function show(values) {
    const lesson = lessons.find((one) => one.name === values.lesson), coding = values.view === "code";
    head.hidden = coding;
    for (const [name, part] of Object.entries(parts)) part.element.hidden = name !== values.view || (!lesson && !coding);
    if (!lesson && !coding) { title.textContent = "No such lesson"; asks.replaceChildren(`No lesson is called “${values.lesson}”: choose one from the list.`); views.hidden = true; files.hidden = true; mark(); return; }
    views.hidden = files.hidden = false;
    if (lesson) {
      title.textContent = lesson.title;
      asks.replaceChildren(...inline(lesson.question));
    }
    if (coding) parts.code.show(values, chosen());
    else if (lesson && values.view === "turn") parts.turn.show(values, lesson);
    else if (lesson) parts.read.show(values, lesson);
    mark();
  }

  async function open() {
    start.replaceChildren(h("p", { class: "quiet" }, "Opening the lessons …"));
    try {
      const [found, more] = await Promise.all([tools.ask("titles", {}, { at: start }), tools.ask("tasks", {})]);
      if (!found || !more) {
        if (!tools.ended.aborted) start.replaceChildren(empty("Not opened", "Opening was cancelled. "), h("button", { type: "button", class: "button", onclick: open }, "Open the lessons"));
        return;
      }
      [lessons, tasks] = [found.lessons, more.tasks];
    } catch (error) {
      start.replaceChildren(failed(error), h("button", { type: "button", class: "button", onclick: open }, "Try again"));
      return;
    }
    contents();
    start.replaceWith(room);
    state.watch((values) => show(values));
  }
  open();
  return () => parts.read.rest();
}

/** @type {import("../main.js").Room} */
export default { title: "Lessons", defaults, clean, mount };
