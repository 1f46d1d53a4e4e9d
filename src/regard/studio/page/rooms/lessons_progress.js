// @ts-check
/** What one has solved and written, kept in this browser and nowhere else. */

const KEY = "regard-lessons";
/** @typedef {{solved: Record<string, string>, drafts: Record<string, string>, code: Record<string, string>, points: Record<string, [number, number]>}} Kept */

/** @returns {Kept} */
const nothing = () => ({ solved: {}, drafts: {}, code: {}, points: {} });

/** Progress that tells `onchange` when it changes, in another window too; `ended` ends that. @param {AbortSignal} ended @param {() => void} onchange */
export function progress(ended, onchange) {
  /** @type {Kept} */
  let kept = nothing();
  const read = () => {
    try {
      const found = JSON.parse(localStorage.getItem(KEY) ?? "{}");
      const table = (/** @type {any} */ one) => (one && typeof one === "object" && !Array.isArray(one) ? one : {});
      kept = { solved: table(found?.solved), drafts: table(found?.drafts), code: table(found?.code), points: table(found?.points) };
    } catch { kept = nothing(); } // a browser that keeps nothing, or what another program left
  };
  const write = (/** @type {boolean} */ told) => {
    try { localStorage.setItem(KEY, JSON.stringify(kept)); } catch { /* it is kept until the page is closed */ }
    if (told) onchange();
  };
  read();
  addEventListener("storage", (event) => { if (event.key === KEY || event.key === null) { read(); onchange(); } }, { signal: ended });
  return {
    /** The right answer that was given, or nothing. @param {string} lesson @param {string} exercise */
    solved: (lesson, exercise) => String(kept.solved[`${lesson}/${exercise}`] ?? ""),
    /** @param {string} lesson @param {string} exercise @param {string} answer */
    solve(lesson, exercise, answer) { kept.solved[`${lesson}/${exercise}`] = answer; write(true); },
    /** What was written last. @param {string} lesson @param {string} exercise */
    draft: (lesson, exercise) => String(kept.drafts[`${lesson}/${exercise}`] ?? kept.solved[`${lesson}/${exercise}`] ?? ""),
    /** @param {string} lesson @param {string} exercise @param {string} answer */
    write(lesson, exercise, answer) { kept.drafts[`${lesson}/${exercise}`] = answer; write(false); },
    /** @param {string} task */
    code: (task) => (typeof kept.code[task] === "string" ? kept.code[task] : null),
    /** @param {string} task @param {string | null} text */
    keep(task, text) { if (text === null) delete kept.code[task]; else kept.code[task] = text; write(false); },
    /** The best points of a task. @param {string} task @returns {[number, number] | null} */
    points: (task) => (Array.isArray(kept.points[task]) ? kept.points[task] : null),
    /** @param {string} task @param {number} points @param {number} most */
    score(task, points, most) { if (points >= (kept.points[task]?.[0] ?? 0)) { kept.points[task] = [points, most]; write(true); } },
    forget() { kept = nothing(); write(true); },
    any: () => Object.values(kept).some((one) => Object.keys(one).length > 0),
  };
}
/** @typedef {ReturnType<typeof progress>} Progress */
