"""The value of an expression at a point: exactly where it is rational, to fifty digits where it is not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from regard.lessons.checking.nodes import Name, Node, Num, Op, signs

BITS = 4_000  # of a number; nothing a lecture asks for comes near
LARGEST = 100_000  # argument of an exponential
TERMS = 100  # of a sum
PLACES = 50

Point = Mapping[str, int | Fraction]


class UndefinedError(ArithmeticError):
    """The expression has no value at this point, or none of a size that is worth computing."""


class ZeroDivisorError(UndefinedError):
    """A division by zero."""


class IrrationalError(ArithmeticError):
    """The value is no fraction."""


def exact(node: Node, at: Point) -> Fraction:
    """The value as a fraction.

    >>> from regard.lessons.checking.expression import parse
    >>> exact(parse("n(n+1)/2", "n").node, {"n": 4})
    Fraction(10, 1)
    """
    return Fraction(_exact(node, at))


def _exact(node: Node, at: Point) -> int | Fraction:
    """The same, whole numbers as int: most are whole, and ints are many times faster."""
    if isinstance(node, Num):
        return _whole(node.value)
    if isinstance(node, Name):
        if node.name == "e":
            raise IrrationalError("e")
        return at[node.name]
    if node.sign == "sum":
        total: int | Fraction = 0
        for place in _places(node, at):
            total = _small(total + _exact(node.args[3], place))
        return total
    args = [_exact(arg, at) for arg in node.args]
    if node.sign in ("/", "%", "mod") and args[1] == 0:
        raise ZeroDivisorError("a division by zero")
    return _small(_rational(node.sign, args))


def _whole(value: int | Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


def _rational(sign: str, args: list[int | Fraction]) -> int | Fraction:  # noqa: PLR0911  one line for each sign
    a, b = args[0], args[-1]
    if sign == "+":
        return a + b
    if sign == "-":
        return a - b
    if sign == "*":
        return a * b
    if sign == "/":
        return _whole(Fraction(a) / b)
    if sign in ("%", "mod"):
        return a % b
    if sign == "^":
        return _power(a, b)
    if sign in ("min", "max"):
        return min(args) if sign == "min" else max(args)
    one = {"neg": lambda x: -x, "abs": abs, "floor": floor, "ceil": ceil}.get(sign)
    if one is None:
        raise IrrationalError(sign)
    return one(a)


def _power(base: int | Fraction, power: int | Fraction) -> int | Fraction:
    if power.denominator != 1:
        raise IrrationalError("a root")
    size: int = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size * abs(int(power)) > BITS and abs(base) != 1:
        raise UndefinedError("a power too large")
    if base == 0 and power < 0:
        raise ZeroDivisorError("a division by zero")
    return base ** int(power) if power >= 0 else _whole(Fraction(base) ** int(power))


def _small(value: int | Fraction) -> int | Fraction:
    if value.numerator.bit_length() > BITS or value.denominator.bit_length() > BITS:
        raise UndefinedError("a number too large")
    return value


def _places(node: Op, at: Point) -> Iterator[Point]:
    """The point once for each term of a sum."""
    letter, first, last, term = node.args
    assert isinstance(letter, Name)
    most = TERMS if "sum" not in signs(term) else TERMS * 2 // 3  # each of which is a sum
    try:
        begin, end = exact(first, at), exact(last, at)
    except IrrationalError:
        begin = end = Fraction(1, 2)
    if begin.denominator != 1 or end.denominator != 1:
        raise UndefinedError("a sum that does not end at a whole number")
    if end - begin >= most:
        raise UndefinedError(f"a sum of more than {most} terms")
    for value in range(int(begin), int(end) + 1):
        yield {**at, letter.name: value}


def approximate(node: Node, at: Point) -> Any:
    """The value to fifty digits, for roots, exponentials and logarithms (an mpmath number)."""
    from mpmath import mp  # type: ignore[import-untyped]

    with mp.workdps(PLACES + 10):
        try:
            value = _exact(node, at)
        except IrrationalError:
            return _float(node, at)
        return mp.mpf(value.numerator) / value.denominator


def _float(node: Node, at: Point) -> Any:
    from mpmath import mp

    if isinstance(node, Num):
        return mp.mpf(node.value.numerator) / node.value.denominator
    if isinstance(node, Name):
        if node.name == "e":
            return mp.e
        value = Fraction(at[node.name])
        return mp.mpf(value.numerator) / value.denominator
    if node.sign == "sum":
        return sum((_float(node.args[3], place) for place in _places(node, at)), mp.mpf(0))
    a, b = (args := [_float(arg, at) for arg in node.args])[0], args[-1]
    if node.sign in ("/", "%", "mod") and b == 0:
        raise ZeroDivisorError("a division by zero")
    if node.sign in ("exp", "^"):
        return _float_power(*((mp.e, a) if node.sign == "exp" else (a, b)))
    if node.sign in ("log", "sqrt") and (a < 0 or (node.sign == "log" and a == 0)):
        raise UndefinedError(f"{node.sign} of a number that has none")
    if node.sign in ("sin", "cos") and abs(a) > LARGEST:
        raise UndefinedError("an angle too large")
    table: dict[str, Any] = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b, "%": lambda: a % b,
        "mod": lambda: a % b, "neg": lambda: -a, "abs": lambda: abs(a), "floor": lambda: mp.floor(a),
        "ceil": lambda: mp.ceil(a), "min": lambda: min(a, b), "max": lambda: max(a, b),
        "log": lambda: mp.log(a), "sqrt": lambda: mp.sqrt(a), "sin": lambda: mp.sin(a),
        "cos": lambda: mp.cos(a),
    }  # fmt: skip
    return table[node.sign]()


def _float_power(a: Any, b: Any) -> Any:
    from mpmath import mp

    if a == 0:
        if b < 0:
            raise ZeroDivisorError("a division by zero")
        return mp.mpf(b == 0)
    if a < 0 and b != int(b):
        raise UndefinedError("a root of a negative number")
    if abs(b) * max(1, abs(mp.log(abs(a)))) > LARGEST:
        raise UndefinedError("a power too large")
    return a**b


def same(left: Node, right: Node, at: Point) -> bool:
    """Whether two expressions have one value at a point: as fractions, else to forty digits."""
    try:
        return _exact(left, at) == _exact(right, at)
    except IrrationalError:
        return close(approximate(left, at), approximate(right, at))


def close(a: Any, b: Any) -> bool:
    """Whether two approximate values are one: to forty digits."""
    return bool(abs(a - b) <= abs(b) * 10 ** (10 - PLACES) + 10 ** (-PLACES))


def value_or_none(node: Node, at: Point) -> Any:
    """The approximate value, or None where there is none."""
    try:
        return approximate(node, at)
    except UndefinedError:
        return None


def agree(node: Node, values: Iterable[tuple[Point, Node]], until: float) -> bool:
    """Whether an expression has these values, and none where they have none, until the time is up."""
    compared = 0
    for at, other in values:
        if time.monotonic() > until:
            break
        try:
            if not same(node, other, at):
                return False
            compared += 1
        except UndefinedError:
            if value_or_none(node, at) is not None or value_or_none(other, at) is not None:
                return False
    return compared > 0


def near(a: Any, b: Any) -> bool:
    """Whether one value may be the other rounded: they differ by less than a hundredth."""
    return bool(abs(a - b) <= abs(b) / 100)


def shown(node: Node, at: Point) -> str:
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
    if text.lstrip("-").isdigit() and len(text) <= 40:
        text = f"{int(text):,}"
    return (text if len(text) <= 60 else f"a number of {len(text)} digits").replace("-", "−")
