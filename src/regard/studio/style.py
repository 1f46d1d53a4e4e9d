"""How the studio looks: one calm style for all rooms, light and dark, and the little script they share."""

from __future__ import annotations

from typing import Any

from regard.errors import need
from regard.probe.page import MINUS, PLUS, SCALE

FONT = ("system-ui", "-apple-system", "Segoe UI", "Helvetica", "Arial", "sans-serif")
MONO = ("ui-monospace", "SF Mono", "Menlo", "Consolas", "monospace")

CSS = f"""
:root {{ --ink: #1a1f2b; --quiet: #556070; --paper: #ffffff; --card: #ffffff; --line: #dfe3ea;
  --accent: #1f3a6e; --good: #1b6e3c; --bad: #a92a1e; --seen: #1f3a6e; --unseen: #e9edf2;
  --for: {PLUS}; --against: {MINUS}; --strong: .75; --now: #f5a623 }}
.dark {{ --ink: #e8eaf0; --quiet: #a8b0c0; --paper: #151922; --card: #1c212b; --line: #353d4c;
  --accent: #9db7ee; --good: #7fd6a0; --bad: #ff9d8f; --seen: #8fb0f5; --unseen: #2a3140;
  --for: 200 92 0; --against: 40 98 214; --strong: .9 }}
.masthead h1 {{ font-size: 1.5rem; margin: .6rem 0 0; line-height: 1.2 }}
.masthead p {{ margin: .1rem 0 0 }}
.prose, .html-container {{ color: var(--ink) }}
.quiet, figcaption, summary {{ color: var(--quiet) }}
p.quiet {{ margin: .3rem 0 .5rem; max-width: 52rem; font-size: .95rem; line-height: 1.5 }}
h3.pattern {{ font: 600 1rem/1.4 {", ".join(MONO)}; margin: .6rem 0 .3rem; overflow-wrap: anywhere }}
.bar-row {{ align-items: end !important }}
.picture {{ background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: .6rem;
  margin: .3rem 0 }}
.picture svg {{ display: block; width: 100%; height: auto; margin: 0 auto }}
.picture svg text, .curves text, .cells text {{ font-family: inherit }}
table.numbers, table.grid {{ border-collapse: collapse; margin: .6rem 0; width: 100%; font-size: .95rem }}
table.numbers, table.grid, .numbers tbody, .grid tbody, .grid thead, .numbers tr, .grid tr {{
  border: 0 !important; background: none !important }}
.numbers th, .numbers td, .grid th, .grid td {{ border: 0 !important; text-align: left; vertical-align: top;
  padding: .34rem .8rem .34rem 0 !important; border-bottom: 1px solid var(--line) !important;
  color: var(--ink) }}
.numbers th {{ font-weight: 400; color: var(--quiet); width: 13rem; min-width: 7rem }}
.numbers td {{ font-variant-numeric: tabular-nums; overflow-wrap: anywhere }}
.grid td, .grid thead th:not(:first-child) {{ text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap }}
.grid tbody th {{ font-weight: 400; min-width: 6.5rem; padding-left: var(--deep, 0) !important }}
.grid thead th {{ color: var(--quiet); font-weight: 600; font-size: .85rem }}
.scroll {{ overflow-x: auto }}
.fault {{ border-style: solid !important; border-width: 1px 1px 1px 4px !important; border-radius: 8px;
  border-color: var(--bad) !important; padding: .6rem .8rem;
  margin: .5rem 0; color: var(--ink); white-space: pre-wrap; overflow-x: auto;
  font: .88rem/1.5 {", ".join(MONO)} }}
.copy {{ display: flex; gap: .6rem; align-items: center; margin: .6rem 0; min-width: 0 }}
.copy code {{ flex: 1; width: 0; min-width: 0; overflow-x: auto; white-space: nowrap; font-size: .82rem;
  padding: .45rem .6rem; background: var(--unseen); border-radius: 6px; color: var(--ink) }}
.copy button, a.keep {{ border: 1px solid var(--line); border-radius: 6px; padding: .35rem .8rem;
  background: var(--card); color: var(--accent); font-size: .9rem; text-decoration: none; cursor: pointer }}
a.keep {{ display: inline-block; margin: .1rem 0 .4rem }}
.copy button:hover, a.keep:hover {{ border-color: var(--accent) }}
:focus-visible {{ outline: 2px solid var(--now); outline-offset: 2px }}
.bars {{ max-width: 30rem; margin: .4rem 0 .8rem; font-size: .92rem }}
.bars div {{ display: grid; grid-template-columns: 7.5rem 1fr 4rem; gap: .6rem; align-items: center }}
.bars span:last-child {{ text-align: right; font-variant-numeric: tabular-nums }}
.bars span:first-child {{ overflow-wrap: anywhere }}
.bar {{ height: .6rem; background: var(--unseen); border-radius: 3px; overflow: hidden }}
.bar i {{ display: block; height: 100%; background: var(--accent) }}
.tiles {{ display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(min(8rem, 100%), 1fr));
  margin: .6rem 0 }}
.tiles figure {{ margin: 0; min-width: 0 }}
.tiles img, .map img {{ width: 100%; height: auto; display: block; border-radius: 6px;
  image-rendering: pixelated; margin: 0 }}
.map {{ max-width: 24rem; margin: .4rem 0 }}
figcaption {{ font-size: .86rem; line-height: 1.4; padding-top: .3rem }}
.scale {{ display: flex; gap: .6rem; align-items: center; font-size: .86rem; color: var(--quiet);
  flex-wrap: wrap; margin: .2rem 0 }}
.scale i {{ display: inline-block; width: 7rem; height: .7rem; border-radius: 3px;
  background: linear-gradient(90deg, {SCALE}) }}
.scale i.two {{ background: linear-gradient(90deg, rgb(var(--against)), #7c7e82, rgb(var(--for))) }}
.cards {{ display: grid; gap: 1rem; margin: .8rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)) }}
.card {{ background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem;
  min-width: 0 }}
.card h3 {{ font-size: 1rem; margin: 0 0 .2rem }}
.good {{ color: var(--good) !important }}
.bad {{ color: var(--bad) !important }}
.answer {{ font-size: 1.2rem; margin: .3rem 0 }}
.words {{ line-height: 1.9; white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 0 }}
mark {{ color: var(--ink) !important; border-radius: 3px; padding: .1em .12em; margin: 0 -.06em }}
mark.for {{ background: rgb(var(--for) / calc(var(--a) * var(--strong))) }}
mark.against {{ background: rgb(var(--against) / calc(var(--a) * var(--strong) * .8)) }}
.plot {{ max-width: 40rem }}
.plot svg, .curves svg, .cells svg {{ width: 100%; height: auto; display: block }}
.curves {{ max-width: 44rem }}
.legend {{ display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .9rem; margin: .3rem 0 }}
.legend svg {{ width: 34px; height: 12px; display: inline-block; vertical-align: middle }}
.curves ol, .html-container ol {{ margin: .3rem 0 .6rem; padding-left: 1.6rem; font-size: .92rem }}
.html-container h3 {{ font-size: 1.05rem; margin: .5rem 0 .3rem }}
details {{ margin: .4rem 0 }}
summary {{ cursor: pointer; font-size: .95rem }}
.tokens {{ font: 1rem/1.9 {", ".join(MONO)}; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0;
  border: 1px solid var(--line); border-radius: 10px; padding: .7rem .9rem; background: var(--card) }}
.tokens span[data-i] {{ border-radius: 3px; cursor: default }}
.tokens span.asked {{ outline: 2px solid var(--now) }}
.tokens .given {{ color: var(--quiet) }}
.said {{ font: 1rem/1.6 {", ".join(MONO)}; white-space: pre-wrap; overflow-wrap: anywhere; min-height: 6rem;
  border: 1px solid var(--line); border-radius: 10px; padding: .7rem .9rem; background: var(--card) }}
.said b {{ color: var(--quiet); font-weight: 400 }}
.cells {{ max-width: 44rem; margin: .5rem 0 }}
.cells svg text {{ text-anchor: middle; font-size: 13px; fill: var(--ink) }}
.walk rect.wait {{ fill: var(--unseen) }}
.walk rect.done {{ fill: var(--seen) }}
.walk rect.now {{ fill: var(--now) }}
.walk svg text.done {{ fill: var(--paper) !important }}
.walk svg text.now {{ fill: #1a1f2b !important }}
.toeplitz svg text {{ font-size: 11px }}
.toeplitz .label {{ text-anchor: start; font-size: 12px; fill: var(--quiet) }}
.toeplitz .cell {{ stroke: var(--quiet); stroke-width: .5 }}
.toeplitz rect[fill="#ffffff"] {{ fill: var(--paper) }}
.toeplitz text.zero, .toeplitz text.off {{ fill: var(--quiet) }}
.toeplitz g text:not(.zero), .toeplitz text.on {{ fill: #1a1f2b }}
.toeplitz g.dim {{ opacity: .38 }}
.toeplitz .frame {{ fill: none; stroke: var(--now); stroke-width: 3 }}
.pair {{ display: grid; gap: 1.2rem; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)) }}
.lesson {{ padding: 0 .75rem; max-width: 62rem }}
.lesson th, .lesson td {{ border-color: var(--line) !important }}
.lesson img {{ max-width: min(100%, 34rem); background: #ffffff; border-radius: 8px; padding: .4rem }}
.lesson table {{ display: block; overflow-x: auto; border: 0 !important }}
.lesson .katex-display {{ overflow-x: auto; overflow-y: hidden; padding: .2rem 0 }}
input[role="listbox"] {{ text-overflow: ellipsis; padding-right: 1.7rem !important }}
button {{ white-space: nowrap }}
@media (max-width: 640px) {{
  .picture {{ padding: .2rem }}
  .picture svg text {{ font-size: 16px }}
  .picture svg text[font-size="11"] {{ font-size: 19px }}
  .picture svg text[font-size="12"] {{ font-size: 14px }}
  .numbers th {{ width: 8.5rem }}
  .bars div {{ grid-template-columns: 5.5rem 1fr 3.4rem }}
  .curves svg text {{ font-size: 15px }}
  .toeplitz svg text {{ font-size: 13px }}
}}
@media (prefers-reduced-motion: reduce) {{ .walk rect, .walk text {{ animation: none !important }} }}
"""

