"""`regard tour`: the lecture patterns drawn, counted and explained, in the terminal and as one page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from regard.cli.options import AsJson, print_json
from regard.cli.page import Section, page
from regard.cli.tour_patterns import lecture_patterns, prices

# Each part of the tour is a function; the page and the terminal show them in this order.
SECTIONS: list[Callable[[], Section]] = [lecture_patterns, prices]

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where index.html goes.")]


def tour(out: Out = Path("tour"), as_json: AsJson = False) -> None:
    """Draw, count and explain the patterns of the lectures, and write FOLDER/index.html.

    Example: regard tour --out tour
    """
    sections = [section() for section in SECTIONS]
    out.mkdir(parents=True, exist_ok=True)
    path = out / "index.html"
    path.write_text(page("A tour of Regard", sections), encoding="utf-8")
    if as_json:
        print_json({"out": str(path), "sections": {section.title: section.data for section in sections}})
        return
    console = Console(highlight=False)
    for section in sections:
        console.rule(f"[bold]{section.title}[/]", align="left")
        console.print(*section.terminal, sep="\n")
        console.print()
    console.print(f"Open [bold]{path}[/] for the same with pictures.")
