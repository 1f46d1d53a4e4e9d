// @ts-check
/** The exercises of a lesson: one is open, its answer is read as one types, and its verdict is its own. */
import { h } from "../parts/dom.js";
import { text } from "../parts/fields.js";
import { inline, math } from "../parts/prose.js";
import { failed } from "../parts/table.js";

/** @typedef {import("../parts/state.js").State} State */
/** @typedef {import("../parts/state.js").Values} Values */
/** @typedef {import("./lessons.js").Lesson} Lesson */
/** @typedef {import("./lessons.js").Exercise} Exercise */

const PAUSE = 250;
/** How an answer of each kind is written, in letters of no question. @type {Record<string, string>} */
const LIKE = { formula: "such as z^3/4 + 1 or \\frac{z^3}{4} + 1", growth: "such as O(z^3 log u)", shape: "such as (2, 7, 11)", matrix: "such as [[0, 1], [2, 0]]", matrices: "such as f(A B z)" };

/** @param {State} state @param {import("../main.js").Tools} tools @param {import("./lessons_progress.js").Progress} kept */
export function turn(state, tools, kept) {
  const field = text(state, "answer", { label: "your answer", code: true, most: 1500 }), input = /** @type {HTMLInputElement} */ (field.querySelector("input"));
  const seen = h("div", { class: "reading", "aria-live": "polite", "data-read": "reading" }), said = h("div", { class: "verdict", role: "status", "data-read": "verdict" }), tips = h("ol", { class: "hints", "data-read": "hints" });
  const check = h("button", { type: "submit", class: "button main" }, "Check"), hint = h("button", { type: "button", class: "button" }, "Hint"), next = h("button", { type: "button", class: "button" }, "Next exercise"), recall = h("button", { type: "button", class: "button" }, "What I wrote last time");
  const asks = h("p", { class: "quiet domain" }), body = h("form", { class: "answering" }, asks, field, seen, h("div", { class: "buttons" }, check, hint, next, recall), said, tips);
  const list = h("ol", { class: "exercises" }), element = h("section", { class: "card", "aria-label": "Exercises" }, list);
  /** @type {Lesson | null} */
  let lesson = null;
  /** @type {Exercise | null} */
  let open = null;
  let read = "", judged = "", hinted = "", timer = 0;

  const key = (/** @type {Values} */ values) => JSON.stringify([lesson?.name, open?.name, values.answer.trim()]);
  input.addEventListener("input", () => state.set({ checked: false })); // what one types has no verdict yet
  body.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!state.values.answer.trim()) { field.wrong("write an answer first"); input.focus(); return; }
    state.set({ checked: true });
    state.commit();
  });
  hint.addEventListener("click", () => { state.set({ hints: state.values.hints + 1 }); state.commit(); });
  next.addEventListener("click", () => {
    const all = lesson?.exercises ?? [], at = all.findIndex((one) => one === open), rest = [...all.slice(at + 1), ...all.slice(0, at)];
    const to = rest.find((one) => !kept.solved(lesson?.name ?? "", one.name)) ?? rest[0];
    if (to) { choose(to); input.focus(); }
  });

  recall.addEventListener("click", () => { if (open) choose(open); });

  /** @param {Exercise} exercise */
  function choose(exercise) {
    const name = lesson?.name ?? "", answer = kept.draft(name, exercise.name);
    state.set({ exercise: exercise.name, answer, checked: answer !== "" && answer === kept.solved(name, exercise.name), hints: 0 });
    state.commit();
  }

  function build() {
    list.replaceChildren(...(lesson?.exercises ?? []).map((one, i) => {
      const head = h("button", { type: "button", "aria-expanded": "false", onclick: () => choose(one) }, h("span", { class: "mark", "aria-hidden": "true" }, String(i + 1)), h("span", {}, ...inline(one.asks)), h("span", { class: "unseen state" }));
      return h("li", { "data-exercise": one.name }, head);
    }));
  }

  function mark() {
    if (!lesson) return;
    lesson.exercises.forEach((one, i) => {
      const item = list.children[i], right = kept.solved(lesson?.name ?? "", one.name) !== "";
      item.classList.toggle("solved", right);
      /** @type {HTMLElement} */ (item.querySelector(".mark")).textContent = right ? "✓" : String(i + 1);
      /** @type {HTMLElement} */ (item.querySelector(".state")).textContent = right ? ", solved" : "";
    });
  }

  /** @param {Values} values @param {Lesson} now */
  function show(values, now) {
    if (now !== lesson) { lesson = now; open = null; build(); }
    const exercise = now.exercises.find((one) => one.name === values.exercise) ?? now.exercises[0];
    if (exercise !== open) {
      open = exercise;
      const item = list.querySelector(`[data-exercise="${exercise.name}"]`);
      list.querySelectorAll("button[aria-expanded]").forEach((one) => one.setAttribute("aria-expanded", String(one.parentElement === item)));
      item?.append(body);
      input.placeholder = LIKE[exercise.kind] ?? "";
      asks.replaceChildren("Asked for: ", ...inline(exercise.domain), exercise.letters.length && exercise.letters.length < 9 ? `. Letters: ${exercise.letters.map((one) => ({ beta: "β", omega: "ω" })[one] ?? one).join(", ")}` : "", ".");
      [read, judged, hinted] = ["", "", ""];
      clearTimeout(timer);
      for (const one of ["read", "check", "hint"]) tools.cancel(one);
      seen.replaceChildren();
      said.replaceChildren();
      tips.replaceChildren();
      hint.disabled = false;
      hint.textContent = "Hint";
      field.wrong(null);
    } else if (values.answer.trim()) kept.write(now.name, exercise.name, values.answer);
    reading(values);
    verdict(values);
    hints(values);
    next.hidden = now.exercises.length < 2;
    recall.hidden = values.answer !== "" || kept.draft(now.name, exercise.name) === "";
  }

  /** What the answer is read as, once nobody has typed for a moment. @param {Values} values */
  function reading(values) {
    const question = key(values);
    if (question === read) return;
    read = question;
    clearTimeout(timer);
    tools.cancel("read");
    if (!values.answer.trim()) { seen.replaceChildren(); field.wrong(null); return; }
    seen.classList.add("stale");
    timer = window.setTimeout(async () => {
      try {
        const found = await tools.ask("read", { lesson: lesson?.name, exercise: open?.name, answer: values.answer }, { at: body });
        if (!found || question !== read) return;
        if (found.wrong) { seen.replaceChildren(); seen.classList.remove("stale"); field.wrong(found.wrong); return; }
        field.wrong(null);
        seen.replaceChildren(h("span", { class: "quiet" }, "read as"), math(found.mathml), ...found.read.map((/** @type {string[]} */ [one, other]) => h("span", { class: "quiet" }, ...inline(`${one} stands for ${other}`))));
        seen.classList.remove("stale");
      } catch (error) {
        if (question !== read) return;
        seen.replaceChildren();
        seen.classList.remove("stale");
        field.wrong(error instanceof Error ? error.message : String(error));
      }
    }, PAUSE);
  }

  /** The verdict on this answer to this exercise, or none. @param {Values} values */
  async function verdict(values) {
    const question = values.checked && values.answer.trim() ? key(values) : "";
    if (question === judged) return;
    judged = question;
    said.replaceChildren();
    said.className = "verdict";
    if (!question) { tools.cancel("check"); return; }
    const mine = lesson?.name ?? "", exercise = open?.name ?? "";
    try {
      const found = await tools.ask("check", { lesson: mine, exercise, answer: values.answer }, { at: body });
      if (question !== judged) return;
      if (!found) { judged = ""; state.set({ checked: false }); return; }
      said.className = `verdict ${found.right ? "good" : "bad"}`;
      said.replaceChildren(h("b", {}, ...inline(found.says)), ...found.details.filter((/** @type {string} */ one) => !one.includes(" is read as ")).map((/** @type {string} */ one) => h("p", {}, ...inline(one))));
      if (found.right && kept.solved(mine, exercise) !== values.answer) kept.solve(mine, exercise, values.answer);
    } catch (error) {
      if (question !== judged) return;
      state.set({ checked: false });
      if (error instanceof Error && /** @type {any} */ (error).field !== "answer") said.replaceChildren(failed(error));
      else field.wrong(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {Values} values */
  async function hints(values) {
    const question = JSON.stringify([lesson?.name, open?.name, values.hints]);
    if (question === hinted) return;
    hinted = question;
    if (!values.hints) { tips.replaceChildren(); hint.disabled = false; hint.textContent = "Hint"; return; }
    try {
      const found = await tools.ask("hint", { lesson: lesson?.name, exercise: open?.name, count: values.hints }, { at: body });
      if (!found || question !== hinted) { if (question === hinted) hinted = ""; return; }
      tips.replaceChildren(...found.hints.map((/** @type {string} */ one) => h("li", {}, ...inline(one))));
      hint.disabled = values.hints >= found.more;
      hint.textContent = hint.disabled ? "No more hints" : "Another hint";
    } catch (error) { if (question === hinted) tips.replaceChildren(h("li", {}, failed(error))); }
  }

  return { element, show, mark };
}
