"""Executable answers to the theory questions: each derived, computed, checked, drawn, and asked back."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import did_you_mean
from regard.lessons.checking.verdict import Verdict
from regard.lessons.lesson import Answer, Lesson

if TYPE_CHECKING:
    from regard.lessons.checking.files import CheckedAnswers

NAMES = (
    "counting-attention",
    "grid-rnn",
    "rnn-recurrences",
    "attention-copies",
    "linear-attention",
    "weight-sharing",
    "attention-complexity",
    "positions",
    "heads",
    "rnn-or-transformer",
    "why-generation-is-slow",
    "masks-and-losses",
)


def get(name: str) -> Lesson:
    """The lesson of this name, from a file of its own that is imported when asked for.

    >>> get("heads").title
    'What several heads can do that one cannot'
    """
    if name not in NAMES:
        hint = did_you_mean(name, NAMES)
        raise ValueError(f"no lesson is called {name!r}{hint or ';'} lessons: {', '.join(NAMES)}")
    lesson = import_module(f"regard.lessons.{name.replace('-', '_')}").LESSON
    assert isinstance(lesson, Lesson)
    return lesson


def check(name: str, *answers: str | Path) -> tuple[Verdict, ...]:
    """The verdicts on answers to the exercises of a lesson; a path stands for the answers in that file.

    >>> print(check("counting-attention", "n^2/2 + n/2")[0].says)
    right on the domain (n ≥ 1): equal at 60 points, and the same function
    """
    from regard.lessons.checking.files import check_all

    report = check_all(get(name).exercises, answers)
    if report.faults:
        raise ValueError(report.faults[0])
    return report.verdicts


def check_file(name: str, path: Path) -> CheckedAnswers:
    """The verdicts on the answers in a .tex, .md or .txt file, and a line for each that cannot be read."""
    from regard.lessons.checking import files

    return files.check_file(get(name).exercises, path)


__all__ = ["NAMES", "Answer", "Lesson", "Verdict", "check", "check_file", "get"]
