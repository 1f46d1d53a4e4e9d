"""Why an answer is wrong: it equals what a known mistake gives, or misses the truth in a simple way.

Nothing is guessed from how the answer is written. A mistake is a formula of its own, and the answer is
compared with it as it is compared with the truth.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from regard.lessons.checking.evaluate import (
    Number,
    Point,
    agree,
    approximate,
    close,
    exact,
    near,
    value_or_none,
)
from regard.lessons.checking.exercise import Exercise
from regard.lessons.checking.nodes import Name, Node, Num, Op

Points = Sequence[tuple[Point, Node]]


@dataclass(frozen=True)
class Failure:
    """An answer with a point where it is not the truth.

    Its value there is worked out once: most explanations fail there, and need no more points.
    """

    node: Node
    at: Point
    true: Node
    until: float  # by when all must be said

    @cached_property
    def value(self) -> Number | None:
        """The value at the point, or None."""
        return value_or_none(self.node, self.at)

    def fits(self, here: Node, everywhere: Iterable[tuple[Point, Node]]) -> bool:
        """Whether the answer has another value here and, if so, other values at all points."""
        other = value_or_none(here, self.at)
        if self.value is None or other is None:
            return self.value is other and agree(self.node, everywhere, self.until)
        return close(self.value, other) and agree(self.node, everywhere, self.until)


def diagnosed(exercise: Exercise, failure: Failure, known: Mapping[str, str], points: Points) -> str:
    """What is said of the first formula whose values the answer has at all points; empty if there is none."""
    for formula, says in known.items():
        node = exercise.node(formula)
        if failure.fits(node, ((at, node) for at, _ in points)):
            return says
    return ""


def explained(mistake: str) -> str:
    """A mistake as a sentence."""
    return f"you have what one gets by {mistake}"


def near_miss(exercise: Exercise, failure: Failure) -> str:
    """How the answer misses the truth, if alike everywhere: by a factor, a summand, or rounding."""
    points = exercise.inside
    for says, sign, other in _changes(exercise, failure):
        if failure.fits(
            Op(sign, (failure.true, other)), ((at, Op(sign, (true, other))) for at, true in points)
        ):
            return says
    for at, true in [(failure.at, failure.true), *points]:
        if time.thread_time() > failure.until:
            break
        value = value_or_none(failure.node, at)
        if value is None or not near(value, approximate(true, at)):
            return ""
    return "that is close, but rounded or miscounted: give it exactly"


def _changes(exercise: Exercise, failure: Failure) -> Iterator[tuple[str, str, Node]]:
    """Simple ways to miss: in words, and as a sign and a number or letter that change the truth."""
    if not exercise.letters:  # how far a plain number is off would give the answer away
        says = "a point is read as a decimal point: leave it out, or write a comma"
        yield says, "/", Num(Fraction(1000))
        return
    one, two = Num(Fraction(1)), Num(Fraction(2))
    yield "it is the truth with its sign turned everywhere", "*", Num(Fraction(-1))
    yield "it is twice the truth everywhere", "*", two
    yield "it is half the truth everywhere", "/", two
    yield "it is one more than the truth everywhere", "+", one
    yield "it is one less than the truth everywhere", "-", one
    for letter in exercise.letters:
        for sign, word in {"*": "times", "/": "divided by", "+": "plus", "-": "minus"}.items():
            yield f"it is the truth {word} {letter} everywhere", sign, Name(letter)
    try:  # the factor and the summand by which it misses at the point where it fails
        given, wanted = exact(failure.node, failure.at), exact(failure.true, failure.at)
    except ArithmeticError:
        return
    if wanted != 0 and given != 0:
        yield f"it is {given / wanted} times the truth everywhere", "*", Num(given / wanted)
    yield f"it is the truth plus {given - wanted} everywhere", "+", Num(given - wanted)
