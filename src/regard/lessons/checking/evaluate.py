"""The value of an expression at a point: exactly where it is rational, to fifty digits where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from regard.lessons.checking.expression import Name, Node, Num

BITS = 4_000  # of a number; nothing a lecture asks for comes near
LARGEST = 100_000  # argument of an exponential
PLACES = 50


class UndefinedError(ArithmeticError):
    """The expression has no value at this point, or none of a size that is worth computing."""


class IrrationalError(ArithmeticError):
    """The value is no fraction."""


def exact(node: Node, at: Mapping[str, int | Fraction]) -> Fraction:
    """The value as a fraction.

    >>> from regard.lessons.checking.expression import parse
    >>> exact(parse("n(n+1)/2", "n").node, {"n": 4})
    Fraction(10, 1)
    """
    if isinstance(node, Num):
        return node.value
    if isinstance(node, Name):
        if node.name == "e":
            raise IrrationalError("e")
        return Fraction(at[node.name])
    args = [exact(arg, at) for arg in node.args]
    if node.sign in ("/", "%", "mod") and args[1] == 0:
        raise UndefinedError("a division by zero")
    return _small(_rational(node.sign, args))


def _rational(sign: str, args: list[Fraction]) -> Fraction:  # noqa: PLR0911  one line for each sign
    a, b = args[0], args[-1]
    if sign == "+":
        return a + b
    if sign == "-":
        return a - b
    if sign == "*":
        return a * b
    if sign == "/":
        return a / b
    if sign in ("%", "mod"):
        return a % b
    if sign == "^":
        return _power(a, b)
    if sign in ("min", "max"):
        return min(args) if sign == "min" else max(args)
    one = {"neg": lambda x: -x, "abs": abs, "floor": floor, "ceil": ceil}.get(sign)
    if one is None:
        raise IrrationalError(sign)
    return Fraction(one(a))


def _power(base: Fraction, power: Fraction) -> Fraction:
    if power.denominator != 1:
        raise IrrationalError("a root")
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size * abs(power) > BITS and abs(base) != 1:
        raise UndefinedError("a power too large")
    if base == 0 and power < 0:
        raise UndefinedError("a division by zero")
    return base ** int(power)


def _small(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > BITS:
        raise UndefinedError("a number too large")
    return value


def approximate(node: Node, at: Mapping[str, int | Fraction]) -> Any:
    """The value to fifty digits, for roots, exponentials and logarithms (an mpmath number)."""
    from mpmath import mp  # type: ignore[import-untyped]

    with mp.workdps(PLACES + 10):
        return _float(node, at)


def _float(node: Node, at: Mapping[str, int | Fraction]) -> Any:
    from mpmath import mp

    if isinstance(node, Num):
        return mp.mpf(node.value.numerator) / node.value.denominator
    if isinstance(node, Name):
        return (
            mp.e
            if node.name == "e"
            else mp.mpf(Fraction(at[node.name]).numerator) / Fraction(at[node.name]).denominator
        )
    a, b = (args := [_float(arg, at) for arg in node.args])[0], args[-1]
    if node.sign in ("/", "%", "mod") and b == 0:
        raise UndefinedError("a division by zero")
    if node.sign in ("exp", "^"):
        if node.sign == "exp":
            a, b = mp.e, a
        if a == 0 or (a < 0 and b != int(b)):
            return (
                _float(Num(_power(Fraction(0), Fraction(int(b)))), at)
                if a == 0
                else _undefined("a root of a negative number")
            )
        if abs(b) * max(1, abs(mp.log(abs(a)))) > LARGEST:
            raise UndefinedError("a power too large")
        return a**b
    if node.sign in ("log", "sqrt") and (a < 0 or (node.sign == "log" and a == 0)):
        raise UndefinedError(f"{node.sign} of a number that has none")
    table: dict[str, Any] = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b, "%": lambda: a % b,
        "mod": lambda: a % b, "neg": lambda: -a, "abs": lambda: abs(a), "floor": lambda: mp.floor(a),
        "ceil": lambda: mp.ceil(a), "min": lambda: min(a, b), "max": lambda: max(a, b),
        "log": lambda: mp.log(a), "sqrt": lambda: mp.sqrt(a),
    }  # fmt: skip
    return table[node.sign]()


def _undefined(why: str) -> Any:
    raise UndefinedError(why)


def same(left: Node, right: Node, at: Mapping[str, int | Fraction]) -> bool:
    """Whether two expressions have one value at a point: as fractions, else to forty digits."""
    try:
        return exact(left, at) == exact(right, at)
    except IrrationalError:
        a, b = approximate(left, at), approximate(right, at)
        return bool(abs(a - b) <= abs(b) * 10 ** (10 - PLACES) + 10 ** (-PLACES))


def shown(node: Node, at: Mapping[str, int | Fraction]) -> str:
    """The value at a point as a reader expects it."""
    from mpmath import nstr

    try:
        text = str(exact(node, at))
    except IrrationalError:
        try:
            text = nstr(approximate(node, at), 6)
        except UndefinedError as error:
            return f"nothing ({error})"
    except UndefinedError as error:
        return f"nothing ({error})"
    return (text if len(text) <= 40 else f"a number of {len(text)} digits").replace("-", "−")
