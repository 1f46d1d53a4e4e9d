"""Pieces of HTML that all rooms use: numbers, tables, faults, a line to copy, a picture to keep."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from regard.pattern import svg as drawing


def numbers(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values, one under the other.

    >>> numbers([("pairs", "58")])
    '<table class="numbers"><tbody><tr><th scope="row">pairs</th><td>58</td></tr></tbody></table>'
    """
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows
    )
    return f'<table class="numbers"><tbody>{body}</tbody></table>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column names the row; spaces in front of a name are its depth."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{_name(first)}{''.join(map(_cell, rest))}</tr>" for first, *rest in rows)
    return f'<div class="scroll"><table class="grid"><thead><tr>{top}</tr></thead>{body}</table></div>'


def _name(text: str) -> str:
    depth = (len(text) - len(text.lstrip())) // 2
    return f'<th scope="row" style="--deep:{1.1 * depth:g}rem">{escape(text.strip())}</th>'


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def fault(error: object) -> str:
    """What went wrong, in the place where the result would stand."""
    return f'<div class="fault" role="alert">{escape(str(error))}</div>'


def note(text: str) -> str:
    """A quiet line."""
    return f'<p class="quiet">{escape(text)}</p>'


def copied(line: str) -> str:
    """A line of code with a button that copies it."""
    return (
        f'<div class="copy"><code>{escape(line)}</code>'
        '<button type="button" data-copy aria-label="Copy the line">Copy</button></div>'
    )


def kept(text: str, name: str, kind: str = "image/svg+xml", words: str = "Download SVG") -> str:
    """A link that saves a text as a file, out of the page itself: nothing is fetched."""
    data = b64encode(text.encode()).decode("ascii")
    return f'<a class="keep" download="{escape(name)}" href="data:{kind};base64,{data}">{escape(words)}</a>'


def bars(shares: Sequence[tuple[str, float, str]]) -> str:
    """Bars from 0 to 1 with a name before and a text behind."""
    rows = "".join(
        f'<div><span>{escape(name)}</span><span class="bar"><i style="width:{100 * share:.1f}%"></i></span>'
        f"<span>{escape(text)}</span></div>"
        for name, share, text in shares
    )
    return f'<div class="bars">{rows}</div>'


def themed(picture: str) -> str:
    """The SVG of a pattern in the page's own colours, without the words that stand beside it as text.

    >>> from regard.pattern import Causal
    >>> shown = themed(Causal().svg(4))
    >>> drawing.SEEN in shown, "10 of 16 pairs" in shown
    (False, False)
    """
    picture = re.sub(r'<text x="24" y="[\d.]+" font-size="1[36]".*?</text>\n?', "", picture)
    words = re.search(r'viewBox="0 0 (\d+) (\d+)"', picture)
    grid = re.search(r'<rect width="([\d.]+)" height="([\d.]+)" fill="#e9edf2"/>', picture)
    assert words is not None
    assert grid is not None
    wide = max(drawing.LEFT + float(grid[1]) + 24, 300)
    top = drawing.TOP - 44
    high = float(grid[2]) + 44 + 44
    picture = re.sub(r' width="\d+" height="\d+" viewBox="[^"]*"',
                     f' viewBox="0 {top} {wide:.0f} {high:.0f}" style="max-width:{wide:.0f}px"',
                     picture, count=1)  # fmt: skip
    picture = picture.replace('<rect width="100%" height="100%" rx="8" fill="#ffffff"/>', "")
    for colour, name in (
        (drawing.SEEN, "var(--seen)"),
        (drawing.UNSEEN, "var(--unseen)"),
        (drawing.INK, "currentColor"),
        (drawing.QUIET, "var(--quiet)"),
        ("#ffffff", "var(--paper)"),
    ):
        picture = picture.replace(f'"{colour}"', f'"{name}"')
    return re.sub(r' font-family="[^"]*"', "", picture, count=1)
