"""Hints to an exercise, one after another: how it is written, what it must be at some points, known slips."""

from __future__ import annotations

import re
from fractions import Fraction
from random import Random

from regard.lessons.checking.evaluate import Point
from regard.lessons.checking.exercise import Exercise, Question
from regard.lessons.checking.nodes import Num
from regard.lessons.render.reading import GREEK

VALUES = 3  # of the truth that a hint gives away
FEW = 24  # points with the smallest numbers, of which these are drawn
SLIPS = 2
LONGEST = 8  # characters of a value


def hints(exercise: Question) -> list[str]:
    """One line each; none is the answer.

    >>> from regard.lessons import get
    >>> for line in hints(get("counting-attention").exercises[1])[:2]:
    ...     print(line)
    Write it in n and t; it is asked for n ≥ t.
    It is 10 for n = 4, t = 3; 14 for n = 5, t = 3; 30 for n = 9, t = 3.
    """
    out = [_letters(exercise)] if exercise.letters else []
    out += [line] if (line := _values(exercise)) else []
    slips = [says for wrong, says in exercise.mistakes.items() if not re.fullmatch(r"[\d.]+", says)]
    return [*out, *(f"Others went wrong by {says}." for says in slips[:SLIPS])]


def _letters(exercise: Question) -> str:
    shown: list[str] = []
    families: dict[str, list[int]] = {}
    for letter in exercise.letters:
        match = re.fullmatch(r"([A-Za-z]+)_?(\d+)", letter)
        if match is None:
            shown.append(_spelled(letter))
        else:
            families.setdefault(match[1], []).append(int(match[2]))
    for family, numbers in families.items():
        run = f"{family}_{numbers[0]}"
        shown.append(run if len(numbers) == 1 else f"{run} … {family}_{numbers[-1]}")
    return f"Write it in {_listed(shown)}; it is asked for {exercise.domain.says}."


def _values(exercise: Question) -> str:
    """The truth at a few points, where it has letters and is a number."""
    if not isinstance(exercise, Exercise) or exercise.growth or not exercise.letters:
        return ""
    points = exercise.domain.points(True)
    plain = [at for at in points if len(set(at.values())) == len(at) and min(map(_weight, at.values())) > 1]
    chosen = plain or [at for at in points if len(set(at.values())) == len(at)] or points
    small = sorted(chosen, key=_size)[:FEW]
    drawn = sorted(Random(1).sample(small, min(VALUES, len(small))), key=_size)
    truth = {tuple(at.items()): node for at, node in exercise.inside}
    told = [(truth.get(tuple(at.items())), at) for at in drawn]
    lines = [f"{_number(node)} for {_point(at)}" for node, at in told if isinstance(node, Num)]
    if len(lines) < len(told) or any(len(line.partition(" ")[0]) > LONGEST for line in lines):
        return ""
    return f"It is {'; '.join(lines)}."


def _size(at: Point) -> Fraction:
    return sum(map(_weight, at.values()), Fraction(0))


def _weight(value: int | Fraction) -> Fraction:
    return abs(Fraction(value))


def _number(node: Num) -> str:
    return str(node.value).replace("-", "−")


def _point(at: Point) -> str:
    pairs = ((re.sub(r"(?<=[A-Za-z])(\d+)$", r"_\1", letter), value) for letter, value in at.items())
    return ", ".join(f"{_spelled(letter)} = {str(value).replace('-', '−')}" for letter, value in pairs)


def _spelled(letter: str) -> str:
    return GREEK.get(letter, letter)


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
