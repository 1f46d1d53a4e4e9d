"""A question to be answered by an expression: its letters, the domain on which it is asked, and the truth."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from random import Random
from typing import ClassVar

from regard.lessons.checking.evaluate import IrrationalError, Point, exact
from regard.lessons.checking.expression import Written, parse, parse_plain
from regard.lessons.checking.letters import Letters
from regard.lessons.checking.nodes import Node, Num
from regard.lessons.checking.verdict import Finding

POINTS = 600  # tried inside the domain
OUTSIDE = 120  # tried where it is not asked for


@dataclass(frozen=True)
class Domain:
    """Where a question is asked: values for each letter, and a condition on them in words and as a test.

    Where all letters grow without end (`grows`), the question is for a growth.

    >>> domain = Domain("n ≥ t", {"n": range(1, 4), "t": range(3)}, lambda at: at["n"] >= at["t"])
    >>> len(domain.points(True)), domain.points(False)
    (8, [{'n': 1, 't': 2}])
    """

    says: str
    ranges: Mapping[str, Sequence[int | Fraction]] = field(default_factory=dict)
    holds: Callable[[Point], bool] = lambda at: True  # everywhere
    grows: bool = False

    def points(self, inside: bool) -> list[Point]:
        """Points that meet the condition, or those that do not: all, or some that are drawn once for all."""
        if prod(len(values) for values in self.ranges.values()) > 50 * POINTS:  # too many to list
            random = Random(0)
            drawn = [{k: random.choice(v) for k, v in self.ranges.items()} for _ in range(POINTS)]
            return [at for at in drawn if self.holds(at) == inside]
        every = (dict(zip(self.ranges, values, strict=True)) for values in product(*self.ranges.values()))
        found: list[Point] = [at for at in every if self.holds(at) == inside]
        most = POINTS if inside else OUTSIDE
        if len(found) <= most:
            return found
        # Every k-th one would meet a letter whose range is a multiple of k in few of its values.
        return found[:9] + [found[i] for i in sorted(Random(0).sample(range(9, len(found)), most - 9))]

    def far(self) -> Iterator[Point]:
        """A few points inside with large numbers: those that are multiples of others."""
        points = self.points(True)[:: max(1, len(self.points(True)) // 4)]
        for times, at in product((97, 1009), points):
            larger = {k: v * times if isinstance(self.ranges[k], range) else v for k, v in at.items()}
            if self.holds(larger):
                yield larger


@dataclass(frozen=True, kw_only=True)
class Question:
    """What every kind of exercise has; a kind adds how answers are read and compared.

    `left` are the symbols that an answer may be written equal to (h_4 = …), `aliases` gives for a letter
    others that mean it, separated by spaces, of which those in `alike` may have several in one answer, and
    `also` gives letters that stand for a formula (d_h is d/H).
    `mistakes` gives for known wrong answers what completes "you have what one gets by …", and `accepted` for
    other right answers what is to be said about them.
    """

    name: str
    asks: str
    formula: str
    domain: Domain
    outside: str = ""
    left: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)
    alike: tuple[str, ...] = ()
    mistakes: Mapping[str, str] = field(default_factory=dict)
    accepted: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar[str] = "question"

    @property
    def letters(self) -> tuple[str, ...]:
        """What an answer may use."""
        return tuple(self.domain.ranges)

    @property
    def tried(self) -> str:
        """An answer that shows how one is written: a known mistake, which a verdict explains."""
        return next(iter(self.mistakes))

    @cached_property
    def alphabet(self) -> Letters:
        """The letters with their other spellings."""
        return Letters(self.letters, self.aliases, alike=self.alike)

    def read(self, text: str, written: str, letters: Letters | None = None) -> Written:
        """A plain text as an answer to this question; `written` is what the student wrote."""
        return parse_plain(text.replace("@", "*"), self.alphabet if letters is None else letters, written)

    def find(self, answer: Written) -> Finding:
        """Whether the answer is right, and why not."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, object]:
        """The question, without its answer."""
        return {
            "name": self.name,
            "asks": self.asks,
            "letters": list(self.letters),
            "also": {letter: self.aliases[letter] for letter in self.letters if letter in self.aliases},
            "domain": self.domain.says,
            "kind": self.kind,
        }


@dataclass(frozen=True, kw_only=True)
class Exercise(Question):
    """A question for a number or a growth.

    `count` is the truth by brute force, and holds outside the domain too; `beyond` are mistakes that show
    only there. Of a growth, `formula` is the sum that is meant, and letters in `ignores` may be left out.
    `solves` is the letter that an equation is to be solved for.
    """

    count: Callable[..., int] | None = None
    ignores: tuple[str, ...] = ()
    solves: str = ""
    beyond: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar[str] = "formula"

    @property
    def growth(self) -> bool:
        """Whether the answer is a big-O."""
        return self.domain.grows

    def read(self, text: str, written: str, letters: Letters | None = None) -> Written:
        """A plain text as an expression in the question's letters; where x is none of them, it is times."""
        if not any(letter.startswith(("x", "X")) for letter in self.letters):
            text = re.sub(r"(?<=[\d)])\s*[xX]\s*(?=[\d(])|(?<=\s)[xX](?=\s)", "*", text)
        return super().read(text, written, letters)

    def find(self, answer: Written) -> Finding:
        """Whether the answer is right, and why not."""
        from regard.lessons.checking import exact, growth

        return growth.find(self, answer) if self.growth else exact.find(self, answer)

    def truth(self) -> Node:
        """The formula, read by the same parser."""
        return self.node(self.formula)

    def node(self, formula: str) -> Node:
        """A formula of our own in the letters of this question."""
        return _parsed(formula, self.letters)

    @cached_property
    def inside(self) -> tuple[tuple[Point, Node], ...]:
        """The points of the domain, each with the truth."""
        return tuple((at, self._true(at)) for at in self.domain.points(True))

    @cached_property
    def beyond_it(self) -> tuple[tuple[Point, Node], ...]:
        """The points outside, each with what was counted there; none where nothing can be counted."""
        points = [] if self.count is None else self.domain.points(False)
        return tuple((at, self._true(at)) for at in points)

    def _true(self, at: Point) -> Node:
        """The truth at a point: as a number, where it is a fraction."""
        if self.count is not None:
            return Num(Fraction(self.count(**at)))
        try:
            return Num(exact(self.truth(), at))
        except IrrationalError:
            return self.truth()

    def as_dict(self) -> dict[str, object]:
        """The question, without its answer."""
        return super().as_dict() | {"kind": "growth" if self.growth else self.kind}


def spelled(aliases: Mapping[str, str], *questions: Question) -> tuple[Question, ...]:
    """Questions whose letters have these other spellings, beside those of their own."""
    return tuple(replace(one, aliases={**aliases, **one.aliases}) for one in questions)


@lru_cache(maxsize=1_000)
def _parsed(formula: str, letters: tuple[str, ...]) -> Node:
    return parse(formula, letters).node


def growth_domain(*letters: str, below: str = "") -> Domain:
    """All letters grow, each in its own way; `below` is a pair of which the first stays below the second.

    >>> growth_domain("d", "H", below="Hd").holds({"d": 1, "H": 2})
    False
    """
    says = f"{', '.join(letters)} → ∞" + (f", {below[0]} ≤ {below[1]}" if below else "")
    small, large = tuple(below) or letters[:1] * 2
    ranges = {letter: range(1, 2) for letter in letters}
    return Domain(says, ranges, lambda at: at[small] <= at[large], grows=True)
