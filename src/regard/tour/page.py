"""One self-contained HTML page made of sections: no scripts, no foreign fonts, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from regard.probe.page import STYLE as PROBE


@dataclass(frozen=True)
class Section:
    """One part of the tour: HTML for the page, renderables for the terminal, data for machines."""

    title: str
    html: str
    terminal: Sequence[RenderableType]
    data: dict[str, Any] = field(default_factory=dict)


STYLE = f"""{PROBE}
h2 {{ scroll-margin-top: 1rem }}
h3 {{ margin-top: 1.6rem }}
.card h3 {{ margin-top: 0 }}
nav {{ display: flex; flex-wrap: wrap; gap: .3rem 1.3rem; margin: 1rem 0 0 }}
a {{ color: var(--accent); text-underline-offset: .2em }}
code, pre {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace }}
code {{ font-size: .86em; overflow-wrap: anywhere }}
pre {{ margin: .6rem 0; font-size: .8rem; line-height: 1.5; padding: .7rem .9rem; overflow-x: auto;
  background: var(--card); border: 1px solid var(--line); border-radius: 8px }}
.card pre {{ background: var(--paper) }}
pre.said {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: .86rem; margin: .5rem 0 0 }}
pre.said b {{ color: var(--quiet); font-weight: 600 }}
.card > svg {{ width: 100%; height: auto; display: block; margin: 0 0 1rem }}
.cards.three {{ grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)) }}
.formula {{ color: var(--accent); font-size: 1.06rem }}
.plots {{ display: grid; gap: 1rem 2rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)) }}
.plots svg, .plot svg {{ width: 100%; max-width: 34rem; height: auto; display: block }}
.tiles {{ display: grid; gap: 1rem; margin: 1.4rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(13rem, 100%), 1fr)) }}
.tile {{ background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: .8rem 1rem;
  line-height: 1.35; font-size: .92rem }}
.tile b {{ display: block; font-size: 1.7rem; line-height: 1.3; font-variant-numeric: tabular-nums }}
.bill td:first-child {{ white-space: nowrap }}
.read {{ margin: 1.2rem 0 2rem }}
.scroll {{ overflow-x: auto }}
.scroll table {{ margin: 1rem 0 }}
.scroll th, .scroll td {{ text-align: right; padding: .45rem .9rem; white-space: nowrap }}
.scroll th:first-child, .scroll td:first-child {{ text-align: left; padding-left: 0 }}
@media (max-width: 40rem) {{
  .scroll table {{ font-size: .88rem }}
  .scroll th, .scroll td {{ padding: .4rem .5rem }}
}}
.scroll.words-first td:first-child {{ white-space: normal; min-width: 13rem; overflow-wrap: normal }}
"""


def page(title: str, sections: Sequence[Section], *, under: str = "", first: str = "") -> str:
    """The whole page: a line `under` its title, the HTML `first`, links to the sections, the sections."""
    body = "\n".join(
        f'<section>\n<h2 id="{anchor(part.title)}">{escape(part.title)}</h2>\n{part.html}\n</section>'
        for part in sections
    )
    links = "\n".join(f'<a href="#{anchor(part.title)}">{escape(part.title)}</a>' for part in sections)
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
<p class="quiet">{escape(under)}</p>
{first}
<nav>
{links}
</nav>
{body}
</main>
</body>
</html>
"""


def anchor(title: str) -> str:
    """A title as the name of a place on the page.

    >>> anchor("What they cost at 65,536 tokens")
    'what-they-cost-at-65-536-tokens'
    """
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "") -> str:
    """A table whose first column names the row; `kind` "words-first" lets that column wrap."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    inner = f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>"
    return f'<div class="{f"scroll {kind}".strip()}"><table>\n{inner}\n</table></div>'


def percent(share: float, digits: int = 1) -> str:
    """A share in percent, which no line end parts from its sign.

    >>> percent(0.9714).split()
    ['97.1', '%']
    """
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def listed(head: Sequence[str], rows: Iterable[Sequence[str]], *, wrap: bool = False) -> Table:
    """The same table for the terminal; `wrap` lets its first column wrap."""
    out = Table(box=None, padding=(0, 2, 0, 0))
    for i, name in enumerate(head):
        out.add_column(name, justify="right" if i else "left", no_wrap=bool(i) or not wrap)
    for row in rows:
        out.add_row(*map(Text, row))
    return out


def described(rows: Iterable[tuple[str, str]]) -> Table:
    """Names and what is to be said of them, for the terminal."""
    out = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for row in rows:
        out.add_row(*map(Text, row))
    return out
