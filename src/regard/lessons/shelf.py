"""The lessons by name, each in a file of its own that is imported when asked for."""

from __future__ import annotations

from importlib import import_module

from regard.errors import did_you_mean
from regard.lessons.lesson import Lesson

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
    """The lesson of this name.

    >>> get("heads").title
    'What several heads can do that one cannot'
    """
    if name not in NAMES:
        hint = did_you_mean(name, NAMES)
        raise ValueError(f"no lesson is called {name!r}{hint or ';'} lessons: {', '.join(NAMES)}")
    module = import_module(f"regard.lessons.{name.replace('-', '_')}")
    lesson = module.LESSON
    assert isinstance(lesson, Lesson)
    assert lesson.name == name, lesson.name
    return lesson
