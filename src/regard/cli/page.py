"""One self-contained HTML page made of sections: no scripts, no foreign fonts, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from rich.console import RenderableType


@dataclass(frozen=True)
class Section:
    """One part of the tour: HTML for the page, renderables for the terminal, data for machines."""

    title: str
    html: str
    terminal: Sequence[RenderableType]
    data: dict[str, Any] = field(default_factory=dict)


STYLE = """
:root { --ink: #1a1f2b; --quiet: #5a6374; --paper: #fbfbf9; --card: #ffffff; --line: #dfe3ea;
  --accent: #1f3a6e }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaf0; --quiet: #a3abbb; --paper: #14171e; --card: #1c212b; --line: #303847;
    --accent: #9db7ee }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.6;
  font: 17px/1.6 Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif }
main { max-width: 68rem; margin: 0 auto; padding: 3rem 1.5rem 5rem }
h1 { font-size: 2.2rem; line-height: 1.2; margin: 0 0 .3rem }
h2 { font-size: 1.45rem; margin: 3.2rem 0 .6rem; padding-top: 1.2rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.15rem; margin: 0 0 .4rem }
p { margin: 0 0 .9rem; max-width: 42rem }
.quiet, figcaption { color: var(--quiet) }
code, .number { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .88em }
pre { margin: 0; font-size: .8rem; padding: .7rem .9rem; overflow-x: auto; background: var(--card);
  border: 1px solid var(--line); border-radius: 8px }
.cards { display: grid; gap: 1.4rem; margin: 1.4rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)) }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.2rem }
.card svg { width: 100%; height: auto; display: block; margin: 0 0 1rem }
.formula { color: var(--accent); font-size: 1.06rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; margin: 1.2rem 0; min-width: 36rem }
th, td { text-align: right; padding: .45rem .9rem; border-bottom: 1px solid var(--line); white-space: nowrap }
th { font-weight: 600; color: var(--quiet); font-size: .9rem }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
td { font-variant-numeric: tabular-nums }
"""


def page(title: str, sections: Iterable[Section]) -> str:
    """The whole page."""
    body = "\n".join(
        f"<section>\n<h2>{escape(part.title)}</h2>\n{part.html}\n</section>" for part in sections
    )
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
<p class="quiet">Sequence models you can see, count and run.</p>
{body}
</main>
</body>
</html>
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column names the row."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    inner = f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>"
    return f'<div class="scroll"><table>\n{inner}\n</table></div>'
