"""Answers to the exercises of a lesson: each goes to its question, and gets a verdict."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace

from regard.lessons.checking import definitions
from regard.lessons.checking.equation import Equation, addressed, key, names_the_result, split, unnamed
from regard.lessons.checking.evaluate import differing, shown, value
from regard.lessons.checking.exact import SECONDS, where
from regard.lessons.checking.exercise import Exercise, Question
from regard.lessons.checking.expression import Written, quoted, refusal, short
from regard.lessons.checking.latex import plain
from regard.lessons.checking.verdict import Finding, Verdict

GROWTH = re.compile(r"\b(?:O|o|Theta|Omega)\s*[(\[]")


def judge(exercise: Question, answer: str) -> Verdict:
    """The verdict on an answer to an exercise.

    >>> from regard.lessons.checking.exercise import Domain
    >>> exercise = Exercise(name="sum", asks="1 + … + n?", formula="n(n+1)/2",
    ...     domain=Domain("n ≥ 1", {"n": range(1, 30)}))
    >>> print(judge(exercise, r"\\frac{n^2+n}{2}"))
    sum: \\frac{n^2+n}{2}
      right on the domain (n ≥ 1): equal at 29 points, and the same function
    >>> print(judge(exercise, "n^2/2"))
    sum: n^2/2
      wrong: at n = 1 it gives 1/2, the truth is 1
    """
    found = _split(answer, [exercise])
    return _verdict(exercise, addressed([exercise], found.sides)[1], found, answer)


def reading(exercise: Question, answer: str) -> Written:
    """What an answer is read as, in the letters of its question; a ValueError says why it cannot be.

    >>> from regard.lessons.checking.exercise import Domain
    >>> exercise = Exercise(name="half", asks="?", formula="n/2", domain=Domain("n ≥ 1", {"n": range(1, 9)}))
    >>> reading(exercise, r"\\frac{n}{2}") == reading(exercise, "half = n/2")
    True
    """
    found = _split(answer, [exercise])
    return _read(exercise, addressed([exercise], found.sides)[1], found, answer)[0]


class Answering:
    """Answers to the questions of a lesson, one after another.

    An answer that names no question goes to one that is not answered yet and has all its letters: to the
    first that it answers rightly, or else to the first.
    """

    def __init__(self, exercises: Sequence[Question]) -> None:
        self.exercises, self.open = list(exercises), list(exercises)

    def judge(self, answer: str, given: tuple[tuple[str, str], ...] = ()) -> Verdict:
        """The verdict on the next answer; `given` are letters that were explained before it."""
        found = _split(answer, self.exercises)
        found = replace(found, given=(*found.given, *given))
        meant, sides = addressed(self.exercises, found.sides)
        for name in (e.name for e in self.exercises if len(sides) == 1 and not meant):
            if key(name) == key(sides[0]) and len(key(name)) > 2:
                raise ValueError(f"{name} is a question: write {name} = and a formula")
        if len(meant) == 1:
            verdict = _verdict(meant[0], sides, found, answer)
        else:
            left = [e for e in meant if e in self.open] or meant or self.open
            if not left:
                raise ValueError(f"there are more answers than questions, got {quoted(answer)} too many")
            verdict = _fitting(left, sides, found, answer, bool(meant))
        self.open = [e for e in self.open if e.name != verdict.question]
        return verdict


def _split(answer: str, exercises: Sequence[Question]) -> Equation:
    """The parts of an answer; what is asked for may stand behind steps towards it (h_3 = …, h_4 = …)."""
    short(answer)
    try:
        found = split(plain(answer))
    except ValueError as error:
        raise refusal(error, answer) from None
    symbols = {key(symbol) for e in exercises for symbol in (e.name, *e.left)}
    steps = [i for i, (name, _) in enumerate(found.given) if key(name) in symbols]
    head = [side for side in found.sides[:1] if key(side) in symbols and len(found.sides) > 2]
    rest = found.sides[len(head) :]
    if not steps or len(rest) != 2 or key(rest[0]) in symbols or not re.fullmatch(r"[A-Za-z]\w*", rest[0]):
        return found
    name, text = found.given[steps[-1]]
    others = [one for i, one in enumerate(found.given) if i != steps[-1]]
    return replace(found, sides=(*head, name, text), given=((rest[0], rest[1]), *others))


def _verdict(exercise: Question, sides: Sequence[str], meant: Equation, answer: str) -> Verdict:
    found, others = _read(exercise, sides, meant, answer)
    finding, read = exercise.find(found), found.read
    if finding.right:
        finding = _differing(exercise, found, others) or finding
    notes = [", ".join(f"{one} is read as {other}" for one, other in read)] if read else []
    if finding.right and (elsewhere := _elsewhere(exercise, meant.condition)):
        finding = elsewhere
    elif meant.condition:
        notes.append(f"the condition is not judged: {meant.condition}")
    return Verdict(
        question=exercise.name,
        asks=exercise.asks,
        domain=exercise.domain.says,
        answer=unnamed(exercise, answer),
        read=read,
        **vars(replace(finding, details=(*finding.details, *notes))),
    )


def _read(
    exercise: Question, sides: Sequence[str], meant: Equation, answer: str
) -> tuple[Written, list[Written]]:
    """The side that answers the question, and the others that can be read."""
    try:
        whole = definitions.solved(exercise, sides)
        return definitions.read(exercise, sides, meant, answer) if whole is None else (whole, [])
    except ValueError as error:
        raise error if quoted(answer) in str(error) else refusal(error, answer) from None


def _differing(exercise: Question, found: Written, others: Sequence[Written]) -> Finding | None:
    """A chain of equations of which a right end does not make the middle right."""
    if not isinstance(exercise, Exercise) or exercise.growth:
        return None
    until = time.thread_time() + SECONDS
    for other in others:
        at = differing(other.node, found.node, (at for at, _ in exercise.inside), until)
        if at is not None:
            both = " and ".join(shown(at, other.node, found.node))
            return Finding(False, f"wrong: two sides of = differ: at {where(at)} they are {both}")
    return None


def _elsewhere(exercise: Question, condition: str) -> Finding | None:
    """A condition under which the question is nowhere asked."""
    if not isinstance(exercise, Exercise) or exercise.growth or not condition:
        return None
    try:
        node = exercise.read(f"({condition})", condition).node
        if any(value(node, at) for at, _ in exercise.inside):
            return None
    except (ValueError, ArithmeticError):
        return None
    asked = exercise.domain.says
    return Finding(False, f"wrong: it is given for {condition}, and the question is asked for {asked}")


def _fitting(
    left: Sequence[Question], sides: Sequence[str], meant: Equation, answer: str, called: bool
) -> Verdict:
    """The first right verdict, else the first with letters of the question's own, else the first at all."""
    found: list[Verdict] = []
    error: ValueError | None = None
    growths = {e.name for e in left if e.domain.grows}
    until = time.thread_time() + SECONDS
    for exercise in left:
        if time.thread_time() > until and (found or error):
            break
        try:
            found.append(_verdict(exercise, sides, meant, answer))
        except ValueError as fault:
            error = error or fault
        else:
            if found[-1].right and not found[-1].read:
                return found[-1]
    if not found:
        assert error is not None
        raise error
    growth = any(GROWTH.search(side) for side in sides)
    best = min(found, key=lambda v: (not v.right, (v.question in growths) != growth, bool(v.read)))
    alike = [v.question for v in found if (v.question in growths) == (best.question in growths)]
    unknown = not called and len(sides) > 1 and all(names_the_result(e, sides[0]) for e in left)
    if unknown and not best.right and len(alike) > 1:
        others = ", ".join(alike[1:])
        says = f"no question asks for {sides[0]}: write {alike[0]} = …, or one of {others} in its place"
        raise refusal(ValueError(says), answer)
    return best
