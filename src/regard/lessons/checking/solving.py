"""Equations that are solved for another letter than the one asked for: d = n/2 for n = 2d."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from regard.lessons.checking.evaluate import UndefinedError, exact, same
from regard.lessons.checking.exercise import Exercise, Question
from regard.lessons.checking.expression import names, parse_plain
from regard.lessons.checking.letters import Letters
from regard.lessons.checking.verdict import Finding


def solved(exercise: Question, sides: Sequence[str]) -> Finding | None:
    """The finding on an equation in the letter asked for; None where the answer is no such equation."""
    if not isinstance(exercise, Exercise) or not exercise.solves or len(sides) != 2:
        return None
    letter = exercise.solves
    letters = Letters((letter, *exercise.letters), {**exercise.aliases, letter: " ".join(exercise.left)})
    try:
        left, right = (parse_plain(side, letters, side).node for side in sides)
    except ValueError:
        return None
    if letter in names(left) & names(right):
        return Finding(False, f"{letter} stands on both sides: solve the equation for {letter}")
    for at, true in exercise.inside:
        value = exact(true, at)
        try:
            holds = same(left, right, {**at, letter: value})
            always = same(left, right, {**at, letter: value + Fraction(1)})
        except (UndefinedError, ArithmeticError):
            return None
        if not holds or always:
            return Finding(False, f"wrong: it does not hold where {letter} is what is asked for")
    return Finding(True, f"right: solved for {letter} it is what was asked for")
