// @ts-check
/** The rooms, in the order of the page's head. A room that has no module is not here. */

/** @type {Record<string, {title: string, load: () => Promise<{default: import("../main.js").Room}>}>} */
export const ROOMS = {
  patterns: { title: "Patterns", load: () => import("./patterns.js") },
  // token: One token

  // costs: Costs

  vision: { title: "Vision", load: () => import("./vision.js") },

  // language: Language

  sentiment: { title: "Sentiment", load: () => import("./sentiment.js") },

  // recurrence: Recurrence

  // lessons: Lessons

  // runs: Runs
};
