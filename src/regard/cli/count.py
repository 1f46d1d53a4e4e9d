"""`regard count`: the exact number of pairs, the formula, and what is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.options import AsJson, Keys, PatternText, Queries, lengths, pattern_of, print_json

if TYPE_CHECKING:
    from regard.pattern.summary import Summary

Formula = Annotated[bool, typer.Option("--formula", help="Print the formula in n too.")]


def count(
    pattern: PatternText, n: Queries = "16", m: Keys = None, formula: Formula = False, as_json: AsJson = False
) -> None:
    """Count the query-key pairs that a pattern allows, beside all N·M of them.

    Example: regard count "strided(3)" -n 64k --formula
    """
    from regard.pattern.summary import summarise

    found = summarise(pattern_of(pattern), *lengths(n, m), formula=True if formula else None)
    if as_json:
        print_json(found.as_dict())
    else:
        Console(highlight=False).print(table(found, formula))


def table(found: Summary, formula: bool) -> Table:
    """The result as rows of a name and a number."""
    from regard.paper.quantities import fine_percent

    out = Table(box=None, show_header=False, padding=(0, 2, 0, 0), title_justify="left", title_style="bold")
    size = f"n = {found.n:,}" if found.n == found.m else f"the last {found.n:,} of {found.m:,} positions"
    out.title = Text(f"{found.pattern}, {size}")
    out.add_column()
    out.add_column(overflow="fold")
    kept = "all" if found.keys_kept is None else f"{found.keys_kept:,}"
    out.add_row("pairs", f"[bold]{found.pairs:,}[/]")
    out.add_row("all n² pairs" if found.n == found.m else "all n·m pairs", f"{found.dense:,}")
    if found.share is not None:
        out.add_row("share", fine_percent(found.share))
    if found.saving is not None:
        out.add_row(
            "saving", f"{found.saving:,.4g}× fewer" if found.saving < 1000 else f"{found.saving:,.0f}× fewer"
        )
    out.add_row("keys kept when decoding", kept)
    if formula:
        for name, written in (("formula", found.formula), ("in letters", found.letters)):
            if written is not None and (name == "formula" or written != found.formula):
                for i, line in enumerate([*written.lines, *written.where]):
                    out.add_row("" if i else name, Text(line))
        if found.no_formula is not None:
            out.add_row("formula", Text(f"none: {found.no_formula}"))
    return out
