"""`pairs(n)` as a formula: the lectures' closed forms, and a derived quasi-polynomial for expressions.

For an expression, pairs(n) − pairs(n−1) is the number of keys that query n−1 sees up to itself plus the
number of earlier queries that see key n−1. Both are counted for all small n at once. From some n on,
pairs(n) is a quadratic on each residue class of n; it is found by exact interpolation and checked on
further points, and what comes before is written as pieces of its own.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern import looking
from regard.pattern.counting import RowCounter
from regard.pattern.residues import prefix
from regard.pattern.spans import Span
from regard.pattern.work import TooMuchError, Work

if TYPE_CHECKING:
    import sympy

    from regard.pattern.base import Atom, Pattern  # for their types alone: a pattern asks this file

MOST_PERIOD = 5_040
MOST_THRESHOLD = 65_536
MOST_CASES = 1_000  # before the general one: each takes sympy about a millisecond
QUICK_PERIOD, QUICK_THRESHOLD = 256, 512  # up to which nobody has to wait

Quadratic = tuple[Fraction, Fraction, Fraction]  # the factors of 1, n, n²


def formula(pattern: Pattern, symbolic: bool) -> sympy.Expr:
    """The formula of any pattern that has one."""
    from sympy import Symbol

    n = Symbol("n")
    atoms = pattern.atoms()
    if pattern == atoms[0]:
        return _single(atoms[0], n, symbolic)
    if symbolic:
        raise ValueError(f"letters are kept for single values only, got the expression {pattern}")
    for atom in atoms:
        atom.closed_form(n, numbers(atom))  # raises, and says why, where a part has none
    return _derived(pattern, n)


def is_quick(pattern: Pattern) -> bool:
    """Whether the formula, or the reason why there is none, takes no time to speak of."""
    atoms = pattern.atoms()
    if pattern == atoms[0]:
        return True
    if not all(atom.gives("spans") for atom in atoms):  # every pair is looked at
        return False
    try:
        period, back, first = settling(pattern)
    except ValueError:
        return True
    return (period <= QUICK_PERIOD and back + first <= QUICK_THRESHOLD) or period > MOST_PERIOD


def _single(atom: Atom, n: sympy.Symbol, symbolic: bool) -> sympy.Expr:
    from sympy import Symbol

    if symbolic:
        letters = {name: Symbol(letter) for name, letter in atom.letters.items()}
        return atom.closed_form(n, numbers(atom) | letters)
    whole = Symbol("n", integer=True, positive=True)  # lets sympy drop conditions that always hold
    out = atom.closed_form(whole, numbers(atom))
    if out.is_Piecewise:
        out = out.func(*((_tidy(piece, whole), when) for piece, when in out.args))
    else:
        out = _tidy(out, whole)
    return out.xreplace({whole: n})


def _tidy(piece: sympy.Expr, n: sympy.Symbol) -> sympy.Expr:
    """n(n+1)/2 rather than n²/2 + n/2, but 4n − 6 rather than 2(2n − 3)."""
    from sympy import Poly

    if not piece.is_polynomial(n):
        return piece
    return piece.factor() if Poly(piece, n).degree() == 2 else piece.expand()


def numbers(atom: Atom) -> dict[str, sympy.Expr]:
    """The fields of a value that are whole numbers, for its closed form."""
    from sympy import Integer

    values = {field.name: getattr(atom, field.name) for field in fields(atom)}
    return {name: Integer(value) for name, value in values.items() if isinstance(value, int)}


def settling(pattern: Pattern) -> tuple[int, int, int]:
    """(period, how far back, how many first positions) of an expression; ValueError where one is silent."""
    periods, horizons = [], []
    for atom in pattern.atoms():
        if atom.period is None or atom.horizon is None:
            from sympy import Symbol

            atom.closed_form(Symbol("n"), numbers(atom))  # a better reason, where it has none at all
            raise ValueError(f"{pattern} has no formula in n: {atom} does not give its period and horizon")
        periods.append(atom.period)
        horizons.append(atom.horizon)
    return lcm(*periods), max(back for back, _ in horizons), max(first for _, first in horizons)


def totals(pattern: Pattern, stop: int) -> list[int]:
    """pairs(0), pairs(1), …, pairs(stop − 1), all at once."""
    position = torch.arange(stop - 1)
    if not all(atom.gives("spans") and atom.above(position) is not None for atom in pattern.atoms()):
        return looking.totals(pattern, stop)
    work = Work.quick()
    below = RowCounter(pattern, stop, work).rows(position, end=position + 1)

    def earlier(atom: Atom, key: Tensor) -> list[Span]:
        queries = atom.above(key)
        assert queries is not None
        return [Span(*queries)]

    above = RowCounter(pattern, stop, work).rows(position, end=position, spans_of=earlier)
    return prefix(below + above).tolist()


@lru_cache(maxsize=256)
def _derived(pattern: Pattern, n: sympy.Symbol) -> sympy.Expr:
    from sympy import Piecewise

    period, back, first = settling(pattern)
    settles = back + first
    if period > MOST_PERIOD:
        raise ValueError(f"{pattern} repeats after {period:,} positions; formulas stop at {MOST_PERIOD:,}")
    if settles > MOST_THRESHOLD:
        raise ValueError(
            f"{pattern} settles after {settles:,} positions; formulas stop at {MOST_THRESHOLD:,}"
        )
    settled = settles + period
    try:
        values = totals(pattern, settled + 6 * period + 1)
    except TooMuchError:
        raise ValueError(f"{pattern} takes too long to count: {len(pattern.atoms())} values") from None
    shorter = (p for p in range(1, period + 1) if period % p == 0 and _repeats(values, settled, p))
    period = next(shorter, period)
    classes = [_through(values, range(settled + r, len(values), period)) for r in range(period)]
    classes = [classes[(r - settled) % period] for r in range(period)]  # by n mod period

    def holds(at: int) -> bool:
        return _value(classes[at % period], at) == values[at]

    if not all(holds(at) for at in range(settled, len(values))):
        raise ValueError(f"{pattern} does not repeat as period and horizon promise: see check_pattern")
    start = settled
    while start > 1 and holds(start - 1):
        start -= 1
    runs = _runs(values, start)
    if len(runs) > MOST_CASES:
        raise ValueError(
            f"{pattern} has {len(runs):,} cases before it settles at n = {start:,}; "
            f"formulas stop at {MOST_CASES:,}"
        )
    early = [(_tidy(_polynomial(piece, n), n), last) for piece, last in runs]
    late = _classes(classes, n)
    if not early:
        return late
    if late.is_Piecewise:
        return Piecewise(*((piece, n <= last) for piece, last in early), *late.args)
    # Written from the general case down, as in the lectures: 4n − 6 for n > 3, else n(n+1)/2.
    pieces = [piece for piece, _ in early] + [late]
    starts = [last for _, last in early]
    down = [(piece, n > last) for piece, last in zip(pieces[:0:-1], starts[::-1], strict=True)]
    return Piecewise(*down, (pieces[0], True))


def _repeats(values: list[int], start: int, period: int) -> bool:
    """Whether third differences at distance `period` vanish from `start` on."""
    v = torch.tensor(values[start:])
    for _ in range(3):
        v = v[period:] - v[:-period]
    return len(v) > 0 and not bool(v.any())


def _through(values: list[int], where: range) -> Quadratic:
    """The quadratic through the first three of the places."""
    (x0, y0), (x1, y1), (x2, y2) = ((Fraction(x), Fraction(values[x])) for x in where[:3])
    second = ((y2 - y1) / (x2 - x1) - (y1 - y0) / (x1 - x0)) / (x2 - x0)
    first = (y1 - y0) / (x1 - x0) - second * (x0 + x1)
    return y0 - first * x0 - second * x0**2, first, second


def _value(quadratic: Quadratic, at: int) -> Fraction:
    c0, c1, c2 = quadratic
    return c0 + c1 * at + c2 * at**2


def _runs(values: list[int], stop: int) -> list[tuple[Quadratic, int]]:
    """Cut 1 ≤ n < stop into the longest runs with one quadratic each, as (quadratic, last n).

    A run may reach beyond `stop`, where the general case holds too, if it is a law and not a mere
    interpolation: if it meets a fourth value. For a run from the start, pairs(0) = 0 is such a value.
    """
    out = []
    start = 1
    while start < stop:
        law = _through(values, range(start, start + 3))
        end = start + 3
        while end < len(values) and _value(law, end) == values[end]:
            end += 1
        if end > stop and end == start + 3 and not (start == 1 and _value(law, 0) == 0):
            end = stop
            law = (
                _line(values, start)
                if end - start == 2
                else (Fraction(values[start]), Fraction(0), Fraction(0))
            )
        out.append((law, end - 1))
        start = end
    return out


def _line(values: list[int], at: int) -> Quadratic:
    slope = Fraction(values[at + 1] - values[at])
    return values[at] - slope * at, slope, Fraction(0)


def _polynomial(quadratic: Quadratic, x: sympy.Expr) -> sympy.Expr:
    from sympy import Rational

    c0, c1, c2 = (Rational(c.numerator, c.denominator) for c in quadratic)
    return c0 + c1 * x + c2 * x**2


def _classes(classes: list[Quadratic], n: sympy.Symbol) -> sympy.Expr:
    """One expression for all residues r: the factors as polynomials in r, cut where they change."""
    from sympy import Add, Mod, Piecewise, Rational

    period = len(classes)
    if period == 1:
        return _tidy(_polynomial(classes[0], n), n)
    r = Mod(n, period)
    monomials = [[r**i * n**degree for i in range(3)] for degree in range(3)]
    pieces = []
    start = 0
    while start < period:
        fits: list[Quadratic] = []
        length = period - start
        for degree in range(3):
            fit, length = _fit(classes, degree, start, length)  # no further than the ones before
            fits.append(_moved(fit, start))
        terms = [
            Rational(factor.numerator, factor.denominator) * monomials[degree][i]
            for degree, fit in enumerate(fits)
            for i, factor in enumerate(fit)
            if factor
        ]
        start += length
        pieces.append((Add(*terms), r < start if start < period else True))
    return Piecewise(*pieces)


def _fit(classes: list[Quadratic], degree: int, start: int, most: int) -> tuple[Quadratic, int]:
    """The quadratic through the first values from `start` on, and how many of at most `most` it meets."""
    known = [quadratic[degree] for quadratic in classes[start : start + min(3, most)]]
    y0 = known[0]
    d1 = known[1] - y0 if len(known) > 1 else Fraction(0)
    d2 = (known[2] - 2 * known[1] + y0) / 2 if len(known) > 2 else Fraction(0)
    piece = (y0, d1 - d2, d2)
    length = len(known)
    while length < most and _value(piece, length) == classes[start + length][degree]:
        length += 1
    return piece, length


def _moved(quadratic: Quadratic, start: int) -> Quadratic:
    """The same counted from 0 on, where it was counted from `start`."""
    c0, c1, c2 = quadratic
    return c0 - c1 * start + c2 * start**2, c1 - 2 * c2 * start, c2
