"""Equations that are solved for another letter than the one asked for: d = n/2 for n = 2d."""

from __future__ import annotations

from collections.abc import Sequence

from regard.lessons.checking.equation import key
from regard.lessons.checking.evaluate import Point, UndefinedError, exact, same
from regard.lessons.checking.exercise import Exercise, Question
from regard.lessons.checking.expression import Node, names, parse_plain
from regard.lessons.checking.letters import Letters
from regard.lessons.checking.verdict import Finding


def solved(exercise: Question, sides: Sequence[str]) -> Finding | None:
    """The finding on an equation in the letter asked for; None where the answer is no such equation."""
    if not isinstance(exercise, Exercise) or not exercise.solves or len(sides) != 2:
        return None
    both = _read(exercise, sides)
    if both is None:
        return None
    letter = exercise.solves
    if letter in names(both[0]) & names(both[1]):
        return Finding(False, f"{letter} stands on both sides: solve the equation for {letter}")
    for at, true in exercise.inside:
        value = exact(true, at)
        # It must hold for the truth, and not for everything.
        if not _holds(both, {**at, letter: value}) or _holds(both, {**at, letter: value + 1}):
            return Finding(False, f"wrong: it does not hold where {letter} is what is asked for")
    return Finding(True, f"right: solved for {letter} it is what was asked for")


def _read(exercise: Exercise, sides: Sequence[str]) -> tuple[Node, Node] | None:
    """Both sides of an equation that has the letter, and not alone on one side."""
    letter = exercise.solves
    letters = Letters((letter, *exercise.letters), {**exercise.aliases, letter: " ".join(exercise.left)})
    try:
        left, right = (parse_plain(side, letters, side).node for side in sides)
    except ValueError:
        return None
    alone = {key(side) for side in sides} & set(map(key, exercise.left))
    return None if alone or letter not in names(left) | names(right) else (left, right)


def _holds(both: tuple[Node, Node], at: Point) -> bool:
    try:
        return same(*both, at)
    except UndefinedError:
        return False
