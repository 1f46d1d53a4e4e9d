"""An answer that is a growth: compared with the truth as growths in all letters at once."""

from __future__ import annotations

from collections.abc import Sequence

from regard.lessons.checking import growth
from regard.lessons.checking.diagnosis import explained
from regard.lessons.checking.exercise import Exercise
from regard.lessons.checking.expression import Written, names
from regard.lessons.checking.verdict import Finding


def find(exercise: Exercise, answer: Written) -> Finding:
    """The finding on an answer to a question for a growth."""
    if answer.growth == "Omega":
        return Finding(False, "Ω(…) is a lower bound only; the question asks how fast it grows: O(…) or Θ(…)")
    if answer.growth == "o":
        return Finding(False, "o(…) says that it grows more slowly than that; write O(…) for as fast as that")
    true = growth.terms(exercise.truth())
    try:
        given = growth.terms(answer.node)
    except growth.TooFastError as error:
        return Finding(False, f"wrong: {error}; the truth is a sum of products of powers")
    if not given or any(factor < 0 for factor in growth.leading(given).values()):
        return Finding(False, "wrong: a growth cannot be zero or negative")
    remarks = [] if answer.growth else [f"as a growth, write it {growth.big_o(given)}"]
    ignored: tuple[str, ...] = ()
    if exercise.ignores and not names(answer.node) & set(exercise.ignores):
        ignored = exercise.ignores
        left_out = ", ".join(ignored)
        remarks.insert(0, f"{left_out} held constant; with {left_out} it is {growth.big_o(true)}")
        true = growth.fixed(true, ignored)
    directions = [way for way in growth.ways(exercise.letters) if exercise.domain.holds(way)]
    found = _compared(given, true, directions)
    if found.right:
        return Finding(True, found.says, tuple(remarks))
    mistake = _diagnosed(exercise, given, ignored, directions)
    more = (explained(mistake),) if mistake else ()
    return Finding(False, found.says, (*found.details, *more), mistake)


def _compared(given: growth.Terms, true: growth.Terms, directions: Sequence[growth.Way]) -> Finding:
    missing = [powers for powers in true if not growth.within(powers, given, directions)]
    leading = growth.leading(given)
    excess = [powers for powers in leading if not growth.within(powers, true, directions)]
    wanted = growth.big_o(true)
    if not missing and not excess:
        return Finding(True, f"right: the same growth as {wanted}")
    lacks = f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    much = f"{_listed(excess)} {'grows' if len(excess) == 1 else 'grow'} faster than"
    if missing and excess:
        return Finding(False, f"wrong: {lacks}, and {much} the truth")
    if missing:
        conditions = growth.conditions(missing, leading, directions)
        return Finding(False, f"only if {conditions}", (f"{lacks}: in general it is {wanted}",))
    return Finding(False, "an upper bound, but not tight", (f"{much} {wanted}",))


def _listed(found: Sequence[growth.Powers]) -> str:
    return " and ".join(map(growth.written, found[:3]))


def _diagnosed(
    exercise: Exercise, given: growth.Terms, ignored: tuple[str, ...], directions: Sequence[growth.Way]
) -> str:
    for formula, says in exercise.mistakes.items():
        wrong = growth.fixed(growth.terms(exercise.node(formula)), ignored)
        if growth.included(given, wrong, directions) and growth.included(wrong, given, directions):
            return says
    return ""
