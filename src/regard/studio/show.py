"""Pieces of HTML that all rooms use: faults, notes, a line to copy, a file to keep; the rest is a page's."""

from __future__ import annotations

from html import escape

from regard.paper.pages import bars, inline, numbers, table

__all__ = ["bars", "copied", "escape", "fault", "kept", "note", "numbers", "table"]


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
    address = inline(text.encode(), kind)
    return f'<a class="keep" download="{escape(name)}" href="{address}">{escape(words)}</a>'
