"""Why an answer is wrong: it equals what a known mistake gives, or misses the truth in a simple way.

Nothing is guessed from how the answer is written. A mistake is a formula or a count of its own, and the
answer is compared with it as it is compared with the truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

from regard.lessons.checking.evaluate import IrrationalError, UndefinedError, agree, exact, near
from regard.lessons.checking.exercise import Exercise, Mistake, Values
from regard.lessons.checking.expression import Name, Node, Num, Op

Points = Sequence[tuple[Values, Node]]
Change = tuple[str, Callable[[Node], Node]]


def diagnosed(
    exercise: Exercise, node: Node, mistakes: Sequence[Mistake], points: Points, until: float
) -> str:
    """The first mistake whose values the answer has at all points; empty where there is none."""
    for mistake in mistakes:
        if agree(node, wrong_values(exercise, mistake, points), until):
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


def near_miss(exercise: Exercise, node: Node, until: float) -> str:
    """How the answer misses the truth, if alike everywhere: by a factor, a summand, or rounding."""
    points = exercise.inside
    if exercise.letters:  # said of a plain number, it would give the answer away
        for says, change in _changes(exercise, node):
            if agree(node, ((at, change(true)) for at, true in points), until):
                return f"it is {says} everywhere"
    elif agree(node, ((at, Op("/", (true, Num(Fraction(1000))))) for at, true in points), until):
        return "a point is read as a decimal point: leave it out, or write a comma"
    try:
        if all(near(node, true, at) for at, true in points if time.monotonic() < until):
            return "that is close, but rounded or miscounted: give it exactly"
    except (UndefinedError, OverflowError):
        return ""
    return ""


def _changes(exercise: Exercise, node: Node) -> Iterator[Change]:
    """Simple ways to miss, in words and as a change of the truth."""
    one, two = Num(Fraction(1)), Num(Fraction(2))
    yield "the truth with its sign turned", lambda true: Op("neg", (true,))
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
        yield says, partial(_joined, sign, other)
    yield from _measured(exercise, node)


def _joined(sign: str, other: Node, true: Node) -> Node:
    return Op(sign, (true, other))


def _measured(exercise: Exercise, node: Node) -> Iterator[Change]:
    """The factor and the summand by which it misses at one point."""
    for at, true in exercise.inside:
        try:
            given, wanted = exact(node, at), exact(true, at)
        except (UndefinedError, IrrationalError):
            continue
        if wanted == 0 or given == 0:
            continue
        yield f"{given / wanted} times the truth", partial(_joined, "*", Num(given / wanted))
        yield f"the truth plus {given - wanted}", partial(_joined, "+", Num(given - wanted))
        return
