"""`regard cost`: what a model costs, from its config alone."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.options import AsJson, length, print_json
from regard.cost import CONVENTIONS, AttentionShape, Cost, price, report
from regard.cost.huggingface import DecoderShape, read_config
from regard.cost.presets import PRESETS, preset
from regard.cost.sweep import CURVES, figure, overtakings, sweep
from regard.models import GridCompletionConfig
from regard.models.files import MODELS, build_config
from regard.pattern import parse

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "int8": torch.int8}

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME", help="A preset, a recipe, a run folder, or a config.json.", show_default=False
    ),
]
Tokens = Annotated[
    str | None,
    typer.Option("--tokens", metavar="N", help="How many tokens; 64k is 65,536.", show_default=False),
]
Image = Annotated[
    str | None,
    typer.Option("--image", metavar="R[xC]", help="The image, rows by columns.", show_default=False),
]
Change = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the config.", show_default=False),
]
Letters = Annotated[
    str | None,
    typer.Option(
        "--letters", metavar="A,B", help="What the formula leaves open: n, B, fields.", show_default=False
    ),
]
SweepText = Annotated[
    str | None,
    typer.Option(
        "--sweep", metavar="n=A:B", help="Cost against length, such as n=1k:1M.", show_default=False
    ),
]
Patterns = Annotated[
    list[str] | None,
    typer.Option("--curve", metavar="PATTERN", help="A curve of the sweep, or rnn.", show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the plot or the table here.", show_default=False),
]


def cost(  # noqa: PLR0913, PLR0917 - one option each
    name: Name = None,
    tokens: Tokens = None,
    batch: Annotated[int, typer.Option("--batch", metavar="B", help="Rows of a batch.")] = 1,
    image: Image = None,
    change: Change = None,
    dtype: Annotated[str, typer.Option("--dtype", help="What bytes are counted in.")] = "float32",
    training: Annotated[bool, typer.Option("--training", help="A training step, with gradients.")] = False,
    decode: Annotated[bool, typer.Option("--decode", help="All tokens, one after another.")] = False,
    formula: Annotated[bool, typer.Option("--formula", help="Print formulas too.")] = False,
    letters: Letters = None,
    tree: Annotated[bool, typer.Option("--tree", help="Break the cost down by parts.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Other counters on standard models.")] = False,
    swept: SweepText = None,
    curve: Patterns = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Price a model exactly, without building it: parameters, multiplies, adds, pairs, bytes, depth.

    Example: regard cost gpt2 --tokens 1024 --tree
    """
    if compare:
        _compare(out, as_json)
        return
    if swept is not None:
        _sweep(name, change, swept, curve, out, as_json)
        return
    if name is None:
        raise ValueError(
            f"name must be given: a recipe, a run, a config.json, or one of {', '.join(PRESETS)}"
        )
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype=}")
    what, words = find(name)
    what = changed(what, change or [])
    found = price(
        what,
        tokens=default_tokens(what) if tokens is None else length("tokens", tokens),
        batch=batch,
        image=default_image(what) if image is None else sides(image),
        training=training,
        decode=decode,
        dtype=DTYPES[dtype],
    )
    chosen = tuple(letters.split(",")) if letters is not None else ()
    formulas = report.formulas(found, chosen) if formula or chosen else []
    if as_json:
        shown = {"name": name, "what": words, **found.as_dict()}
        named = {"formulas": {count: text for count, text, _ in formulas}} if formulas else {}
        print_json(shown | named | {"conventions": CONVENTIONS})
        return
    console = Console(highlight=False)
    console.print(Text(f"{name}: {words}", style="bold"), soft_wrap=True)
    for table in (totals_table(found), formula_table(formulas), tree_table(found) if tree else None):
        if table is not None:
            console.print(table)
    for notice in found.notices:
        print(f"notice: {notice}")
    _say_conventions()


def _say_conventions() -> None:
    print("Counted so: " + ";\n  ".join(CONVENTIONS) + ".")


def find(name: str) -> tuple[Any, str]:
    """(what to price, what it is) of a preset, a config file, a run folder or a recipe."""
    if name in PRESETS:
        what = preset(name)
        return what, type(what).__name__
    path = Path(name)
    if path.exists():
        return from_path(path)
    from regard import recipes

    if name in recipes.names():
        return from_recipe(recipes.get(name), f"recipe {name}")
    known = [*PRESETS, *recipes.names()]
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"names: {', '.join(known)}"
    raise ValueError(f"{name!r} is no preset, no recipe and no file or folder; {hint}")


