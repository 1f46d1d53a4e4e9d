"""`regard runs`: a table of runs and their scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.options import AsJson

if TYPE_CHECKING:
    from regard.train.runs.listing import RunEntry

WIDE = 120  # columns from which all scores fit


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
    console = Console(highlight=False)
    console.print(table(found, folder, console.width) if found else f"no runs in {folder}")


def table(found: Sequence[RunEntry], folder: Path, width: int) -> Table:
    """The runs with all their scores or, where the terminal is narrow, with the first, which decides."""
    wide = width >= WIDE
    out = Table(box=None, padding=(0, 2, 0, 0))
    out.add_column("run", overflow="fold")
    for name in ("state", "steps", "minutes" if wide else "min", "validation", "test"):
        numbers = name in ("steps", "minutes", "min")
        out.add_column(name, justify="right" if numbers else "left", no_wrap=not wide)
    for one in found:
        minutes = "" if one.minutes is None else f"{one.minutes:.1f}"
        scores = [_scores(part, wide) for part in (one.validation, one.test)]
        if not wide and list(one.test)[:1] == list(one.validation)[:1]:
            scores[1] = scores[1].rpartition(" ")[2]  # its name stands beside it
        out.add_row(*map(Text, (_name(one, folder), one.state, f"{one.steps:,}", minutes, *scores)))
    return out


def _name(one: RunEntry, folder: Path) -> str:
    """Where a run is below the folder, and its recipe where that is another word."""
    place = Path(one.folder)
    below = place.relative_to(folder).as_posix() if place != folder else place.name
    return below if place.name == one.recipe else f"{below} ({one.recipe})"


def _scores(scores: dict[str, float], wide: bool) -> str:
    shown = list(scores.items())[: None if wide else 1]
    return "  ".join(f"{name} {value:.4f}" for name, value in shown)
