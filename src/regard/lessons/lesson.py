"""A lesson: a question, the steps that answer it, and exercises; running it computes every number anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from regard.lessons.checking.exercise import Question
from regard.lessons.parts import Check, Formula, Part, Picture, Prose, Table

Step = str | Callable[[], Part | Sequence[Part]]


@dataclass(frozen=True)
class Lesson:
    """One theory question with everything that answers it.

    A step is a paragraph, or a function that gives parts: formulas that the package derives, checks, tables,
    pictures. Notebooks show the function and call it; every other form shows what it gave.
    """

    name: str
    title: str
    question: str
    steps: tuple[Step, ...]
    exercises: tuple[Question, ...] = ()

    def sheet(self) -> Lesson:
        """The questions alone, without what answers them."""
        return replace(self, steps=())

    def run(self) -> Answer:
        """Do every step now."""
        start = time.perf_counter()
        parts: list[Part] = []
        for step in self.steps:
            if isinstance(step, str):
                parts.append(Prose(step))
            else:
                found = step()
                parts += found if isinstance(found, Sequence) else [found]
        return Answer(self, tuple(parts), time.perf_counter() - start)


@dataclass(frozen=True)
class Answer:
    """A lesson that has been run."""

    lesson: Lesson
    parts: tuple[Part, ...]
    seconds: float

    @property
    def checks(self) -> tuple[Check, ...]:
        """What was checked by running code."""
        return tuple(part for part in self.parts if isinstance(part, Check))

    @property
    def holds(self) -> bool:
        """Whether every check held."""
        return all(check.holds for check in self.checks)

    def as_dict(self) -> dict[str, object]:
        """The parts in reading order as plain values, but no pictures."""
        return {
            "name": self.lesson.name,
            "title": self.lesson.title,
            "question": self.lesson.question,
            "parts": [_plain(part) for part in self.parts],
            "exercises": [exercise.as_dict() for exercise in self.lesson.exercises],
            "holds": self.holds,
            "seconds": round(self.seconds, 3),
        }


def _plain(part: Part) -> dict[str, object]:
    kind: dict[str, object] = {"kind": type(part).__name__.lower()}
    if isinstance(part, Formula):
        return kind | {"says": part.says, "text": str(part.value), "latex": part.latex()}
    if isinstance(part, Picture):
        return kind | {"name": part.name, "alt": part.alt}
    if isinstance(part, Table):
        return kind | {"says": part.says, "head": list(part.head), "rows": [list(row) for row in part.rows]}
    return kind | asdict(part)
