// @ts-check
/** The one tooltip: exact numbers where one points. */

const box = () => /** @type {HTMLElement} */ (document.getElementById("tip"));

/** Show text beside a place of the window; new lines are kept. @param {string} text @param {number} x @param {number} y */
export function tip(text, x, y) {
  const node = box();
  node.textContent = text;
  node.hidden = false;
  const { width, height } = node.getBoundingClientRect();
  const left = x + 14 + width > innerWidth - 4 ? x - 14 - width : x + 14;
  node.style.left = `${Math.max(4, left)}px`;
  node.style.top = `${Math.max(4, Math.min(innerHeight - height - 4, y - height - 10 < 4 ? y + 18 : y - height - 10))}px`;
}

/** Take it away. */
export const untip = () => { box().hidden = true; };

/** Give an element a tooltip, by pointer and by keyboard focus. @param {Element} node @param {() => string} text */
export function tipped(node, text) {
  node.addEventListener("pointermove", (event) => tip(text(), /** @type {PointerEvent} */ (event).clientX, /** @type {PointerEvent} */ (event).clientY));
  node.addEventListener("focus", () => { const { left, top, width } = node.getBoundingClientRect(); tip(text(), left + width / 2, top); });
  for (const end of ["pointerleave", "blur"]) node.addEventListener(end, untip);
}
