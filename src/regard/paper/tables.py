"""Tables outside of pages: in Markdown, and for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """A table in Markdown, of which some columns stand on the right.

    >>> print(markdown(["n", "pairs"], [["4", "10"]], right=[1]))
    | n | pairs |
    |---|---:|
    | 4 | 10 |
    """
    numeric = set(right)
    rule = "|" + "|".join("---:" if i in numeric else "---" for i in range(len(head))) + "|"
    first, *others = (f"| {' | '.join(line)} |" for line in (head, *rows))
    return "\n".join([first, rule, *others])


def plain(text: str) -> str:
    """A text whose signs mean nothing to Markdown.

    >>> plain("a | *b*")
    'a \\\\| \\\\*b\\\\*'
    """
    return re.sub(r"[\\|<*_`]", r"\\\g<0>", text)


def listed(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, left: Iterable[int] = (0,), wrap: bool = False
) -> Table:
    """A table for the terminal; columns but those on the `left` hold numbers, `wrap` lets the first break."""
    from rich.table import Table
    from rich.text import Text

    words = set(left)
    out = Table(box=None, padding=(0, 2, 0, 0), show_header=any(head))
    for i, name in enumerate(head):
        out.add_column(name, justify="left" if i in words else "right", no_wrap=bool(i) or not wrap)
    for row in rows:
        out.add_row(*map(Text, row))
    return out


def described(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Names and what is to be said of them, for the terminal."""
    from rich.table import Table
    from rich.text import Text

    out = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    out.add_column(no_wrap=True)
    out.add_column(overflow="fold")
    for name, said in rows:
        out.add_row(name, Text(said) if isinstance(said, str) else said)
    return out
