"""Executable answers to the theory questions: each derived, computed, checked, drawn, and asked back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from regard.lessons.checking.verdict import Verdict
from regard.lessons.lesson import Answer, Lesson
from regard.lessons.shelf import NAMES, get

if TYPE_CHECKING:
    from regard.lessons.checking.files import Report


def check(name: str, *answers: str | Path) -> tuple[Verdict, ...]:
    """The verdicts on answers to the exercises of a lesson; a path stands for the answers in that file.

    >>> print(check("counting-attention", "n^2/2 + n/2")[0].says)
    right on the domain (n ≥ 1): equal at 60 points, and the same function
    """
    from regard.lessons.checking.checker import Answering
    from regard.lessons.checking.files import is_file_name

    answering = Answering(get(name).exercises)
    out: list[Verdict] = []
    for answer in answers:
        if isinstance(answer, Path):
            report = check_file(name, answer)
            if report.faults:
                raise ValueError(report.faults[0])
            out += report.verdicts
        elif is_file_name(answer):
            # A text may come from anybody; only who calls us may open files.
            raise ValueError(f"{answer} looks like a file: give it as a pathlib.Path")
        else:
            out.append(answering.judge(answer))
    return tuple(out)


def check_file(name: str, path: Path) -> Report:
    """The verdicts on the answers in a .tex, .md or .txt file, and a line for each that cannot be read."""
    from regard.lessons.checking import files

    return files.check_file(get(name).exercises, path)


__all__ = ["NAMES", "Answer", "Lesson", "Verdict", "check", "check_file", "get"]
