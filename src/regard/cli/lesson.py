"""`regard lesson NAME`: a theory question answered by running code, in the terminal or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from regard.cli.options import AsJson, print_json

Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="The lesson; without one, all are listed.")
]
Format = Annotated[
    str | None, typer.Option("--format", metavar="md|tex|ipynb", help="Write it as text instead.")
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write FILE, and the pictures beside it.")
]

Questions = Annotated[
    bool, typer.Option("--questions", help="Only the questions: a sheet without solutions.")
]


def lesson(
    name: Name = None,
    kind: Format = None,
    out: Out = None,
    questions: Questions = False,
    as_json: AsJson = False,
) -> None:
    """Answer a theory question: derivation, formulas, checks and pictures, computed now.

    Example: regard lesson counting-attention --format tex --out counting.tex
    """
    from regard.lessons import get
    from regard.lessons.render.terminal import terminal
    from regard.lessons.writing import written

    if name is None:
        if kind is not None or out is not None or questions:
            raise ValueError("--format, --out and --questions need the NAME of a lesson")
        _list(as_json)
        return
    chosen = get(name).sheet() if questions else get(name)
    kind = _kind(kind, out)
    if as_json and kind is not None:
        raise ValueError("--json and --format exclude each other")
    if kind is None:
        answer = chosen.run()
        if as_json:
            print_json(answer.as_dict())
        else:
            Console(highlight=False).print(terminal(answer))
        if not answer.holds:
            raise ValueError(f"a check of lesson {name} failed")
    elif out is None:
        print(written(chosen, kind), end="")
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(written(chosen, kind, out.parent), encoding="utf-8")
        print(f"{out}: {chosen.title}")


def _kind(kind: str | None, out: Path | None) -> str | None:
    """The format that was asked for, or the one that the file's name says."""
    from regard.lessons.writing import FORMATS

    if kind is not None and kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    if kind is None and out is not None:
        kind = out.suffix.removeprefix(".")
        if kind not in FORMATS:
            raise ValueError(
                f"out must end in {', '.join('.' + f for f in FORMATS)}, or --format be given, got "
                f"{str(out)!r}"
            )
    return kind


def _list(as_json: bool) -> None:
    from regard.lessons import NAMES, get

    found = [get(name) for name in NAMES]
    if as_json:
        print_json(
            {"lessons": [{"name": one.name, "title": one.title, "question": one.question} for one in found]}
        )
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("lesson", style="bold", no_wrap=True)
    table.add_column("about")
    for one in found:
        table.add_row(one.name, one.title)
    console = Console(highlight=False)
    console.print(table)
    console.print("\nregard lesson NAME shows one; regard check NAME lists its exercises.", style="dim")
