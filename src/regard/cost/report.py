"""Costs as lines of text: totals, formulas, the tree."""

from __future__ import annotations

from html import escape

from regard.cost.formulas import big_o
from regard.cost.result import Cost
from regard.layers.letters import Number
from regard.paper import pages
from regard.paper.formulas import written
from regard.paper.quantities import about

ROWS = {
    "parameters": "parameters",
    "active_parameters": "active parameters",
    "multiplies": "multiplies",
    "adds": "adds",
    "flops": "flops",
    "macs": "MACs",
    "pairs": "pairs",
    "weight_bytes": "weight bytes",
    "activation_bytes": "activation bytes (estimate)",
    "cache_bytes": "cache bytes",
    "moved_bytes": "bytes moved at least",
    "exchanged_bytes": "exchanged bytes",
    "depth": "depth, steps in sequence",
}


def counts(cost: Cost) -> list[tuple[str, str, Number, bool]]:
    """(field, name, value, whether it is bytes) of every count that is known and is no other's double."""
    rows = [(field, name, getattr(cost, field), "byte" in field) for field, name in ROWS.items()]
    rows += [(f"other.{kind}", f"other: {kind}", count, False) for kind, count in cost.other.items()]
    return [
        row
        for row in rows
        if row[2] is not None
        and not (row[0] == "active_parameters" and row[2] == cost.parameters)
        and (row[0] != "exchanged_bytes" or row[2] != 0)
    ]


def totals(cost: Cost) -> list[tuple[str, str, str]]:
    """(name, exact number, about) of every count."""
    return [
        (name, f"{value:,}", about(value, in_bytes)) if isinstance(value, int) else (name, written(value), "")
        for _, name, value, in_bytes in counts(cost)
    ]


def _counted(cost: Cost) -> list[tuple[str, str, str]]:
    return [row for row in totals(cost) if row[1] != "0"]


def text(cost: Cost) -> str:
    """For how much, the counts that are not zero as aligned lines, and notices.

    >>> print(text(Cost(parameters=12, multiplies=6_000_000, adds=3)))
    parameters         12
    multiplies  6,000,000  6.0 M
    adds                3
    flops       6,000,003  6.0 M
    """
    rows = _counted(cost)
    wide = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    lines = [f"{a:{wide[0]}}  {b:>{wide[1]}}  {c:>{wide[2]}}".rstrip() for a, b, c in rows]
    asked = [] if cost.question is None else [str(cost.question)]
    return "\n".join([*asked, *lines, *(f"notice: {notice}" for notice in cost.notices)]) or "no cost"


def html(cost: Cost) -> str:
    """The same as tables: the counts and, where there are parts, each part's share."""
    out = [] if cost.question is None else [f"<p>{escape(str(cost.question))}</p>"]
    out.append(pages.table(("", "exactly", "about"), _counted(cost)))
    numeric = isinstance(cost.flops, int) and all(isinstance(part.flops, int) for _, _, part in cost.walk())
    if cost.parts and numeric:
        out.append(pages.table(("part", "parameters", "flops", "share"), tree(cost)))
    return "\n".join([*out, *(f"<p>{escape(notice)}</p>" for notice in cost.notices)])


def formulas(cost: Cost, letters: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """(name, formula, O(…)) of every count that is not zero."""
    found = cost.formula(*letters)
    rows = [(name, getattr(found, field)) for field, name in ROWS.items()]
    rows = [row for row in rows if row[0] != ROWS["active_parameters"] or found.idle_parameters != 0]
    return [(name, written(value), _order(value)) for name, value in rows if value != 0]


def _order(value: Number) -> str:
    try:
        return big_o(value)
    except ValueError:
        return ""


def tree(cost: Cost) -> list[tuple[str, str, str, str]]:
    """(indented name, parameters, flops, share of the flops) of every part."""
    whole = max(1, cost.flops)
    rows = [("all", cost)] + [("  " * (level + 1) + name, part) for level, name, part in cost.walk()]
    return [
        (name, f"{part.parameters:,}", f"{part.flops:,}", f"{part.flops / whole:.1%}") for name, part in rows
    ]
