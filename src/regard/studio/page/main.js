// @ts-check
/** The page: which room is open and in which state is what the address says, so that back is undo and a link is a copy. */
import { asker } from "./parts/ask.js";
import { h, recolour, s } from "./parts/dom.js";
import { State } from "./parts/state.js";
import { untip } from "./parts/tip.js";
import { ROOMS } from "./rooms/index.js";

/** @typedef {import("./parts/state.js").Values} Values */
/**
 * @typedef {object} Tools
 * @property {ReturnType<typeof asker>["ask"]} ask
 * @property {ReturnType<typeof asker>["stream"]} stream
 * @property {ReturnType<typeof asker>["cancel"]} cancel
 * @property {(room: string, action: string, body: object, options?: import("./parts/ask.js").AskOptions) => Promise<any>} askOf ask for another room's action
 * @property {(name: string) => void} style load the room's own style sheet, `rooms/<name>.css`
 * @property {(room: string, values?: Values) => void} go open another room in some state
 * @property {(room: string) => boolean} has whether there is such a room
 * @property {() => string} link the address of what is seen now
 * @property {(text: string) => void} say tell those who listen to the page
 * @property {(draw: () => void) => void} onTheme call when light becomes dark or the reverse
 * @property {AbortSignal} ended aborts when the room is left
 */
/** @typedef {{title: string, defaults: Values, clean?: (values: Values) => Values, mount: (at: HTMLElement, state: State, tools: Tools) => void | (() => void)}} Room */

const main = /** @type {HTMLElement} */ (document.getElementById("room"));
const nav = /** @type {HTMLElement} */ (document.getElementById("rooms"));
const said = /** @type {HTMLElement} */ (document.getElementById("said"));
const names = Object.keys(ROOMS);

/** @type {{name: string, state: State, close: () => void} | null} */
let open = null;
/** @type {Set<() => void>} */
const themed = new Set();
let turn = 0;

/** What the address says. @returns {[string, string]} */
function address() {
  const [name, ...rest] = location.hash.slice(1).split("?");
  return [Object.hasOwn(ROOMS, name) ? name : names[0], rest.join("?")];
}

/** @param {string} name @param {string} text */
const hash = (name, text) => `#${name}${text ? `?${text}` : ""}`;

async function show() {
  const [name, text] = address(), mine = ++turn;
  if (open?.name === name) { open.state.load(text); return; }
  /** @type {Room} */
  const room = (await ROOMS[name].load()).default;
  if (mine !== turn) return;
  open?.close();
  untip();
  const stop = new AbortController(), { ask, stream, cancel } = asker(name, stop.signal);
  const state = new State(room.defaults, room.clean);
  state.load(text);
  /** @type {Tools} */
  const tools = {
    ask, stream, cancel, ended: stop.signal,
    askOf: (other, action, body, options) => asker(other, stop.signal).ask(action, body, options),
    style: (sheet) => style(sheet, stop.signal),
    go: (other, values = {}) => {
      const words = new State({ ...Object.fromEntries(Object.keys(values).map((key) => [key, null])) });
      words.values = values;
      state.commit();
      location.hash = hash(other, words.text());
    },
    has: (other) => Object.hasOwn(ROOMS, other),
    link: () => location.origin + location.pathname + hash(name, state.text()),
    say: (words) => { said.textContent = words; },
    onTheme: (draw) => { themed.add(draw); stop.signal.addEventListener("abort", () => themed.delete(draw)); },
  };
  const at = h("div", { class: "stack", "data-room": name });
  main.replaceChildren(at);
  const close = room.mount(at, state, tools);
  state.onstep = (now) => { if (hash(name, now) !== location.hash && open?.state === state) history.pushState(null, "", hash(name, now)); };
  open = { name, state, close: () => { state.onstep = () => {}; state.commit(); stop.abort(); close?.(); } }; // the address is another room's by now
  document.title = `${ROOMS[name].title} · Regard`;
  for (const link of nav.querySelectorAll("a"))
    if (link.dataset.name === name) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  main.dataset.ready = name;
}

/** A room's own style is there while the room is: two rooms may call a class alike. @param {string} name @param {AbortSignal} ended */
function style(name, ended) {
  const href = `/studio/page/rooms/${name}.css`;
  /** @type {HTMLLinkElement} */
  const link = document.querySelector(`link[href="${href}"]`) ?? h("link", { rel: "stylesheet", href });
  if (!link.isConnected) document.head.append(link);
  link.media = "all";
  ended.addEventListener("abort", () => { link.media = "not all"; });
}

function theme() {
  const button = /** @type {HTMLElement} */ (document.getElementById("theme")), system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (localStorage.getItem("theme") ?? (system.matches ? "dark" : "light")) === "dark";
  const set = () => {
    document.documentElement.dataset.theme = dark() ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark()));
    recolour();
    themed.forEach((draw) => draw());
  };
  const path = "M10 3v1.5M10 15.5V17M3 10h1.5M15.5 10H17M5 5l1.1 1.1M13.9 13.9 15 15M5 15l1.1-1.1M13.9 6.1 15 5M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z";
  button.append(s("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, s("path", { d: path })));
  button.addEventListener("click", () => {
    const other = dark() ? "light" : "dark";
    if ((other === "dark") === system.matches) localStorage.removeItem("theme"); else localStorage.setItem("theme", other);
    set();
  });
  system.addEventListener("change", set);
  set();
}

theme();
nav.append(...names.map((name) => h("a", { href: `#${name}`, "data-name": name }, ROOMS[name].title)));
nav.addEventListener("click", (event) => {
  const name = /** @type {HTMLElement} */ (event.target).dataset?.name;
  if (name && name === open?.name) event.preventDefault(); // where one is, one stays
  else open?.state.commit();
});
addEventListener("hashchange", show);
addEventListener("popstate", show);
show();
