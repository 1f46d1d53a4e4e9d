"""A question to be answered by an expression: its letters, the domain on which it is asked, and the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from regard.lessons.checking.expression import Node, parse

POINTS = 600  # tried inside the domain, and as many outside
Values = Mapping[str, int | Fraction]


def everywhere(at: Values) -> bool:
    """The whole of the ranges."""
    return True


@dataclass(frozen=True)
class Domain:
    """Where a question is asked: values for each letter, and a condition on them in words and as a test.

    >>> domain = Domain("n ≥ t", {"n": range(1, 4), "t": range(3)}, lambda at: at["n"] >= at["t"])
    >>> len(domain.points(True)), domain.points(False)
    (8, [{'n': 1, 't': 2}])
    """

    says: str
    ranges: Mapping[str, range | tuple[Fraction, ...]]
    holds: Callable[[Values], bool] = everywhere

    def points(self, inside: bool) -> list[dict[str, Any]]:
        """Points that meet the condition, or those that do not: all of them, or evenly chosen ones."""
        found = [at for at in self._all() if self.holds(at) == inside]
        step = -(-len(found) // POINTS) if found else 1
        return found[::step]

    def _all(self) -> Iterator[dict[str, Any]]:
        for values in product(*self.ranges.values()):
            yield dict(zip(self.ranges, values, strict=True))


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One question; `count` is the truth by brute force where there is one, and holds outside the domain too.

    With `growth` the answer is a big-O, and `formula` is the sum whose growth is meant.
    """

    name: str
    asks: str
    formula: str
    domain: Domain
    count: Callable[..., int] | None = None
    outside: str = ""  # what holds where the condition fails
    growth: bool = False
    aliases: tuple[tuple[str, str], ...] = ()

    @property
    def letters(self) -> tuple[str, ...]:
        """What an answer may use."""
        return tuple(self.domain.ranges)

    def read(self, text: str) -> Any:
        """An answer as an expression in the letters of this question."""
        for other, letter in self.aliases:
            text = text.replace(other, letter)
        return parse(text, self.letters)

    def truth(self) -> Node:
        """The formula, read by the same parser."""
        return parse(self.formula, self.letters).node

    def as_dict(self) -> dict[str, Any]:
        """The question, without its answer."""
        return {
            "name": self.name,
            "asks": self.asks,
            "letters": list(self.letters),
            "domain": self.domain.says,
        }


def growth_domain(*letters: str) -> Domain:
    """All letters grow, each in its own way."""
    return Domain(f"{', '.join(letters)} → ∞", {letter: range(1, 2) for letter in letters})
