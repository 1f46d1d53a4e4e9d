"""`regard runs`: a table of runs and their scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.options import AsJson


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the runs are.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """List the runs in a folder with their state, their time and their scores.

    Example: regard runs runs
    """
    from regard.train import list_runs

    found = list_runs(folder)
    if as_json:
        print(json.dumps([one.as_dict() for one in found], ensure_ascii=False))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("run", "recipe", "state", "steps", "minutes", "validation", "test"):
        table.add_column(name, justify="right" if name in ("steps", "minutes") else "left")
    for one in found:
        minutes = "" if one.minutes is None else f"{one.minutes:.1f}"
        cells = (one.folder, one.recipe, one.state, f"{one.steps:,}", minutes)
        table.add_row(*map(Text, (*cells, _scores(one.validation), _scores(one.test))))
    Console(highlight=False).print(table if found else f"no runs in {folder}")


def _scores(scores: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in scores.items())
