"""Right and wrong answers to every exercise of every lesson, as students write them."""

import re
from pathlib import Path

import pytest

from regard.lessons import NAMES, check, get

TABLE = Path(__file__).with_name("answers.txt").read_text(encoding="utf-8")
LATEX = re.compile(r"\\[A-Za-z,]|\$|[_^]\{|\{,\}")


def table() -> dict[tuple[str, str], tuple[list[str], list[tuple[str, str]]]]:
    out: dict[tuple[str, str], tuple[list[str], list[tuple[str, str]]]] = {}
    for line in TABLE.splitlines():
        opened = re.fullmatch(r"\[([\w-]+)\] ([\w-]+)", line)
        if opened is not None:
            right, wrong = out.setdefault((opened[1], opened[2]), ([], []))
        elif line.startswith("+ "):
            right.append(line[2:])
        elif line.startswith("- "):
            answer, _, reason = line[2:].partition(" ## ")
            wrong.append((answer, reason))
        else:
            assert line == "" or line.startswith("# "), line
    return out


ANSWERS = table()
EXERCISES = [(name, exercise.name) for name in NAMES for exercise in get(name).exercises]
IDS = ["-".join(key) for key in EXERCISES]


def test_every_exercise_has_enough_answers():
    assert set(ANSWERS) == set(EXERCISES)
    for key, (right, wrong) in ANSWERS.items():
        assert len(right) >= 6, key
        assert sum(LATEX.search(answer) is not None for answer in right) >= 2, key
        assert len(wrong) >= 4, key
        assert all(reason for _, reason in wrong), key


@pytest.mark.parametrize(("lesson", "name"), EXERCISES, ids=IDS)
def test_right_answers_are_accepted(lesson, name):
    for answer in ANSWERS[lesson, name][0]:
        (found,) = check(lesson, f"{name} = {answer}")
        assert found.right, f"{answer}: {found}"
        assert found.question == name


@pytest.mark.parametrize(("lesson", "name"), EXERCISES, ids=IDS)
def test_wrong_answers_are_refused_with_a_reason(lesson, name):
    for answer, reason in ANSWERS[lesson, name][1]:
        try:
            (found,) = check(lesson, f"{name} = {answer}")
        except ValueError as error:
            said = str(error)
        else:
            assert not found.right, f"{answer}: {found}"
            said = str(found)
        assert reason in said, f"{answer}: {said}"
