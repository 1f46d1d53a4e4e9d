"""Costs as lines of text: totals, formulas, the tree."""

from __future__ import annotations

from typing import Any

from regard.cost.formulas import big_o
from regard.cost.result import Cost
from regard.paper.formulas import written
from regard.paper.quantities import about

ROWS = {
    "parameters": "parameters",
    "multiplies": "multiplies",
    "adds": "adds",
    "flops": "flops",
    "macs": "MACs",
    "pairs": "pairs",
    "weight_bytes": "weight bytes",
    "activation_bytes": "activation bytes (estimate)",
    "cache_bytes": "cache bytes",
    "moved_bytes": "bytes moved at least",
    "depth": "depth, steps in sequence",
}


def totals(cost: Cost) -> list[tuple[str, str, str]]:
    """(name, exact number, about) of every count."""
    rows = [(name, getattr(cost, field), "byte" in field) for field, name in ROWS.items()]
    rows += [(f"other: {kind}", count, False) for kind, count in cost.other.items()]
    return [
        (name, f"{value:,}", about(value, in_bytes)) for name, value, in_bytes in rows if value is not None
    ]


def formulas(cost: Cost, letters: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """(name, formula, O(…)) of every count that is not zero."""
    found = cost.formula(*letters)
    rows = [(name, getattr(found, field)) for field, name in ROWS.items()]
    return [(name, written(value), _order(value)) for name, value in rows if value != 0]


def _order(value: Any) -> str:
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
