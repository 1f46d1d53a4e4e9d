// @ts-check
/** The rooms, in the order of the page's head. A room that has no module is not here. */

/** @type {Record<string, {title: string, load: () => Promise<{default: import("../main.js").Room}>}>} */
export const ROOMS = {
  patterns: { title: "Patterns", load: () => import("./patterns.js") },
  // token: One token

  // costs: Costs

  // vision: Vision

  // language: Language

  // sentiment: Sentiment

  recurrence: { title: "Recurrence", load: () => import("./recurrence.js") },

  lessons: { title: "Lessons", load: () => import("./lessons.js") },

  // runs: Runs
};
