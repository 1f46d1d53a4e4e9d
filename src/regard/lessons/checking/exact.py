"""An answer that is a number or an expression: equal to the truth at every point, or a counter-example."""

from __future__ import annotations

import re
import time
from math import inf

from regard.lessons.checking import growth
from regard.lessons.checking.diagnosis import Failure, diagnosed, explained, near_miss
from regard.lessons.checking.evaluate import (
    Point,
    UndefinedError,
    ZeroDivisorError,
    agree,
    differing,
    same,
    shown,
)
from regard.lessons.checking.exercise import Exercise
from regard.lessons.checking.expression import Written
from regard.lessons.checking.nodes import Node, names
from regard.lessons.checking.symbolic import identical
from regard.lessons.checking.verdict import Finding

SECONDS = 1.0  # of work for one answer: a busy machine judges like a quiet one


def find(exercise: Exercise, answer: Written) -> Finding:
    """The finding on an answer to a question for a number."""
    if answer.growth:
        return _only_growth(exercise, answer)
    points = exercise.inside  # worked out once, before the clock runs
    node, until = answer.node, time.thread_time() + SECONDS
    holes: list[Point] = []
    tried = 0
    for at, true in points:
        try:
            equal = same(node, true, at)
        except ZeroDivisorError:
            holes.append(at)
            continue
        except UndefinedError:
            equal = False
        if not equal:
            return _wrong(exercise, node, at, true, until)
        tried += 1
        if time.thread_time() > until:
            break
    if len(holes) > tried:
        return Finding(False, f"wrong: {_at(holes[0])}it has no value (a division by zero)")
    known = identical(node, exercise.truth())
    if known is False:
        return Finding(False, f"wrong: equal at the {tried} points tried, and still another function")
    far = None if known else differing(node, exercise.truth(), exercise.domain.far(), inf)
    if far is not None:
        gives, wanted = shown(far, node, exercise.truth())
        return Finding(False, f"wrong: {_at(far)}it gives {gives}, the truth is {wanted}")
    gap = [f"at {where(holes[0])} yours divides by zero and has no value"] if holes else []
    return Finding(True, _right(exercise, tried, bool(known)), (*_outside(exercise, node), *gap))


def _right(exercise: Exercise, tried: int, known: bool) -> str:
    if not exercise.letters:
        return "right"
    proof = ", and the same function" if known else ""
    return f"right on the domain ({exercise.domain.says}): equal at {tried} points{proof}"


def _wrong(exercise: Exercise, node: Node, at: Point, true: Node, until: float) -> Finding:
    failure = Failure(node, at, true, until)
    if remark := diagnosed(exercise, failure, exercise.accepted, exercise.inside):
        return Finding(True, f"right: {remark}")
    gives, wanted = shown(at, node, true)
    used = names(node) | names(exercise.truth())
    some = {letter: value for letter, value in at.items() if letter in used} if len(at) > 4 else at
    says = f"wrong: {_at(some)}it gives {gives}, the truth is {wanted}"
    if not exercise.letters:
        says = f"wrong: {gives} is not it"
    mistake = diagnosed(exercise, failure, exercise.mistakes, exercise.inside)
    more = explained(mistake) if mistake else near_miss(exercise, failure)
    return Finding(False, says, (more,) if more else (), mistake)


def _outside(exercise: Exercise, node: Node) -> list[str]:
    """What becomes of a right answer where the condition fails."""
    if not exercise.domain.points(False):
        return []
    out = [f"outside: {exercise.outside}"] if exercise.outside else []
    if not exercise.beyond_it:
        return out
    until = time.thread_time() + SECONDS
    for at, true in exercise.beyond_it:
        if time.thread_time() > until:
            return out
        if not agree(node, [(at, true)], until):
            gives, wanted = shown(at, node, true)
            numbers = f"at {where(at)} it gives {gives}, the truth is {wanted}"
            failure = Failure(node, at, true, until)
            mistake = diagnosed(exercise, failure, exercise.beyond, exercise.beyond_it)
            why = [f"outside, {explained(mistake)}"] if mistake else []
            return [*out, f"yours does not hold there: {numbers}", *why]
    return [*out, "yours holds there too"]


def _only_growth(exercise: Exercise, answer: Written) -> Finding:
    says = "the question asks for the number itself, not for its growth"
    try:
        given, true = growth.terms(answer.node), growth.terms(exercise.truth())
    except ValueError:
        return Finding(False, says)
    directions = growth.ways(names(answer.node) | names(exercise.truth()))
    right = directions and growth.alike(given, true, directions)
    return Finding(False, says, ("as a growth it would be right",) if right else ())


def where(at: Point) -> str:
    """A point in words."""
    spelled = {re.sub(r"(?<=[a-z])(?=\d)", "_", letter): value for letter, value in at.items()}
    return ", ".join(f"{letter} = {value}".replace("-", "−") for letter, value in spelled.items())


def _at(at: Point) -> str:
    return f"at {where(at)} " if at else ""
