"""Options that several verbs share, and how their texts are read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import regard

if TYPE_CHECKING:
    from regard.pattern import Pattern

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}
LENGTH = re.compile(r"(\d{1,18}(?:\.\d{1,18})?(?:[eE]\+?\d{1,2})?)([kKmM]?)")
LARGEST = 10**18  # positions still fit into 64 bits
DTYPES = ("float32", "bfloat16", "float16", "int8")
SHORT_TYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "half": "float16"}

PatternText = Annotated[
    str, typer.Argument(metavar="PATTERN", help="For example 'strided(128) | global(4) & causal'.")
]
Queries = Annotated[
    str,
    typer.Option("-n", metavar="N", help="How many queries: 4096, 1e6; 64k is 65,536 and 1M is 1,048,576."),
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


def runs_here(incomplete: str) -> list[str]:
    """What a shell offers for RUN: models of the zoo, and runs in the usual folder; nothing is opened."""
    shipped = (Path(regard.__file__).parent / "zoo" / "weights").glob("*/config.json")
    found = [f"zoo:{path.parent.name}" for path in shipped]
    found += [path.parent.as_posix() for path in Path("runs").glob("*/recipe.json")]
    return sorted(name for name in found if name.startswith(incomplete))


def devices(incomplete: str) -> list[str]:
    """What a shell offers for a device."""
    return [name for name in ("cpu", "cuda", "mps") if name.startswith(incomplete)]


RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's folder, or zoo:NAME.", autocompletion=runs_here)
]
DataDir = Annotated[Path | None, typer.Option("--data-dir", metavar="DIR", help="Where the data sets are.")]
Device = Annotated[
    str | None,
    typer.Option("--device", help="cpu, cuda or mps; unset: cuda if there is one.", autocompletion=devices),
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Import the code of one's own that the run or recipe.json names.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def length(name: str, text: str) -> int:
    """A number of positions, with k for 1,024 and M for 1,048,576.

    >>> length("n", "64k"), length("n", "1e6"), length("n", "1.5k")
    (65536, 1000000, 1536)
    """
    match = LENGTH.fullmatch(text.replace(",", "").replace("_", ""))
    found = Fraction(match[1]) * UNITS[match[2].lower()] if match is not None else None
    if found is None or found.denominator != 1:  # 1.5 is a length in k alone
        raise ValueError(f"{name} must be a whole number such as 4096, 64k or 1M, got {name}={text!r}")
    if found > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:,}, got {name}={text!r}")
    return int(found)


def data_type(text: str) -> str:
    """The torch name of a data type, which may be given by one of its short names.

    >>> data_type("bf16"), data_type("float32")
    ('bfloat16', 'float32')
    """
    found = SHORT_TYPES.get(text.lower(), text.lower())
    if found not in DTYPES:
        raise ValueError(
            f"dtype must be one of {', '.join(DTYPES)}, or {', '.join(SHORT_TYPES)}; got dtype={text!r}"
        )
    return found


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
