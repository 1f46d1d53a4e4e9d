"""The verdict on an answer: right on the domain and what holds outside, or a counter-example."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from regard.lessons.checking import growth
from regard.lessons.checking.evaluate import UndefinedError, same, shown
from regard.lessons.checking.exercise import Exercise, Values
from regard.lessons.checking.expression import Node, Num, Written, names
from regard.lessons.checking.symbolic import identical

SECONDS = 5.0  # for one answer


@dataclass(frozen=True)
class Verdict:
    """What is said about one answer."""

    question: str
    asks: str
    domain: str
    answer: str
    right: bool
    says: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.question}: {self.answer}", f"  {self.says}", *(f"  {d}" for d in self.details)]
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return asdict(self)


def judge(exercise: Exercise, answer: str) -> Verdict:
    """The verdict on an answer to an exercise.

    >>> from regard.lessons.checking.exercise import Domain
    >>> exercise = Exercise(name="sum", asks="1 + … + n?", formula="n(n+1)/2",
    ...     domain=Domain("n ≥ 1", {"n": range(1, 30)}))
    >>> print(judge(exercise, "n^2/2 + n/2"))
    sum: n^2/2 + n/2
      right on the domain (n ≥ 1): equal at 29 points, and the same function
    >>> print(judge(exercise, "n^2/2"))
    sum: n^2/2
      wrong: at n = 1 it gives 1/2, the truth is 1
    """
    found = exercise.read(answer)
    if exercise.growth:
        right, says, details = _growth(exercise, found)
    elif found.growth:
        right, says, details = False, "the question asks for the number itself, not for its growth", []
    else:
        right, says, details = _exact(exercise, found.node)
    return Verdict(exercise.name, exercise.asks, exercise.domain.says, answer, right, says, tuple(details))


def check(exercises: Sequence[Exercise], answers: Sequence[str]) -> tuple[Verdict, ...]:
    """The verdicts on several answers, each for the question it names (`strided=…`) or the first it fits.

    An answer fits a question that is not answered yet, has all its letters, and asks for a growth if the
    answer is one.
    """
    left = list(exercises)
    out = []
    for answer in answers:
        text = answer
        named = re.match(r"\s*([a-z][a-z0-9-]*)\s*=(.*)", text, re.DOTALL)
        if named is not None:
            chosen = next((e for e in exercises if e.name == named[1]), None)
            if chosen is None:
                known = ", ".join(e.name for e in exercises)
                raise ValueError(f"no question is called {named[1]!r}; the questions are: {known}")
            text = named[2].strip()
        else:
            chosen = _fitting(left, text)
        if chosen in left:
            left.remove(chosen)
        out.append(judge(chosen, text))
    return tuple(out)


def _fitting(left: list[Exercise], text: str) -> Exercise:
    if not left:
        raise ValueError(f"there are more answers than questions, got {text!r} too many")
    wanted = re.match(r"\s*[OΘ]\s*\(", text) is not None
    kind = [e for e in left if e.growth == wanted] or left
    error: ValueError | None = None
    for exercise in kind:
        try:
            exercise.read(text)
        except ValueError as found:
            error = error or found
        else:
            return exercise
    assert error is not None
    raise error


def _exact(exercise: Exercise, node: Node) -> tuple[bool, str, list[str]]:
    truth, until = exercise.truth(), time.monotonic() + SECONDS
    tried = 0
    for at in exercise.domain.points(True):
        true = _true(exercise, truth, at)
        if not _same(node, true, at):
            where = _where(at)
            return False, f"wrong: at {where} it gives {shown(node, at)}, the truth is {shown(true, at)}", []
        tried += 1
        if time.monotonic() > until:
            break
    known = identical(node, truth)
    proof = ", and the same function" if known else ""
    says = f"right on the domain ({exercise.domain.says}): equal at {tried} points{proof}"
    return True, says, _outside(exercise, node, until)


def _outside(exercise: Exercise, node: Node, until: float) -> list[str]:
    """What becomes of a right answer where the condition fails."""
    points = exercise.domain.points(False)
    if not points:
        return []
    out = [f"outside: {exercise.outside}"] if exercise.outside else []
    if exercise.count is None:
        return out
    for at in points:
        true = _true(exercise, None, at)
        if not _same(node, true, at):
            where = _where(at)
            return [
                *out,
                f"yours does not hold there: at {where} it gives {shown(node, at)}, the truth is "
                f"{shown(true, at)}",
            ]
        if time.monotonic() > until:
            break
    return [*out, "yours holds there too"]


def _true(exercise: Exercise, formula: Node | None, at: Values) -> Node:
    """The truth at a point: counted where it can be, else the formula."""
    if exercise.count is not None:
        from fractions import Fraction

        return Num(Fraction(exercise.count(**at)))
    assert formula is not None
    return formula


def _same(node: Node, true: Node, at: Values) -> bool:
    try:
        return same(node, true, at)
    except UndefinedError:
        return False


def _where(at: Values) -> str:
    return ", ".join(f"{letter} = {value}" for letter, value in at.items())


def _growth(exercise: Exercise, found: Written) -> tuple[bool, str, list[str]]:
    given, true = growth.terms(found.node), growth.terms(exercise.truth())
    if not given or any(factor < 0 for factor in _leading(given).values()):
        return False, "wrong: a growth cannot be zero or negative", []
    letters = set(exercise.letters) | names(found.node)
    ways = growth.ways(letters)
    missing = [powers for powers in true if not growth.within(powers, given, ways)]
    excess = [powers for powers in given if not growth.within(powers, true, ways)]
    exact = "O(" + " + ".join(growth.written(powers) for powers in _leading(true)) + ")"
    if not missing and not excess:
        return True, f"right: the same growth as {exact}", []
    if missing and excess:
        lacks, much = growth.written(missing[0]), growth.written(excess[0])
        return False, f"wrong: {lacks} is missing, and {much} grows faster than the truth", []
    if missing:
        conditions = dict.fromkeys(growth.condition(powers, given) for powers in missing)
        lacks = ", ".join(growth.written(powers) for powers in missing)
        return (
            False,
            f"only if {' and '.join(conditions)}",
            [f"the term {lacks} is missing: in general it is {exact}"],
        )
    much = ", ".join(growth.written(powers) for powers in excess)
    return False, "an upper bound, but not tight", [f"{much} grows faster than {exact}"]


def _leading(terms: growth.Terms) -> growth.Terms:
    """The products that no other one swallows."""
    letters = {letter.removeprefix("log ") for powers in terms for letter, _ in powers}
    ways = growth.ways(letters)
    return {
        p: f
        for p, f in terms.items()
        if not any(growth.within(p, {q: g}, ways) for q, g in terms.items() if q != p)
    }
