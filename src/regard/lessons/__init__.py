"""Executable answers to the theory questions: each derived, computed, checked, drawn, and asked back."""

from regard.lessons.checking.checker import Verdict
from regard.lessons.lesson import Answer, Lesson
from regard.lessons.shelf import NAMES, get


def check(name: str, *answers: str) -> tuple[Verdict, ...]:
    """The verdicts on answers to the exercises of a lesson.

    >>> print(check("counting-attention", "n^2/2 + n/2")[0].says)
    right on the domain (n ≥ 1): equal at 60 points, and the same function
    """
    from regard.lessons.checking.checker import check as judge_all

    return judge_all(get(name).exercises, answers)


__all__ = ["NAMES", "Answer", "Lesson", "Verdict", "check", "get"]
