"""`regard data PATH`: what is there, how it would be read and cut, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import AsJson, print_json
from regard.cli.own_data import LabelColumn, Size, TextColumn, source_of
from regard.errors import visible

if TYPE_CHECKING:
    from regard.data.own.survey import Survey

# A small recipe for each kind, which two CPU cores can train in minutes.
FITTING = {"images": "vit-cifar10-cpu", "corpus": "shakespeare-char-cpu", "reviews": "sentiment-imdb-cpu"}
SHOWN = 20  # classes, sizes and problems in the terminal; --json has all

Sheet = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write a picture of images of every class.")
]
Kind = Annotated[
    str | None, typer.Option("--kind", metavar="KIND", help="Read it as images, corpus or reviews.")
]


def data(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A folder, a file of text, or a table.")],
    text: TextColumn = None,
    label: LabelColumn = None,
    size: Size = None,
    kind: Kind = None,
    out: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Tell what data of your own are: counts, sizes, classes, parts, samples, and problems by file and line.

    Ends with 1 where there are problems, as training would not begin.

    Example: regard data photos/ --out sheet.png
    """
    from regard.data import Images
    from regard.data.own.sheet import contact_sheet
    from regard.data.own.survey import survey
    from regard.paper.commands import command

    told, found = survey(source_of(path, text, label, size, False, kind))
    if out is not None:
        if not isinstance(found, Images):
            raise ValueError(f"--out is for images, {path} holds {told.kind}")
        contact_sheet(found, out)
    if as_json:
        print_json(told.as_dict() | ({} if out is None else {"out": str(out)}))
    else:
        show(told)
        if out is not None:
            print(f"Open {out}")
        if not told.problems:
            columns = {"--text": text, "--label": label, "--size": size}
            given = [word for name, value in columns.items() if value is not None for word in (name, value)]
            following = command("train", FITTING[told.kind], "--data", path, *given, "--minutes", "3")
            print(f"next: {following}")
    if told.problems:
        raise typer.Exit(1)


def show(told: Survey) -> None:
    """The survey in plain lines."""
    print(f"{told.path}: {told.kind}")
    if told.parts:
        print(f"  {'parts':22}{listed(told.parts)}")
    for title, counts in (("classes", told.classes), ("sizes", told.sizes)):
        if counts:
            print(f"  {title:22}{len(counts):,}: {listed(counts)}")
    for name, value in told.facts.items():
        print(f"  {name:22}{value:,}" if isinstance(value, int) else f"  {name:22}{value}")
    for sample in told.samples:
        print(f"  | {sample}")
    for note in told.notes:
        print(f"  note: {note}")
    count = len(told.problems)
    print(f"  {count:,} problem{'s' if count > 1 else ''}" if count else "  no problems")
    for problem in told.problems[:SHOWN]:
        print(f"    {problem}")
    if len(told.problems) > SHOWN:
        print(f"    and {len(told.problems) - SHOWN:,} more: --json lists them all")


def listed(counts: dict[str, int]) -> str:
    """Names and numbers, the first of them.

    >>> listed({"cat": 1200, "dog": 7})
    'cat 1,200, dog 7'
    """
    shown = [f"{visible(name)} {count:,}" for name, count in list(counts.items())[:SHOWN]]
    return ", ".join([*shown, *(["…"] if len(counts) > SHOWN else [])])
