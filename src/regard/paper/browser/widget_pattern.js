// @ts-check
/** A pattern in a notebook: sliders for its length and its fields, exact numbers where one points. */
import { FIELDS, PatternError, atoms, dense, keysKept, misfit, parse, rowPairs, write } from "./pattern.js";
import { cells, make, range } from "./widget_parts.js";

/** @typedef {import("./widget_parts.js").Model} Model */

const LONGEST = 256;

/** @param {{model: Model, el: HTMLElement}} given */
function render({ model, el }) {
  const fault = make("p", { class: "regard-wrong", role: "alert" }), title = make("code"), bar = make("div", { class: "regard-bar" }), numbers = make("p", { class: "regard-numbers" });
  const grid = cells();
  el.classList.add("regard-widget");
  el.append(title, bar, fault, grid.element, numbers);
  let shape = "";

  /** A text that parses, or null with the reason said. @param {string} text */
  const read = (text) => {
    try {
      const pattern = parse(text), why = misfit(pattern, model.get("n"));
      fault.textContent = why ?? "";
      return { pattern, fits: why === null };
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      fault.textContent = error.message;
      return null;
    }
  };

  function sliders() {
    const found = read(model.get("text"));
    bar.replaceChildren(range("n", 1, LONGEST, model.get("n"), (n) => { model.set("n", n); model.save_changes(); }));
    if (!found) return;
    atoms(found.pattern).forEach((atom, i, all) => {
      const twice = all.filter((one) => one.word === atom.word).length > 1;
      for (const [field, least, most = 2 ** 31 - 1] of FIELDS[atom.word]) {
        const value = atom.fields[field];
        if (typeof value !== "number") continue;
        bar.append(range(`${twice ? `${i + 1}. ` : ""}${all.length > 1 ? `${atom.word} ` : ""}${field}`, least, Math.min(most, Math.max(16, 2 * value)), value, (now) => {
          const fresh = parse(model.get("text"));
          atoms(fresh)[i].fields[field] = now;
          model.set("text", write(fresh));
          model.save_changes();
        }));
      }
    });
  }

  function draw() {
    const n = model.get("n"), found = read(model.get("text")), same = `${found && atoms(found.pattern).map((one) => one.word)}`;
    title.textContent = model.get("text");
    if (same !== shape) { shape = same; sliders(); }
    el.classList.toggle("regard-stale", !found?.fits);
    if (!found?.fits) { numbers.textContent = ""; return; }
    const mask = dense(found.pattern, n), rows = rowPairs(found.pattern, n), pairs = rows.reduce((a, b) => a + b, 0), kept = keysKept(found.pattern);
    grid.show({ rows: n, cols: n, shade: (q, k) => mask[q * n + k], tell: (q, k) => `query ${q} ${mask[q * n + k] ? "sees" : "does not see"} key ${k}; it sees ${rows[q]} of ${n}` });
    numbers.textContent = `${pairs.toLocaleString("en")} of ${(n * n).toLocaleString("en")} pairs; keys kept decoding: ${kept === null ? "all" : `at most ${kept.toLocaleString("en")}`}`;
  }
  model.on("change:text", draw);
  model.on("change:n", draw);
  draw();
  return () => { model.off("change:text", draw); model.off("change:n", draw); grid.close(); };
}

export default { render };
