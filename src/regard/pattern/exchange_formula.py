"""How many keys ranks exchange, as a formula in n: a line, once the pattern repeats inside every stretch."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from regard.pattern.dealing import Deal, dealt
from regard.pattern.exchange import exchange
from regard.pattern.formulas import settling

if TYPE_CHECKING:
    import sympy

    from regard.pattern.base import Pattern

LONGEST = 1 << 26  # positions of the longest plan that is made to find a formula
LOOKED_AT = (1, 2, 3, 5)  # times the least length


@dataclass(frozen=True)
class ExchangeFormula:
    """slope · n + constant keys, for every multiple n of `step` from `start` on, dealt out as it says.

    A key is needed by a rank or not: the keys of a stretch of queries are those at its edges, as many for any
    length, and those of whole stretches and residues, in proportion to it.

    >>> from regard.pattern import Causal, Strided
    >>> str(exchange_formula((Strided(back=256),), 0, 8)), str(exchange_formula((Causal(),), 0, 8))
    ('1792', '21*n/4')
    """

    slope: Fraction
    constant: int
    step: int
    start: int
    deal: str

    def keys(self, n: sympy.Expr) -> sympy.Expr:
        """The number of keys."""
        from sympy import Rational

        return Rational(self.slope.numerator, self.slope.denominator) * n + self.constant

    @property
    def where(self) -> str:
        """For which n it holds."""
        return f"n a multiple of {self.step:,} from {self.start:,} on, dealt {self.deal}"

    def __str__(self) -> str:
        from sympy import Symbol

        return str(self.keys(Symbol("n")))


@lru_cache(maxsize=256)
def exchange_formula(
    patterns: tuple[Pattern, ...], which: int, ranks: int, deal: str = "auto"
) -> ExchangeFormula:
    """The formula of one of the patterns that share a sequence, dealt "even", "zigzag" or as for long ones.

    Plans of four lengths are made; a ValueError says where they do not lie on a line, or would be too long.
    """
    if deal not in ("auto", "even", "zigzag"):
        raise ValueError(f"formulas are for deals even and zigzag, got {deal=}")
    settled = [settling(one) for one in patterns]
    period = settled[which][0]
    step = 2 * ranks * period
    least = max(sum(one) for one in settled)  # of a stretch, so that its edges do not meet
    start = -(-2 * ranks * least // step) * step
    if start * LOOKED_AT[-1] > LONGEST:
        raise ValueError(
            f"{patterns[which]} on {ranks} ranks settles after {start:,} positions; "
            f"formulas stop at {LONGEST // LOOKED_AT[-1]:,}"
        )
    name = deal if deal != "auto" else dealt(patterns, start * LOOKED_AT[-1], ranks).name
    made: list[int] = []
    for times in LOOKED_AT:
        found = Deal.even(start * times, ranks) if name == "even" else Deal.zigzag(start * times, ranks)
        made.append(exchange(patterns[which], start * times, ranks, found).keys)
    slope = Fraction(made[1] - made[0], start)
    constant = made[0] - slope * start
    if any(slope * start * times + constant != keys for times, keys in zip(LOOKED_AT, made, strict=True)):
        raise ValueError(f"the keys that {patterns[which]} needs on {ranks} ranks are on no line: {made}")
    return ExchangeFormula(slope, int(constant), step, start, name)
