"""The options that name data of one's own, and the recipe that they make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.data import Source
    from regard.train import Recipe

Data = Annotated[
    str | None,
    typer.Option(
        "--data", metavar="PATH", help="Your own: class folders of images, text, a table; or a set's name."
    ),
]
TextColumn = Annotated[
    str | None, typer.Option("--text", metavar="COLUMN", help="Of a table: where the texts or paths are.")
]
LabelColumn = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="Of a table: where the labels are.")
]
Size = Annotated[
    str | None, typer.Option("--size", metavar="ROWSxCOLS", help="To which images are resized, as 32x32.")
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out files and rows that cannot be read.")]


def source_of(
    path: str, text: str | None, label: str | None, size: str | None, skip_bad: bool, kind: str | None = None
) -> Source:
    """The source that these options name."""
    from regard.data import Source
    from regard.data.own.source import read_size

    return Source(path, kind, text, label, None if size is None else read_size(size), skip_bad=skip_bad)


def asked_for(
    path: str | None, text: str | None, label: str | None, size: str | None, skip_bad: bool
) -> Source | None:
    """The source that is named, or None; what only a source can mean is refused without one."""
    if path is not None:
        return source_of(path, text, label, size, skip_bad)
    given = {"--text": text, "--label": label, "--size": size, "--skip-bad": skip_bad or None}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} says how --data is read: name your data with --data PATH")
    return None


def data_for(
    recipe: Recipe,
    source: Source,
    settings: Sequence[str],
    out: Path | None,
    *,
    going_on: bool,
    data_dir: Path | None,
) -> Recipe:
    """The recipe on these data; a run that goes on keeps what it was made for."""
    from regard.train.own_data import on_data, run_name

    folder = Path("runs") / run_name(recipe, source.path) if out is None else out
    return on_data(recipe, source, settings, folder if going_on else None, data_dir=data_dir)
