// @ts-check
/** What a forward pass saw, in a notebook: a tensor by name, one of its maps, and its values where one points. */
import { cells, make, range } from "./widget_parts.js";

/** @typedef {import("./widget_parts.js").Model} Model */

/** @param {{model: Model, el: HTMLElement}} given */
function render({ model, el }) {
  const name = make("select", { "aria-label": "recorded" }), bar = make("div", { class: "regard-bar" }), note = make("p", { class: "regard-numbers" }), grid = cells();
  /** @type {[string, number[]][]} */
  const names = model.get("names");
  name.append(...names.map(([one, shape]) => { const option = make("option", { value: one }); option.textContent = `${one}  (${shape.join(" × ")})`; return option; }));
  name.value = model.get("name");
  name.addEventListener("change", () => { model.set("name", name.value); model.set("at", 0); model.save_changes(); });
  el.classList.add("regard-widget");
  el.append(name, bar, grid.element, note);
  let count = -1;

  /** The leading axes at a place: "0, 3". @param {number[]} shape @param {number} at */
  const place = (shape, at) => shape.slice(0, -2).reduceRight((/** @type {number[]} */ out, size) => { out.unshift(at % size); at = Math.floor(at / size); return out; }, []).join(", ");

  function draw() {
    const shape = names.find(([one]) => one === model.get("name"))?.[1] ?? [], maps = model.get("maps"), at = model.get("at");
    if (name.value !== model.get("name")) name.value = model.get("name");
    if (maps !== count) {
      count = maps;
      bar.replaceChildren(...(maps > 1 ? [range("map", 0, maps - 1, at, (now) => { model.set("at", now); model.save_changes(); })] : []));
    }
    const raw = model.get("values"), [rows, cols] = model.get("sides"), values = new Float32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength));
    if (values.length !== rows * cols) return; // the values of the next map are on their way
    const finite = values.filter((one) => Number.isFinite(one)), low = finite.reduce((a, b) => Math.min(a, b), Infinity), high = finite.reduce((a, b) => Math.max(a, b), -Infinity), from = Math.min(0, low);
    const told = (/** @type {number} */ one) => String(Number(one.toPrecision(6)));
    grid.show({ rows, cols, shade: (i, j) => { const one = values[i * cols + j]; return Number.isFinite(one) && high > from ? (one - from) / (high - from) : 0; }, tell: (i, j) => `[${[place(shape, at), i, j].filter((one) => one !== "").join(", ")}] = ${told(values[i * cols + j])}` });
    const cut = rows < (shape.at(-2) ?? 1) || cols < (shape.at(-1) ?? 1);
    note.textContent = `from ${told(low)} to ${told(high)}${maps > 1 ? `; map ${place(shape, at)}` : ""}${cut ? `; its first ${rows} × ${cols}` : ""}`;
  }
  for (const one of ["name", "at", "values"]) model.on(`change:${one}`, draw);
  draw();
  return () => { for (const one of ["name", "at", "values"]) model.off(`change:${one}`, draw); grid.close(); };
}

export default { render };