def from_path(path: Path) -> tuple[Any, str]:
    """What a config.json, a folder with one, or a run folder describes."""
    if path.is_dir():
        inner = [path / "model" / "config.json", path / "config.json", path / "recipe.json"]
        found = next((one for one in inner if one.exists()), None)
        if found is None:
            raise ValueError(f"{path} holds no run and no config.json")
        path = found
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path} must hold an object, got a {type(data).__name__}")
    if path.name == "recipe.json":
        from regard.train.folder import read_recipe

        return from_recipe(read_recipe(path.parent), f"the recipe of {path.parent}")
    if data.get("model") in MODELS:
        return build_config(data)[0], f"{data['model']} of {path.parent}"
    return read_config(data, str(path))


def from_recipe(recipe: Any, words: str) -> tuple[Any, str]:
    """The model of a recipe; where the data decides on the vocabulary, the words say so."""
    config: Any = getattr(recipe.task, "model", None)
    if config is None:
        raise ValueError(f"{words} names no model to price")
    if type(config) not in {kind for kind, _ in MODELS.values()}:
        with torch.device("meta"):
            return config.build(), words
    size = getattr(getattr(recipe.task, "tokens", None), "vocab", None)
    if getattr(config, "vocab", None) == 1:
        if size is not None:
            return replace(config, vocab=size), f"{words}, vocabulary {size:,}"
        words += ", with a vocabulary of 1: the data decides on it, --set vocab=… gives one"
    return config, words


def changed(what: Any, changes: list[str]) -> Any:
    """The config with fields set from texts; a pattern by its text, anything else as JSON."""
    for text in changes:
        field, sign, value = text.partition("=")
        names = [f.name for f in fields(what)] if is_dataclass(what) else []
        if not sign or field not in names:
            near = get_close_matches(field, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"{type(what).__name__} has no field {field!r}{hint}; fields: {', '.join(names)}"
            )
        try:
            found = parse(value) if field == "pattern" else json.loads(value)
        except json.JSONDecodeError:
            found = value
        what = replace(what, **{field: tuple(found) if isinstance(found, list) else found})
    return what


def default_tokens(what: Any) -> int | None:
    """The context of a model of sequences, where it has one."""
    inner = getattr(what, "backbone", getattr(what, "config", what))
    context = getattr(inner, "context", getattr(what, "max_N", None))
    return 2048 if context is None and isinstance(what, DecoderShape) else context


def default_image(what: Any) -> tuple[int, int] | None:
    """A size for models of images of any size."""
    return (28, 28) if isinstance(what, GridCompletionConfig) else None


def sides(text: str) -> tuple[int, int]:
    """Rows and columns from 28 or 28x20."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) > 2 or not all(part.isdigit() for part in parts):
        raise ValueError(f"image must be a number or ROWSxCOLS such as 28x20, got image={text!r}")
    return int(parts[0]), int(parts[-1])


def totals_table(found: Cost) -> Table:
    """Every count, exactly and in short."""
    table = _table()
    for name, exact, short in report.totals(found):
        table.add_row(name, exact, short)
    return table


def formula_table(rows: list[tuple[str, str, str]]) -> Table | None:
    """Every formula, and its O(…)."""
    if not rows:
        return None
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text, order in rows:
        table.add_row(name, Text(f"{text}   {order}"))
    return table


def tree_table(found: Cost) -> Table:
    """Parts, with their share of the flops."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("part", no_wrap=True)
    for name in ("parameters", "flops", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report.tree(found):
        table.add_row(*row)
    return table


def _table() -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    return table


def _compare(out: Path | None, as_json: bool) -> None:
    from regard.cost.standard import comparisons, markdown

    found = comparisons()
    if out is not None:
        out.write_text(markdown(found), encoding="utf-8")
    if as_json:
        print_json({"comparisons": [one.as_dict() for one in found], "conventions": CONVENTIONS})
        return
    print(markdown(found) if out is None else f"{out}: {len(found)} models compared")
    _say_conventions()


def _sweep(
    name: str | None,
    change: list[str] | None,
    text: str,
    curve: list[str] | None,
    out: Path | None,
    as_json: bool,
) -> None:
    variable, _, span = text.partition("=")
    low, sign, high = span.partition(":")
    if variable != "n" or not sign:
        raise ValueError(f"sweep must be n=FIRST:LAST such as n=1k:1M, got sweep={text!r}")
    if out is not None and out.suffix.lower() not in (".png", ".svg"):
        raise ValueError(f"out must end in .png or .svg, got out={str(out)!r}")
    what = AttentionShape(width=512, heads=8) if name is None else find(name)[0]
    found = sweep(changed(what, change or []), length("n", low), length("n", high), curve or CURVES)
    if out is not None:
        figure(found).savefig(out)
    if as_json:
        print_json({**found.as_dict(), "conventions": CONVENTIONS})
        return
    print(found.what)
    for _, _, sentence in overtakings(found):
        print(f"  {sentence}")
    if not found.crossings:
        print("  no curve overtakes another in this range")
    if out is not None:
        print(f"plot: {out}")
    _say_conventions()
