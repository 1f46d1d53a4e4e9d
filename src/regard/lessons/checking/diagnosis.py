"""Why an answer is wrong: it equals what a known mistake gives, or misses the truth in a simple way.

Nothing is guessed from how the answer is written. A mistake is a formula or a count of its own, and the
answer is compared with it as it is compared with the truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from regard.lessons.checking.evaluate import (
    IrrationalError,
    UndefinedError,
    agree,
    approximate,
    close,
    exact,
    near,
    value_or_none,
)
from regard.lessons.checking.exercise import Exercise, Mistake, Values
from regard.lessons.checking.expression import Name, Node, Num, Op

Points = Sequence[tuple[Values, Node]]
Change = tuple[str, Callable[[Node], Node]]


@dataclass(frozen=True)
class Failure:
    """An answer with a point where it is not the truth.

    Its value there is worked out once: most explanations fail there, and need no more points.
    """

    node: Node
    at: Values
    true: Node
    until: float  # by when all must be said

    @cached_property
    def value(self) -> Any:
        """The value at the point, or None."""
        return value_or_none(self.node, self.at)

    def fits(self, here: Node, everywhere: Iterable[tuple[Values, Node]]) -> bool:
        """Whether the answer has another value here and, if so, other values at all points."""
        other = value_or_none(here, self.at)
        if self.value is None or other is None:
            return self.value is other and agree(self.node, everywhere, self.until)
        return close(self.value, other) and agree(self.node, everywhere, self.until)


def diagnosed(exercise: Exercise, failure: Failure, mistakes: Sequence[Mistake], points: Points) -> str:
    """The first mistake whose values the answer has at all points; empty where there is none."""
    for mistake in mistakes:
        ((_, here),) = wrong_values(exercise, mistake, [(failure.at, failure.true)])
        if failure.fits(here, wrong_values(exercise, mistake, points)):
            return mistake.says
    return ""


def wrong_values(exercise: Exercise, mistake: Mistake, points: Points) -> Iterator[tuple[Values, Node]]:
    """What the mistake gives at each point."""
    for at, _ in points:
        if mistake.count is None:
            yield at, exercise.node(mistake.formula)
        else:
            key = mistake, tuple(at.values())
            if key not in exercise.counted:
                exercise.counted[key] = Num(Fraction(mistake.count(**at)))
            yield at, exercise.counted[key]


def explained(mistake: str) -> str:
    """A mistake as a sentence."""
    return f"you have what one gets by {mistake}"


def near_miss(exercise: Exercise, failure: Failure) -> str:
    """How the answer misses the truth, if alike everywhere: by a factor, a summand, or rounding."""
    points = exercise.inside
    for says, change in _changes(exercise, failure) if exercise.letters else _of_numbers():
        if failure.fits(change(failure.true), ((at, change(true)) for at, true in points)):
            return says
    if failure.value is None or not near(failure.value, approximate(failure.true, failure.at)):
        return ""
    for at, true in points:
        if time.thread_time() > failure.until:
            break
        value = value_or_none(failure.node, at)
        if value is None or not near(value, approximate(true, at)):
            return ""
    return "that is close, but rounded or miscounted: give it exactly"


def _of_numbers() -> Iterator[Change]:
    """A plain number is not told how far it is off, which would give the answer away."""
    says = "a point is read as a decimal point: leave it out, or write a comma"
    yield says, partial(_joined, "/", Num(Fraction(1000)))


def _changes(exercise: Exercise, failure: Failure) -> Iterator[Change]:
    """Simple ways to miss, in words and as a change of the truth."""
    one, two = Num(Fraction(1)), Num(Fraction(2))
    yield "it is the truth with its sign turned everywhere", lambda true: Op("neg", (true,))
    simple: list[tuple[str, str, Node]] = [
        ("twice the truth", "*", two),
        ("half the truth", "/", two),
        ("one more than the truth", "+", one),
        ("one less than the truth", "-", one),
    ]
    for letter in exercise.letters:
        words = {"*": "times", "/": "divided by", "+": "plus", "-": "minus"}
        simple += [(f"the truth {word} {letter}", sign, Name(letter)) for sign, word in words.items()]
    for says, sign, other in simple:
        yield f"it is {says} everywhere", partial(_joined, sign, other)
    yield from _measured(failure)


def _joined(sign: str, other: Node, true: Node) -> Node:
    return Op(sign, (true, other))


def _measured(failure: Failure) -> Iterator[Change]:
    """The factor and the summand by which it misses at the point where it fails."""
    try:
        given, wanted = exact(failure.node, failure.at), exact(failure.true, failure.at)
    except (UndefinedError, IrrationalError):
        return
    if wanted != 0 and given != 0:
        factor = given / wanted
        yield f"it is {factor} times the truth everywhere", partial(_joined, "*", Num(factor))
    more = given - wanted
    yield f"it is the truth plus {more} everywhere", partial(_joined, "+", Num(more))
