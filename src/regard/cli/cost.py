"""`regard cost`: what a model costs, from its config alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from regard.cli.options import AsJson, Trust, data_type, length, pattern_of, print_json
from regard.paper.tables import described, listed

if TYPE_CHECKING:
    from regard.cost import Cost
    from regard.cost.memory import DecodingFloor

Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="A preset, a recipe, a run folder, or a config.json.")
]
Tokens = Annotated[str | None, typer.Option("--tokens", metavar="N", help="How many tokens; 64k is 65,536.")]
Image = Annotated[str | None, typer.Option("--image", metavar="R[xC]", help="The image, rows by columns.")]
Change = Annotated[
    list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the config.")
]
Letters = Annotated[
    str | None, typer.Option("--letters", metavar="A,B", help="What the formula leaves open: n, B, fields.")
]
SweepText = Annotated[
    str | None, typer.Option("--sweep", metavar="n=A:B", help="Cost against length, such as n=1k:1M.")
]
Patterns = Annotated[
    list[str] | None, typer.Option("--curve", metavar="PATTERN", help="A curve of the sweep, or linear, rnn.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the plot or the table here.")]


def cost(  # noqa: PLR0913, PLR0917 - one option each
    name: Name = None,
    tokens: Tokens = None,
    batch: Annotated[int, typer.Option("--batch", metavar="B", help="Rows of a batch.")] = 1,
    image: Image = None,
    change: Change = None,
    dtype: Annotated[
        str | None,
        typer.Option("--dtype", help="What bytes are counted in: float32, bf16, fp16, int8; else its own."),
    ] = None,
    training: Annotated[bool, typer.Option("--training", help="A training step, with gradients.")] = False,
    decode: Annotated[bool, typer.Option("--decode", help="All tokens, one after another.")] = False,
    ranks: Annotated[
        int, typer.Option("--ranks", metavar="P", help="Share each sequence among P; what they exchange.")
    ] = 1,
    formula: Annotated[bool, typer.Option("--formula", help="Print formulas too.")] = False,
    letters: Letters = None,
    tree: Annotated[bool, typer.Option("--tree", help="Break the cost down by parts.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Other counters on standard models.")] = False,
    swept: SweepText = None,
    curve: Patterns = None,
    out: Out = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Price a model exactly, without building it: parameters, multiplies, adds, pairs, bytes, depth.

    Example: regard cost gpt2 --tokens 1024 --tree
    """
    import torch

    from regard.cli.priceable import changed, find, sides
    from regard.cost import CONVENTIONS, price, report
    from regard.models.presets import PRESETS
    from regard.train.priceable import check_positions, default_image, default_tokens

    if compare:
        _compare(out, as_json)
        return
    if swept is not None:
        _sweep(None if name is None else find(name, trust)[0], change, swept, curve, out, as_json)
        return
    if name is None:
        raise ValueError(
            f"name must be given: a recipe, a run, a config.json, or one of {', '.join(PRESETS)}"
        )
    what, words = find(name, trust)
    what = changed(what, change or [])
    count = default_tokens(what) if tokens is None else length("tokens", tokens)
    check_positions(name, what, count)
    found = price(
        what,
        tokens=count,
        batch=batch,
        image=default_image(what) if image is None else sides(image),
        training=training,
        decode=decode,
        dtype=None if dtype is None else getattr(torch, data_type(dtype)),
        ranks=ranks,
    )
    assert found.question is not None
    exchanges = found.question.exchanges()
    floors = _floors(found, count) if decode and count else {}
    chosen = tuple(letters.split(",")) if letters is not None else ()
    formulas = report.formulas(found, chosen) if formula or chosen else []
    if as_json:
        shown = {"name": name, "what": words, **found.as_dict()}
        named = {"formulas": {count: text for count, text, _ in formulas}} if formulas else {}
        plans = {"exchanges": [one.as_dict() for one in exchanges]} if ranks > 1 else {}
        paces = {"decoding": {name: one.as_dict() for name, one in floors.items()}} if floors else {}
        print_json(shown | named | plans | paces | {"conventions": CONVENTIONS})
        return
    console = Console(highlight=False)
    console.print(Text(f"{name}: {words}", style="bold"), soft_wrap=True)
    print(found.question)
    console.print(listed(("", "", ""), report.totals(found)))
    if formulas:
        console.print(described((name, f"{text}   {order}") for name, text, order in formulas))
    if tree:
        console.print(listed(("part", "parameters", "flops", "share"), report.tree(found)))
    for one in exchanges:
        print(one)
    for where, floor in floors.items():
        print(f"on {where}: {floor}")
    for notice in found.notices:
        print(f"notice: {notice}")
    _say_conventions()


def _floors(found: Cost, tokens: int) -> dict[str, DecodingFloor]:
    """How fast tokens can follow each other: here, which `generate --stream` compares with, and elsewhere."""
    from regard.bench.machine import H200_BYTES
    from regard.cost.memory import bandwidth, floor_of

    speeds = {"this machine": bandwidth(), "an H200": H200_BYTES}
    return {where: floor_of(found, tokens, speed) for where, speed in speeds.items()}


def _say_conventions() -> None:
    from regard.cost import CONVENTIONS

    print("Counted so: " + ";\n  ".join(CONVENTIONS) + ".")


def _compare(out: Path | None, as_json: bool) -> None:
    from regard.cost import CONVENTIONS
    from regard.cost.compare.models import comparisons, markdown

    found = comparisons()
    if out is not None:
        out.write_text(markdown(found), encoding="utf-8")
    if as_json:
        print_json({"comparisons": [one.as_dict() for one in found], "conventions": CONVENTIONS})
        return
    print(markdown(found) if out is None else f"{out}: {len(found)} models compared")
    _say_conventions()


def _sweep(
    given: object,
    change: list[str] | None,
    text: str,
    curve: list[str] | None,
    out: Path | None,
    as_json: bool,
) -> None:
    from regard.cli.priceable import changed
    from regard.cost import CONVENTIONS, AttentionShape
    from regard.cost.sweep import figure, overtakings, sweep
    from regard.paper.figures import save_figure

    variable, _, span = text.partition("=")
    low, sign, high = span.partition(":")
    if variable != "n" or not sign:
        raise ValueError(f"sweep must be n=FIRST:LAST such as n=1k:1M, got sweep={text!r}")
    if out is not None and out.suffix.lower() not in (".png", ".svg"):
        raise ValueError(f"out must end in .png or .svg, got out={str(out)!r}")
    if curve is not None and len(set(curve)) == 1:
        raise ValueError(
            f"a sweep compares curves: give --curve twice or more, or not at all; got one, {curve[0]!r}"
        )
    for text_of_own in (one for one in curve or () if ":" in one):
        pattern_of(text_of_own)  # so that its module is imported
    what = AttentionShape(width=512, heads=8) if given is None else given
    found = sweep(changed(what, change or []), length("n", low), length("n", high), curve)
    if out is not None:
        save_figure(figure(found), out)
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