# Gradio puts its own class before every rule above; the page around its rooms has rules of its own here.
PAGE = """
.gradio-container { width: 100% !important; max-width: 76rem !important; margin: 0 auto !important;
  padding: 0 .6rem 3rem !important }
.gradio-container .main.fillable { width: 100%; max-width: none !important; padding: .5rem 1rem !important }
.gradio-container .wrap, .gradio-container .contain { width: 100% }
footer { display: none !important }
@media (max-width: 640px) {
  .gradio-container { padding: 0 !important }
  .gradio-container .main.fillable { padding: .3rem .4rem 2rem !important }
}
"""

# One listener for the whole page: rooms are drawn anew all the time, the listener stays.
SCRIPT = """
(() => {
  const asked = (span) => {
    const box = span.closest('.tokens');
    if (!box) return;
    const width = Number(box.dataset.width), row = Number(span.dataset.i);
    const bytes = atob(box.dataset.weights);
    box.querySelectorAll('span[data-i]').forEach((other) => {
      const seen = bytes.charCodeAt(row * width + Number(other.dataset.i)) / 255;
      other.style.background = seen > 0.02 ? `rgb(var(--for) / ${(0.08 + 0.82 * seen).toFixed(2)})` : '';
      other.classList.toggle('asked', other === span);
    });
    const said = box.parentElement.querySelector('.tokens-say');
    if (said) said.textContent = span.dataset.say;
  };
  for (const kind of ['pointerover', 'focusin', 'click'])
    document.addEventListener(kind, (event) => {
      const span = event.target.closest && event.target.closest('.tokens span[data-i]');
      if (span) asked(span);
    });
  document.addEventListener('keydown', (event) => {
    const span = event.target.closest && event.target.closest('.tokens span[data-i]');
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!span || !step) return;
    const next = span.parentElement.querySelector(`span[data-i="${Number(span.dataset.i) + step}"]`);
    if (next) { next.tabIndex = 0; next.focus(); span.tabIndex = -1; event.preventDefault(); }
  });
  document.addEventListener('click', async (event) => {
    const button = event.target.closest && event.target.closest('[data-copy]');
    if (!button) return;
    const code = button.parentElement.querySelector('code');
    try { await navigator.clipboard.writeText(code.textContent); }
    catch { getSelection().selectAllChildren(code); document.execCommand('copy'); }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
})();
"""
HEAD = f"<style>{PAGE}</style><script>{SCRIPT}</script>"


def theme() -> Any:
    """Gradio's plain theme in the studio's blue, with fonts that every machine has."""
    gr = need("gradio", "studio")
    base = gr.themes.Base(primary_hue="blue", neutral_hue="slate", font=FONT, font_mono=MONO)
    return base.set(
        button_primary_background_fill="#1f4a94",
        button_primary_background_fill_hover="#2a5bb0",
        button_primary_background_fill_dark="#2f62bd",
        button_primary_text_color="#ffffff",
        slider_color="#1f4a94",
        slider_color_dark="#7da2ec",
        checkbox_background_color_selected="#1f4a94",
        block_info_text_color="#556070",
        body_background_fill_dark="#12151c",
    )
