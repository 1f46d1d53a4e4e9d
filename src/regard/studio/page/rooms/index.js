// @ts-check
/** The rooms, in the order of the page's head. A room that has no module is not here. */

/** @type {Record<string, {title: string, load: () => Promise<{default: import("../main.js").Room}>}>} */
export const ROOMS = {
  patterns: { title: "Patterns", load: () => import("./patterns.js") },
  token: { title: "One token", load: () => import("./one_token.js") },

  costs: { title: "Costs", load: () => import("./costs.js") },

  vision: { title: "Vision", load: () => import("./vision.js") },

  language: { title: "Language", load: () => import("./language.js") },

  sentiment: { title: "Sentiment", load: () => import("./sentiment.js") },

  recurrence: { title: "Recurrence", load: () => import("./recurrence.js") },

  lessons: { title: "Lessons", load: () => import("./lessons.js") },

  runs: { title: "Runs", load: () => import("./runs.js") },
};
