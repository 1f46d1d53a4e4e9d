"""`regard tour`: patterns drawn and counted, a model priced, three models trained; all of it on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from regard.cli.options import AsJson, print_json

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where index.html and the runs go.")]
Reuse = Annotated[
    bool, typer.Option("--reuse", help="Keep the finished runs of an earlier tour, go on with others.")
]
Steps = Annotated[int | None, typer.Option("--steps", min=1, help="Train for so few steps, to see it work.")]


def tour(out: Out = Path("tour"), reuse: Reuse = False, steps: Steps = None, as_json: AsJson = False) -> None:
    """Draw and count patterns, price a model, train three small ones, and write FOLDER/index.html.

    Takes under four minutes on two cores, without network. Example: regard tour --out tour
    """
    from regard.tour.walk import walk

    found = walk(out, Console(highlight=False, quiet=as_json), reuse=reuse, steps=steps)
    if as_json:
        print_json(found)
