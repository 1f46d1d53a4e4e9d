"""`regard draw`: the picture of a pattern in the terminal, or as an SVG or PNG file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import AsJson, Keys, PatternText, Queries, lengths, pattern_of, print_json

if TYPE_CHECKING:
    from regard.pattern import Pattern
    from regard.pattern.picture import View

WIDE = 96  # columns of a picture in the terminal

Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write FILE.svg or FILE.png.")]


Ranks = Annotated[
    int | None, typer.Option("--ranks", metavar="P", help="Draw what P ranks hold and must receive instead.")
]


def draw(
    pattern: PatternText,
    n: Queries = "16",
    m: Keys = None,
    out: Out = None,
    ranks: Ranks = None,
    as_json: AsJson = False,
) -> None:
    """Draw who may look at whom: '#' is a key that a query sees; beyond 96 positions, shades of blocks.

    Example: regard draw "windowed(4) | global(1)" -n 16 --out windows.svg
    """
    from regard.pattern.picture import shades, view
    from regard.pattern.summary import summarise

    value = pattern_of(pattern)
    if ranks is not None:
        draw_exchange(value, lengths(n, m), ranks, out, as_json)
        return
    queries, keys = value.resolve(*lengths(n, m))
    shown = view(value, queries, keys)
    if out is not None:
        write(shown, out)
        if not as_json:
            print(f"{out}: {shown.caption[0]}")
            return
    grid = value.draw(queries, keys) if max(queries, keys) <= WIDE else shades(shown, WIDE)
    if as_json:
        found = summarise(value, queries, keys).as_dict()
        print_json(found | ({"grid": grid.split("\n")} if out is None else {"out": str(out)}))
    else:
        print("\n".join([grid, "", *shown.caption]))


def draw_exchange(
    pattern: Pattern, sizes: tuple[int, int | None], ranks: int, out: Path | None, as_json: bool
) -> None:
    """The plan of ranks that share a sequence: '#' is their own, 'o' they receive."""
    n, m = sizes
    if m is not None:
        raise ValueError(f"ranks share whole sequences: leave -m out, got m={m}")
    if out is not None and out.suffix.lower() != ".svg":
        raise ValueError(f"a plan is written as .svg, got out={str(out)!r}")
    plan = pattern.exchange(n, ranks)
    if out is not None:
        out.write_text(plan.svg(), encoding="utf-8")
    if as_json:
        print_json(plan.as_dict() | ({} if out is None else {"out": str(out)}))
    elif out is not None:
        print(f"{out}: {plan.summary()}")
    else:
        print("\n".join([plan.draw(WIDE), "", plan.told()]))


def write(shown: View, out: Path) -> None:
    """The picture as a file whose name says its kind."""
    from regard.paper.figures import save_figure
    from regard.pattern import figure, svg

    kind = out.suffix.lower()
    if kind == ".svg":
        out.write_text(svg.page(shown), encoding="utf-8")
    elif kind == ".png":
        save_figure(figure.page(shown), out)
    else:
        raise ValueError(f"out must end in .svg or .png, got out={str(out)!r}")
