"""An answer that is a growth: compared with the truth as growths in all letters at once."""

from __future__ import annotations

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
    found = _compared(given, true, set(exercise.letters))
    if found.right:
        return Finding(True, found.says, tuple(remarks))
    mistake = _diagnosed(exercise, given, ignored)
    more = (explained(mistake),) if mistake else ()
    return Finding(False, found.says, (*found.details, *more), mistake)


def _compared(given: growth.Terms, true: growth.Terms, letters: set[str]) -> Finding:
    directions = growth.ways(letters)
    missing = [powers for powers in true if not growth.within(powers, given, directions)]
    excess = [powers for powers in growth.leading(given) if not growth.within(powers, true, directions)]
    wanted = growth.big_o(true)
    if not missing and not excess:
        return Finding(True, f"right: the same growth as {wanted}")
    if missing and excess:
        lacks, much = growth.written(missing[0]), growth.written(excess[0])
        return Finding(False, f"wrong: {lacks} is missing, and {much} grows faster than the truth")
    if missing:
        conditions = dict.fromkeys(growth.condition(powers, given) for powers in missing)
        lacks = ", ".join(growth.written(powers) for powers in missing)
        more = f"the term {lacks} is missing: in general it is {wanted}"
        return Finding(False, f"only if {' and '.join(conditions)}", (more,))
    much = ", ".join(growth.written(powers) for powers in excess)
    return Finding(False, "an upper bound, but not tight", (f"{much} grows faster than {wanted}",))


def _diagnosed(exercise: Exercise, given: growth.Terms, ignored: tuple[str, ...]) -> str:
    directions = growth.ways(set(exercise.letters))
    for mistake in exercise.mistakes:
        wrong = growth.fixed(growth.terms(exercise.node(mistake.formula)), ignored)
        if growth.included(given, wrong, directions) and growth.included(wrong, given, directions):
            return mistake.says
    return ""
