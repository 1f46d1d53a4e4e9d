"""Hints are true, and none of them is the answer."""

import re
from fractions import Fraction

import pytest

from regard.lessons import NAMES, check, get
from regard.lessons.checking.evaluate import exact
from regard.lessons.hints import hints

EVERY = [(name, one) for name in NAMES for one in get(name).exercises]


@pytest.mark.parametrize(("lesson", "exercise"), EVERY, ids=lambda one: getattr(one, "name", one))
def test_every_exercise_has_hints_that_are_true(lesson, exercise):
    found = hints(exercise)
    assert len(found) >= 2
    assert exercise.formula not in " ".join(found)
    for line in found:
        for value, point in re.findall(r"(\S+) for ((?:\w+ = [^;,.]+(?:, )?)+)", line):
            at = {letter.replace("_", ""): Fraction(number.replace("−", "-"))
                  for letter, number in re.findall(r"(\w+) = ([−\d/]+)", point)}  # fmt: skip
            at = {letter: at[{"beta": "β", "omega": "ω"}.get(letter, letter)] for letter in exercise.letters}
            assert exact(exercise.truth(), at) == Fraction(value.replace("−", "-"))


def test_values_are_given_where_they_do_not_give_it_away():
    given = {(lesson, one.name) for lesson, one in EVERY if any("It is " in line for line in hints(one))}
    assert ("counting-attention", "strided") in given
    assert ("weight-sharing", "padded-size") not in given  # a number is its own value
    assert ("counting-attention", "growth") not in given
    assert len(given) > 20


def test_a_hint_is_no_right_answer():
    for lesson, exercise in EVERY:
        for line in hints(exercise):
            word = line.split()[-1].strip(".")
            try:
                (verdict,) = check(lesson, f"{exercise.name} = {word}")
            except ValueError:
                continue
            assert not verdict.right, (lesson, exercise.name, line)
