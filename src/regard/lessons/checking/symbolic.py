"""Whether two expressions are one function: as sympy values that we build ourselves, of bounded size."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from regard.lessons.checking.nodes import CONSTANTS, Name, Node, Num, Op, names

if TYPE_CHECKING:
    import sympy

MOST_TERMS = 3_000  # of a polynomial that is multiplied out
PLAIN = {"+", "-", "*", "/", "^", "neg"}


def to_sympy(node: Node) -> sympy.Expr:
    """The same expression as a sympy value, built piece by piece.

    >>> from regard.lessons.checking.expression import parse
    >>> to_sympy(parse("n(n+1)/2", "n").node)
    n*(n + 1)/2
    """
    import sympy

    if isinstance(node, Num):
        return sympy.Rational(node.value.numerator, node.value.denominator)
    if isinstance(node, Name):
        return {"e": sympy.E, "pi": sympy.pi}.get(node.name, sympy.Symbol(node.name))
    args = [to_sympy(arg) for arg in node.args]
    build = {
        "+": sympy.Add, "*": sympy.Mul, "^": sympy.Pow, "min": sympy.Min, "max": sympy.Max, "mod": sympy.Mod,
        "%": sympy.Mod, "floor": sympy.floor, "ceil": sympy.ceiling, "abs": sympy.Abs, "sqrt": sympy.sqrt,
        "exp": sympy.exp, "log": sympy.log, "sin": sympy.sin, "cos": sympy.cos,
        "-": lambda a, b: a - b, "/": lambda a, b: a / b, "neg": lambda a: -a,
    }  # fmt: skip
    return build[node.sign](*args)


def degree(node: Node) -> int | None:
    """A bound on the degree of numerator and denominator; None where it is no rational function."""
    if isinstance(node, Num):
        return 0
    if isinstance(node, Name):
        return None if node.name in CONSTANTS else 1
    if node.sign not in PLAIN:
        return None
    if node.sign == "^":
        base, power = degree(node.args[0]), node.args[1]
        sign = 1
        while isinstance(power, Op) and power.sign == "neg":
            power, sign = power.args[0], -sign
        whole = isinstance(power, Num) and power.value.denominator == 1
        return None if base is None or not whole else base * abs(int(power.value))  # type: ignore[union-attr]
    degrees = [degree(arg) for arg in node.args]
    return None if None in degrees else sum(degrees)  # type: ignore[arg-type]


def identical(left: Node, right: Node) -> bool | None:
    """Whether two rational functions are the same; None where that is open: too large, or not rational.

    >>> from regard.lessons.checking.expression import parse
    >>> identical(parse("n(n+1)/2", "n").node, parse("n^2/2 + n/2", "n").node)
    True
    """
    import sympy

    both = Op("-", (left, right))
    size, letters = degree(both), len(names(both))
    if size is None or comb(size + letters, letters) > MOST_TERMS or _numbers(both) > 60:
        return None
    top, _ = sympy.fraction(sympy.together(to_sympy(both)))
    return bool(sympy.expand(top) == 0)


def _numbers(node: Node) -> int:
    """How many leaves there are."""
    return sum(_numbers(arg) for arg in node.args) if isinstance(node, Op) else 1
