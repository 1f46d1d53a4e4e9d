"""`regard draw`: the picture of a pattern in the terminal, or as an SVG or PNG file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import AsJson, Keys, PatternText, Queries, lengths, pattern_of, print_json

if TYPE_CHECKING:
    from regard.pattern import Pattern

WIDE = 96  # columns of a picture in the terminal

Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write FILE.svg or FILE.png.")]


def draw(
    pattern: PatternText, n: Queries = "16", m: Keys = None, out: Out = None, as_json: AsJson = False
) -> None:
    """Draw who may look at whom: '#' is a key that a query sees; beyond 96 positions, shades of blocks.

    Example: regard draw "windowed(4) | global(1)" -n 16 --out windows.svg
    """
    from regard.pattern.picture import caption
    from regard.pattern.summary import summarise

    value = pattern_of(pattern)
    queries, keys = lengths(n, m)
    queries, keys = value.resolve(queries, keys)
    found = summarise(value, queries, keys)
    if out is not None:
        write(value, queries, keys, out)
        if not as_json:
            print(f"{out}: {caption(found)[0]}")
            return
    shown = grid(value, queries, keys).split("\n") if out is None else []
    if as_json:
        print_json(found.as_dict() | ({"grid": shown} if out is None else {"out": str(out)}))
    else:
        print("\n".join([*shown, "", *caption(found)]))


def grid(value: Pattern, n: int, m: int) -> str:
    """The text grid, or shades where it would not fit."""
    from regard.pattern.picture import shades, view

    return value.draw(n, m) if max(n, m) <= WIDE else shades(view(value, n, m), WIDE)


def write(value: Pattern, n: int, m: int, out: Path) -> None:
    """The picture as a file whose name says its kind."""
    from regard.paper.figures import save_figure

    kind = out.suffix.lower()
    if kind == ".svg":
        out.write_text(value.svg(n, m), encoding="utf-8")
    elif kind == ".png":
        save_figure(value.figure(n, m), out)
    else:
        raise ValueError(f"out must end in .svg or .png, got out={str(out)!r}")
