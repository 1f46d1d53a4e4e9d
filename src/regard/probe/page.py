"""One self-contained HTML page made of sections: no scripts, no links, light and dark, any width."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from torch import Tensor

from regard.probe.colours import AGAINST, FOR, HEAT, png

SCALE = ", ".join(f"rgb{colour}" for colour in HEAT)
PLUS, MINUS = ("{} {} {}".format(*colour) for colour in (FOR, AGAINST))
STYLE = f"""
:root {{ --ink: #1a1f2b; --quiet: #5a6374; --paper: #fbfbf9; --card: #ffffff; --line: #dfe3ea;
  --accent: #1f3a6e; --good: #1b6e3c; --bad: #a92a1e; --for: {PLUS}; --against: {MINUS}; --strong: .75 }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e8eaf0; --quiet: #a3abbb; --paper: #14171e; --card: #1c212b; --line: #303847;
    --accent: #9db7ee; --good: #7fd6a0; --bad: #ff9d8f; --for: 200 92 0; --against: 40 98 214; --strong: .9 }}
}}
* {{ box-sizing: border-box }}
body {{ margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.6 Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif }}
main {{ max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.2rem 4rem }}
h1 {{ font-size: 2rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere }}
h2 {{ font-size: 1.4rem; margin: 2.8rem 0 .5rem; padding-top: 1.1rem; border-top: 1px solid var(--line);
  overflow-wrap: anywhere }}
h3 {{ font-size: 1.05rem; margin: 0 0 .3rem; overflow-wrap: anywhere }}
p {{ margin: 0 0 .9rem; max-width: 44rem }}
.quiet, figcaption, summary {{ color: var(--quiet) }}
figcaption {{ font-size: .85rem; line-height: 1.35; padding-top: .3rem }}
.cards {{ display: grid; gap: 1.2rem; margin: 1.2rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)) }}
.card {{ background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem;
  min-width: 0 }}
.row {{ display: grid; gap: .6rem; grid-template-columns: repeat(var(--n), minmax(0, 1fr)) }}
figure {{ margin: 0; min-width: 0 }}
img {{ width: 100%; height: auto; display: block; border-radius: 5px; image-rendering: pixelated }}
.plot {{ max-width: 40rem; margin: 1rem 0 }}
.plot svg {{ width: 100%; height: auto; display: block }}
.heads {{ display: grid; gap: 4px; margin: 1rem 0; max-width: 44rem;
  grid-template-columns: 2.2rem repeat(var(--n), minmax(0, 1fr)) }}
.heads span {{ font-size: .75rem; color: var(--quiet); align-self: center; text-align: center }}
.scale {{ display: flex; gap: .6rem; align-items: center; font-size: .85rem; color: var(--quiet);
  margin: 0 0 .4rem; flex-wrap: wrap }}
.scale strong {{ min-width: 4.8rem }}
.scale i {{ display: inline-block; width: 7rem; height: .7rem; border-radius: 3px;
  background: linear-gradient(90deg, {SCALE}) }}
.scale i.two {{ background: linear-gradient(90deg, rgb(var(--against)), #7c7e82, rgb(var(--for))) }}
.good {{ color: var(--good) }} .bad {{ color: var(--bad) }}
.answer {{ font-size: 1.15rem; margin-bottom: .5rem }}
.words {{ line-height: 1.9; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 }}
mark {{ color: var(--ink); border-radius: 3px; padding: .1em .12em; margin: 0 -.06em;
  -webkit-box-decoration-break: clone; box-decoration-break: clone }}
mark.for {{ background: rgb(var(--for) / calc(var(--a) * var(--strong))) }}
mark.against {{ background: rgb(var(--against) / calc(var(--a) * var(--strong) * .8)) }}
.bars {{ max-width: 26rem; margin: 0 0 1rem; font-size: .9rem }}
.bars div {{ display: grid; grid-template-columns: 6.5rem 1fr 3.2rem; gap: .6rem; align-items: center }}
.bars span:last-child {{ text-align: right; font-variant-numeric: tabular-nums }}
.bars span:first-child {{ overflow-wrap: anywhere }}
.bar {{ height: .6rem; background: var(--line); border-radius: 3px; overflow: hidden }}
.bar i {{ display: block; height: 100%; background: var(--accent) }}
table {{ border-collapse: collapse; margin: .8rem 0 }}
th, td {{ text-align: left; padding: .35rem 1.2rem .35rem 0; border-bottom: 1px solid var(--line) }}
th {{ font-weight: 600; color: var(--quiet); font-size: .85rem }}
td {{ font-variant-numeric: tabular-nums; overflow-wrap: anywhere }}
.wide {{ overflow-x: auto }}
.wide td:not(:last-child), .wide th {{ white-space: nowrap }}
"""


@dataclass(frozen=True)
class Section:
    """One part of a page: a title in plain text and a body in HTML."""

    title: str
    html: str


def page(title: str, sections: Iterable[Section], *, under: str = "") -> str:
    """The whole page; `under` is a plain line below the title.

    >>> page("A < B", [Section("One", "<p>text</p>")]).count("A &lt; B")
    2
    """
    body = "\n".join(
        f"<section>\n<h2>{escape(part.title)}</h2>\n{part.html}\n</section>" for part in sections
    )
    line = f'<p class="quiet">{escape(under)}</p>' if under else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{line}
{body}
</main>
</body>
</html>
"""


def image_tag(pixels: Tensor, alt: str) -> str:
    """A picture (rows,cols,3) of uint8 inside the page itself."""
    data = b64encode(png(pixels)).decode("ascii")
    return f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}">'


def figure_tag(pixels: Tensor, caption: str) -> str:
    """A picture with its caption."""
    return f"<figure>{image_tag(pixels, caption)}<figcaption>{escape(caption)}</figcaption></figure>"
