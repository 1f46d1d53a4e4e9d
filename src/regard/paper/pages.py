"""One self-contained HTML page made of sections, and the pieces of HTML that pages and rooms share.

No scripts, no links to elsewhere, no foreign fonts; light and dark, any width.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from regard.paper import ink

PARTS, PAGE = (
    Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("common.css", "page.css")
)
STYLE = f"""
{ink.variables(":root", ink.LIGHT)}
@media (prefers-color-scheme: dark) {{ {ink.variables(":root", ink.DARK)} }}
{PAGE}{PARTS}"""


@dataclass(frozen=True)
class Section:
    """One part of a page: a plain title and a body in HTML."""

    title: str
    html: str


def page(
    title: str, sections: Sequence[Section], *, under: str = "", first: str = "", contents: bool = False
) -> str:
    """The whole page: a plain line `under` its title, the HTML `first`, links to the sections, the sections.

    >>> page("A < B", [Section("One", "<p>text</p>")]).count("A &lt; B")
    2
    """
    body = "\n".join(
        f'<section>\n<h2 id="{anchor(part.title)}">{escape(part.title)}</h2>\n{part.html}\n</section>'
        for part in sections
    )
    links = "\n".join(f'<a href="#{anchor(part.title)}">{escape(part.title)}</a>' for part in sections)
    top = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="quiet">{escape(under)}</p>' if under else "",
        first,
        f"<nav>\n{links}\n</nav>" if contents else "",
    ]
    # No line ends between a number and its percent sign.
    inner = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", "\n".join([*filter(None, top), body]))
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
{inner}
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


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table whose first column names the row; spaces in front of a name are its depth.

    Cells are numbers, on the right. Of the kind "words-first" the first column may wrap, of the kind
    "words-last" all stands on the left and the last column may wrap.
    """
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f"<tr>{_name(first)}{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>\n"
        for first, *rest in rows
    )
    inner = f"<thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody>"
    return f'<div class="{f"scroll {kind}".strip()}"><table class="grid">{inner}</table></div>'


def _name(text: str) -> str:
    depth = (len(text) - len(text.lstrip())) // 2
    deep = f' style="--deep:{1.1 * depth:g}rem"' if depth else ""
    return f'<th scope="row"{deep}>{escape(text.strip())}</th>'


def numbers(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values, one under the other.

    >>> numbers([("pairs", "58")])
    '<table class="numbers"><tbody><tr><th scope="row">pairs</th><td>58</td></tr></tbody></table>'
    """
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows
    )
    return f'<table class="numbers"><tbody>{body}</tbody></table>'


def bars(shares: Iterable[tuple[str, float, str]]) -> str:
    """Bars from 0 to 1 with a name before and a text behind."""
    rows = "".join(
        f'<div><span>{escape(name)}</span><span class="bar"><i style="width:{100 * share:.1f}%"></i></span>'
        f"<span>{escape(text)}</span></div>"
        for name, share, text in shares
    )
    return f'<div class="bars">{rows}</div>'


def card(title: str, inner: str) -> str:
    """A framed part with a heading; both are HTML."""
    return f'<div class="card"><h3>{title}</h3>{inner}</div>'


def cards(each: Iterable[str], kind: str = "") -> str:
    """Cards side by side, as many as fit."""
    return f'<div class="{f"cards {kind}".strip()}">{"".join(each)}</div>'


def row(each: Sequence[str], across: int | None = None) -> str:
    """Pictures in rows of so many, by default all in one."""
    return f'<div class="row" style="--n:{len(each) if across is None else across}">{"".join(each)}</div>'


def image(png: bytes, alt: str) -> str:
    """A picture inside the page itself."""
    return f'<img src="{inline(png, "image/png")}" alt="{escape(alt)}">'


def figure(png: bytes, caption: str) -> str:
    """A picture with its caption."""
    return f"<figure>{image(png, caption)}<figcaption>{escape(caption)}</figcaption></figure>"


def inline(data: bytes, kind: str) -> str:
    """Data as an address that holds all of it."""
    return f"data:{kind};base64,{b64encode(data).decode('ascii')}"
