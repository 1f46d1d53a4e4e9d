// @ts-check
/** Questions to the server: the newest counts, work is seen after 300 ms and can be cancelled, faults have a field. */
import { h } from "./dom.js";

const SOON = 300; // milliseconds until work is shown

export class AskError extends Error {
  /** @param {string} message @param {string | null} field @param {number} status */
  constructor(message, field, status) { super(message); this.field = field; this.status = status; }
}

/**
 * @typedef {object} AskOptions
 * @property {HTMLElement} [at] a positioned element (such as a card) in whose corner work is shown
 * @property {string} [key] questions of one key replace each other; the action's name unless given
 * @property {AbortSignal} [signal] ends the question from outside
 */

/**
 * The ways to ask for one room; all questions end with `ended`.
 * @param {string} room @param {AbortSignal} ended
 */
export function asker(room, ended) {
  /** @type {Map<string, AbortController>} */
  const open = new Map();

  /**
   * @template T
   * @param {string} action @param {object} body @param {AskOptions} options @param {(answer: Response) => Promise<T>} use
   * @returns {Promise<T | null>} null where a newer question, or a click on Cancel, made it pointless
   */
  async function send(action, body, { at, key = action, signal }, use) {
    open.get(key)?.abort();
    const stop = new AbortController();
    open.set(key, stop);
    ended.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
    signal?.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
    const seen = at ? busy(at, () => stop.abort()) : null;
    try {
      if (ended.aborted || signal?.aborted) return null;
      const answer = await fetch(`/api/${room}/${action}`, {
        method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, signal: stop.signal,
      });
      if (!answer.ok) {
        const { error } = await answer.json().catch(() => ({ error: { message: `the studio answered ${answer.status}`, field: null } }));
        throw new AskError(error.message, error.field, answer.status);
      }
      const said = await use(answer);
      return open.get(key) === stop ? said : null;
    } catch (error) {
      if (stop.signal.aborted) return null;
      if (error instanceof AskError) throw error;
      throw new AskError("the studio does not answer: is it still running?", null, 0);
    } finally {
      if (open.get(key) === stop) open.delete(key);
      seen?.();
    }
  }

  return {
    /** The answer to a question; null where nobody wants it any more; throws an `AskError`. @param {string} action @param {object} body @param {AskOptions} [options] @returns {Promise<any>} */
    ask: (action, body, options = {}) => send(action, body, options, (answer) => answer.json()),

    /** Each part of a streamed answer as it comes; true at its end, null where it was cancelled. @param {string} action @param {object} body @param {(part: any) => void} part @param {AskOptions} [options] */
    stream: (action, body, part, options = {}) => send(action, body, options, async (answer) => {
      for await (const line of lines(answer)) {
        const said = JSON.parse(line);
        if (said.error) throw new AskError(said.error.message, said.error.field, 200);
        part(said);
      }
      return true;
    }),

    /** End a question, or all of them. @param {string} [key] */
    cancel: (key) => (key ? open.get(key)?.abort() : open.forEach((one) => one.abort())),
  };
}

/** @param {Response} answer */
async function* lines(answer) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = parts.pop() ?? "";
    yield* parts.filter(Boolean);
    if (done) { if (rest) yield rest; return; }
  }
}

/** Show in a corner that something is worked on, from soon on; gives what takes it away. @param {HTMLElement} at @param {() => void} cancel */
function busy(at, cancel) {
  /** @type {HTMLElement | null} */
  let shown = null;
  const timer = setTimeout(() => {
    shown = h("div", { class: "busy", role: "status" }, "working", h("button", { type: "button", onclick: cancel }, "Cancel"));
    at.append(shown);
    at.setAttribute("aria-busy", "true");
  }, SOON);
  return () => { clearTimeout(timer); shown?.remove(); at.removeAttribute("aria-busy"); };
}
