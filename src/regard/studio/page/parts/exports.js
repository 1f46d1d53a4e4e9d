// @ts-check
/** What one takes away: files, a line of code, the link. */
import { h } from "./dom.js";

/** Save a file. @param {string} name @param {Blob | string} data @param {string} [type] */
export function save(name, data, type = "text/plain") {
  const address = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Rows as a CSV file. @param {string} name @param {(string | number | bigint)[][]} rows */
export function saveCsv(name, rows) {
  const cell = (/** @type {string | number | bigint} */ one) => (/[",\n]/.test(String(one)) ? `"${String(one).replaceAll('"', '""')}"` : String(one));
  save(name, rows.map((row) => row.map(cell).join(",")).join("\n") + "\n", "text/csv");
}

/** A drawing as a PNG file, always on light paper. @param {string} name @param {number} wide @param {number} high @param {(ctx: CanvasRenderingContext2D) => void} draw */
export function savePng(name, wide, high, draw) {
  const canvas = h("canvas", { width: wide, height: high });
  draw(/** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")));
  canvas.toBlob((blob) => { if (blob) save(name, blob); }, "image/png");
}

/** An SVG element as a text with the colours that it has now. @param {SVGElement} picture */
function svgText(picture) {
  const copy = /** @type {SVGElement} */ (picture.cloneNode(true)), from = [picture, ...picture.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const key of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "opacity"]) to[i].setAttribute(key, style.getPropertyValue(key));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return copy.outerHTML;
}

/** An SVG element as a file. @param {string} name @param {SVGElement} picture */
export const saveSvg = (name, picture) => save(name, svgText(picture), "image/svg+xml");

/** An SVG element as a PNG file, twice as large as it is shown. @param {string} name @param {SVGElement} picture */
export function saveShot(name, picture) {
  const { width, height } = picture.getBoundingClientRect(), image = new Image();
  const copy = /** @type {SVGElement} */ (/** @type {unknown} */ (new DOMParser().parseFromString(svgText(picture), "image/svg+xml").documentElement));
  copy.setAttribute("width", String(2 * width));
  copy.setAttribute("height", String(2 * height));
  image.onload = () => savePng(name, Math.round(2 * width), Math.round(2 * height), (ctx) => {
    ctx.fillStyle = getComputedStyle(/** @type {Element} */ (picture.closest(".card") ?? document.body)).backgroundColor;
    ctx.fillRect(0, 0, 2 * width, 2 * height);
    ctx.drawImage(image, 0, 0);
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(copy.outerHTML)}`;
}

/** A button that copies what `text` gives, and says so. @param {string} words @param {() => string} text */
export function copier(words, text) {
  const button = h("button", { type: "button", class: "button" }, words);
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(text()); }
    catch {
      const field = h("textarea", { class: "unseen" });
      field.value = text();
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  });
  return button;
}

/** Buttons in a row that save files. @param {Record<string, () => void>} kinds e.g. {PNG: () => …, CSV: () => …} */
export const savers = (kinds) => h("div", { class: "buttons" }, ...Object.entries(kinds).map(([words, give]) => h("button", { type: "button", class: "button", onclick: give }, words)));

/** The colours of light paper, by variable, for files. @type {Record<string, string>} */
const LIGHT = { "--seen": "#1f3a6e", "--unseen": "#e9edf2", "--half": "#8ba3cf", "--now": "#f5a623", "--card": "#ffffff", "--other": "#d9480f", "--third": "#2a7d72", "--ink": "#1a1f2b", "--quiet": "#5a6374" };
/** @param {string} name */
export const onPaper = (name) => LIGHT[name] ?? name;
