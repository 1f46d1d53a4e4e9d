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


def unless(value: Number, special: int, count: Number) -> Number:
    """`count`, and nothing where a size has a special value.

    >>> unless(4, 1, 10), unless(1, 1, 10), unless(letter("D"), 1, 10).subs("D", 1)
    (10, 0, 0)
    """
    if not is_letter(value):
        return 0 if value == special else count
    import sympy

    return sympy.Piecewise((count, sympy.Ne(value, special)), (0, True))


def if_any(times: Number, count: Number) -> Number:
    """`count` where something is there at least once.

    >>> L = letter("L")
    >>> if_any(0, 7), if_any(L, 7), if_any(L - 1, 7).subs("L", 1)
    (0, 7, 0)
    """
    return count if is_letter(times) and _never_less(times - 1) else unless(times, 0, count)


def least(a: Number, b: Number) -> Number:
    """The smaller of two sizes."""
    return _first(a, b, "Min")


def largest(a: Number, b: Number) -> Number:
    """The larger of two sizes; of letters, which are positive, the one that is so wherever it is known.

    >>> d, h = letter("d"), letter("h")
    >>> largest(3, 5), largest(2 * d, 3 * d + h), largest(d, h)
    (5, 3*d + h, Max(d, h))
    """
    return _first(a, b, "Max")


def _first(a: Number, b: Number, name: str) -> Number:
    """Which of two sizes comes first in this order."""
    if not (is_letter(a) or is_letter(b)):
        return max(a, b) if name == "Max" else min(a, b)
    import sympy

    if _never_less(b - a):
        return b if name == "Max" else a
    if _never_less(a - b):
        return a if name == "Max" else b
    return getattr(sympy, name)(a, b)


def _never_less(difference: Expr) -> bool:
    """Whether it is surely at least 0 for letters from 1 up."""
    import sympy

    letters = sorted(difference.free_symbols, key=str)
    if not letters or not difference.is_rational_function(*letters):
        return not letters and bool(difference >= 0)
    above = difference.subs({x: x + 1 for x in letters}, simultaneous=True)
    parts = sympy.fraction(sympy.together(above))
    return all(one >= 0 for part in parts for one in sympy.Poly(part, *letters).coeffs())
