"""Costs as lines of text: totals, formulas, the tree."""

from __future__ import annotations

from typing import Any

from regard.cost.formulas import big_o, written
from regard.cost.result import Cost

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
UNITS = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"))
BYTES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def totals(cost: Cost) -> list[tuple[str, str, str]]:
    """(name, exact number, about) of every count."""
    rows = [(name, getattr(cost, field), "byte" in field) for field, name in ROWS.items()]
    rows += [(f"other: {kind}", count, False) for kind, count in cost.other.items()]
    return [
        (name, f"{value:,}", about(value, in_bytes)) for name, value, in_bytes in rows if value is not None
    ]


def about(value: int, in_bytes: bool = False) -> str:
    """A large number in short.

    >>> about(272_298_589_184), about(497_759_232, in_bytes=True), about(12)
    ('272.3 G', '474.7 MiB', '')
    """
    for unit, name in BYTES if in_bytes else UNITS:
        if value >= unit:
            return f"{value / unit:,.1f} {name}"
    return ""


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
