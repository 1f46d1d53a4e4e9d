"""Options that several verbs share, and how their texts are read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.pattern import Pattern

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}

PatternText = Annotated[
    str, typer.Argument(metavar="PATTERN", help="For example 'strided(128) | global(4) & causal'.")
]
Queries = Annotated[
    str, typer.Option("-n", metavar="N", help="How many queries; 64k is 65,536 and 1M is 1,048,576.")
]
Keys = Annotated[
    str | None,
    typer.Option("-m", metavar="M", help="How many keys, if more: the queries are the last N of them."),
]
RecipeName = Annotated[
    str | None,
    typer.Argument(
        metavar="RECIPE", help="Its name (see --list), my_recipe.py, module:function or a run's recipe.json."
    ),
]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or zoo:NAME.")]
DataDir = Annotated[Path | None, typer.Option("--data-dir", metavar="DIR", help="Where the data sets are.")]
Device = Annotated[str | None, typer.Option("--device", help="cpu or cuda; the GPU if there is one.")]
Trust = Annotated[
    bool, typer.Option("--trust", help="Import the code of one's own that the run or recipe.json names.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def length(name: str, text: str) -> int:
    """A number of positions, with k for 1,024 and M for 1,048,576.

    >>> length("n", "64k")
    65536
    """
    match = re.fullmatch(r"(\d{1,13})([kKmM]?)", text.replace(",", "").replace("_", ""))
    if match is None:
        raise ValueError(f"{name} must be a whole number such as 4096, 64k or 1M, got {name}={text!r}")
    return int(match[1]) * UNITS[match[2].lower()]


def lengths(queries: str, keys: str | None) -> tuple[int, int | None]:
    """N and M as numbers."""
    return length("n", queries), None if keys is None else length("m", keys)


def pattern_of(text: str) -> Pattern:
    """A pattern that a user typed: one of their own, `my.module:Around(3)`, is imported for it."""
    from regard.importing import Importable
    from regard.pattern import parse

    return parse(text, Importable())


def print_json(found: Mapping[str, object]) -> None:
    """One line of JSON, as every verb prints it."""
    print(json.dumps(found, ensure_ascii=False))
