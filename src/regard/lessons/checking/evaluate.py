"""The value of an expression at a point: exactly where it is rational, to fifty digits where it is not."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from regard.lessons.checking.nodes import BINDERS, CONSTANTS, Name, Node, Num, Op, signs

if TYPE_CHECKING:
    from mpmath import MPContext, mpf  # type: ignore[import-untyped]

BITS = 4_000  # of a number; nothing a lecture asks for comes near
LARGEST = 100_000  # argument of an exponential
TERMS = 100  # of a sum
PLACES = 50

Point = Mapping[str, int | Fraction]
Number: TypeAlias = "int | Fraction | mpf"


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
    found = value(node, at)
    if not _rational(found):
        raise IrrationalError("the value is no fraction")
    return Fraction(found)


def approximate(node: Node, at: Point) -> mpf:
    """The value to fifty digits, as an mpmath number."""
    return _real(value(node, at))


def value(node: Node, at: Point) -> Number:  # noqa: PLR0911  one line for each kind
    """The value: an int or a Fraction where it is one, else an mpmath number.

    Whole numbers stay ints: most are whole, and ints are many times faster.
    """
    if isinstance(node, Num):
        return _whole(node.value)
    if isinstance(node, Name):
        return +getattr(_mp(), node.name) if node.name in CONSTANTS and node.name not in at else at[node.name]
    if node.sign in BINDERS:
        total: Number
        total, join = (0, operator.add) if node.sign == "sum" else (1, operator.mul)
        for place in _places(node, at):
            total = _small(join(*_alike(total, value(node.args[3], place))))
        return total
    if node.sign == "cases":
        condition, then, other = node.args
        return value(then if value(condition, at) else other, at)
    args = _alike(*(value(arg, at) for arg in node.args))
    if node.sign in ("/", "%", "mod", "divides") and args[node.sign != "divides"] == 0:
        raise ZeroDivisorError("a division by zero")
    if node.sign in _SMOOTH:
        return _SMOOTH[node.sign](_real(args[0]))
    if not all(map(_rational, args)) and node.sign in ("floor", "ceil"):
        return getattr(_mp(), node.sign)(args[0])
    if node.sign not in _PLAIN:
        raise UndefinedError("no value")
    return _small(_PLAIN[node.sign](*args))


@cache
def _mp() -> MPContext:
    """Numbers of our own precision, which nobody else changes."""
    from mpmath import MPContext

    context = MPContext()
    context.dps = PLACES + 10
    return context


def _rational(one: Number) -> TypeGuard[int | Fraction]:
    return isinstance(one, int | Fraction)


def _real(one: Number) -> mpf:
    return _mp().mpf(one.numerator) / one.denominator if _rational(one) else one


def _alike(*args: Number) -> tuple[Number, ...]:
    """All of one kind: mpmath does not know fractions."""
    return args if all(map(_rational, args)) else tuple(map(_real, args))


def _whole(one: Number) -> Number:
    return one.numerator if isinstance(one, Fraction) and one.denominator == 1 else one


def _small(one: Number) -> Number:
    if _rational(one) and max(one.numerator.bit_length(), one.denominator.bit_length()) > BITS:
        raise UndefinedError("a number too large")
    return one


def _divided(a: Number, b: Number) -> Number:
    return _whole(Fraction(a) / b) if _rational(a) else a / b


def _power(base: Number, power: Number) -> Number:
    if base == 0 and power < 0:
        raise ZeroDivisorError("a division by zero")
    if not _rational(power) or power.denominator != 1 or not _rational(base):
        return _real_power(_real(base), _real(power))
    size: int = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size * abs(int(power)) > BITS and abs(base) != 1:
        raise UndefinedError("a power too large")
    return base ** int(power) if power >= 0 else _whole(Fraction(base) ** int(power))


def _real_power(a: mpf, b: mpf) -> mpf:
    if a == 0:
        return _mp().mpf(b == 0)
    if a < 0 and b != int(b):
        raise UndefinedError("a root of a negative number")
    if abs(b) * max(1, abs(_mp().log(abs(a)))) > LARGEST:
        raise UndefinedError("a power too large")
    return a**b


def _logarithm(a: mpf) -> mpf:
    if a <= 0:
        raise UndefinedError("log of a number that has none")
    return _mp().log(a)


def _root(a: mpf) -> mpf:
    if a < 0:
        raise UndefinedError("sqrt of a number that has none")
    return _mp().sqrt(a)


def _wave(name: str, a: mpf) -> mpf:
    if abs(a) > LARGEST:
        raise UndefinedError("an angle too large")
    return getattr(_mp(), name)(a)


_SMOOTH: dict[str, Callable[[mpf], mpf]] = {
    "exp": lambda a: _real_power(+_mp().e, a),
    "log": _logarithm,
    "sqrt": _root,
    "sin": lambda a: _wave("sin", a),
    "cos": lambda a: _wave("cos", a),
}
_PLAIN: dict[str, Callable[..., Number]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divided, "%": operator.mod,
    "mod": operator.mod, "^": _power, "neg": operator.neg, "abs": abs, "min": min, "max": max,
    "floor": floor, "ceil": ceil, "<": operator.lt, ">": operator.gt, "≤": operator.le, "≥": operator.ge,
    "=": operator.eq, "≠": operator.ne, "and": lambda a, b: bool(a and b), "or": lambda a, b: bool(a or b),
    "divides": lambda a, b: b % a == 0,
}  # fmt: skip


def _places(node: Op, at: Point) -> Iterator[Point]:
    """The point once for each term of a sum."""
    letter, first, last, term = node.args
    assert isinstance(letter, Name)
    most = TERMS if not BINDERS & signs(term) else TERMS * 2 // 3  # each of which is a sum
    begin, end = value(first, at), value(last, at)
    if not all(_rational(one) and one.denominator == 1 for one in (begin, end)):
        raise UndefinedError("a sum that does not end at a whole number")
    if end - begin >= most:
        raise UndefinedError(f"a sum of more than {most} terms")
    for one in range(int(begin), int(end) + 1):
        yield {**at, letter.name: one}


def same(left: Node, right: Node, at: Point) -> bool:
    """Whether two expressions have one value at a point: as fractions, else to forty digits."""
    a, b = _alike(value(left, at), value(right, at))
    return bool(a == b) if _rational(a) else close(a, b)


def close(a: Number, b: Number) -> bool:
    """Whether two values are one: to forty digits."""
    a, b = _real(a), _real(b)
    return bool(abs(a - b) <= abs(b) * 10 ** (10 - PLACES) + 10 ** (-PLACES))


def differing(left: Node, right: Node, points: Iterable[Point], until: float) -> Point | None:
    """The first point where two expressions have two values, if there is one before the time is up."""
    for at in points:
        with suppress(UndefinedError):  # a sum too long to add up
            if not same(left, right, at):
                return at
        if time.thread_time() > until:
            break
    return None


def value_or_none(node: Node, at: Point) -> Number | None:
    """The approximate value, or None where there is none."""
    try:
        return approximate(node, at)
    except UndefinedError:
        return None


def agree(node: Node, values: Iterable[tuple[Point, Node]], until: float) -> bool:
    """Whether an expression has these values, and none where they have none, until the time is up."""
    compared = 0
    for at, other in values:
        if time.thread_time() > until:
            break
        try:
            if not same(node, other, at):
                return False
            compared += 1
        except UndefinedError:
            if value_or_none(node, at) is not None or value_or_none(other, at) is not None:
                return False
    return compared > 0


def near(a: Number, b: Number) -> bool:
    """Whether one value may be the other rounded: they differ by less than a hundredth."""
    return bool(abs(a - b) <= abs(b) / 100)


def shown(at: Point, *nodes: Node) -> list[str]:
    """The values at a point for readers: all fractions, or all decimals that can be told apart."""
    found = []
    for node in nodes:
        try:
            found.append(value(node, at))
        except UndefinedError as error:
            found.append(f"nothing ({error})")
    numbers = [one for one in found if not isinstance(one, str)]
    if all(map(_rational, numbers)):
        return [one if isinstance(one, str) else _fraction(one) for one in found]
    for places in (6, 12, 24, PLACES):
        out = [one if isinstance(one, str) else _mp().nstr(_real(one), places) for one in found]
        if len(set(out)) == len(out):
            break
    return [one.removesuffix(".0").replace("-", "−") for one in out]


def _fraction(one: int | Fraction) -> str:
    text = f"{one.numerator:,}" if one.denominator == 1 and len(str(one)) <= 40 else str(one)
    return (text if len(text) <= 60 else f"a number of {len(text)} digits").replace("-", "−")
