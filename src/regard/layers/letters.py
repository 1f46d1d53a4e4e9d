"""Sizes that may be letters: whole numbers, or expressions of sympy where a formula is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from regard.errors import check_int

if TYPE_CHECKING:
    from sympy import Expr, Symbol

Number: TypeAlias = "int | Expr"  # a text, so that sympy waits until a letter is used
HeadSizes = tuple[Number, Number, Number]  # heads, kv_heads, head_width


def letter(name: str) -> Symbol:
    """A letter without assumptions, as `Pattern.formula` uses them."""
    import sympy

    return sympy.Symbol(name)


def is_letter(value: object) -> bool:
    """Whether a size is an expression; sympy is not imported to find out."""
    return type(value).__module__.partition(".")[0] == "sympy"


def size(name: str, value: Number | str) -> Number:
    """A whole number of at least 1, or a letter: its name or an expression.

    >>> size("width", 8), size("width", "d")
    (8, d)
    """
    if isinstance(value, str):
        if not value.isidentifier():
            raise ValueError(f"{name} must be a whole number or a letter, got {name}={value!r}")
        return letter(value)
    check_size(name, value)
    return value


def check_size(name: str, value: Number, least: int = 1) -> None:
    """Raise unless `value` is a whole number of at least `least`, or an expression."""
    if not is_letter(value):
        check_int(name, value, least)


def ratio(a: Number, b: Number) -> Number:
    """a / b where b divides a."""
    return a / b if is_letter(a) or is_letter(b) else a // b


def divides(part: Number, whole: Number) -> bool:
    """Whether a size divides another; of letters it is taken for granted."""
    return is_letter(part) or is_letter(whole) or whole % part == 0
