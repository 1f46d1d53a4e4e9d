"""Equations that are put in or solved: `n k, k = t + 1`, `m w, n = m w`, and d = n/2 where n is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from regard.lessons.checking.equation import Equation, key, names_the_result, siblings
from regard.lessons.checking.exercise import Exercise, Question
from regard.lessons.checking.expression import Written, parse_plain, quoted
from regard.lessons.checking.letters import Letters
from regard.lessons.checking.nodes import Name, Node, Num, Op, names, put
from regard.lessons.checking.symbolic import identical
from regard.lessons.checking.words import FUNCTIONS, INFIX


def read(
    exercise: Question, sides: Sequence[str], meant: Equation, written: str
) -> tuple[Written, list[Written]]:
    """The side that answers the question, and the other sides that can be read, in the question's letters.

    That is the last one; or an earlier one, if all behind it only name what is asked for (2d = n).
    """
    symbols = set(map(key, exercise.left))
    for side in sides[:-1]:
        others = siblings(key(side), exercise.left) if key(side) not in symbols else []
        if others:
            raise ValueError(
                f"the question asks for {others[0]}, and this is {side.strip()}: {quoted(written)}"
            )
    at = len(sides) - 1
    while at > 0 and key(sides[at]) in symbols:
        at -= 1
    letters, table = _defined(exercise, meant, written)
    found = _settled(exercise.read(sides[at] if sides else "", written, letters), table, letters, exercise)
    others_read = []
    for side in sides[:at]:
        if names_the_result(exercise, side):
            continue
        try:
            others_read.append(_settled(exercise.read(side, written, letters), table, letters, exercise))
        except ValueError:
            continue  # a symbol, or a step on the way
    return found, others_read


def _settled(found: Written, table: dict[str, Node], letters: Letters, exercise: Question) -> Written:
    node = found.node
    for _ in range(len(table)):
        node = put(node, table)
    strange = (names(node) & set(letters.own)) - set(exercise.alphabet.own)
    if strange:
        raise ValueError(f"it is not said what {min(strange)} is in {', '.join(exercise.letters)}")
    return replace(found, node=node)


def _defined(exercise: Question, meant: Equation, written: str) -> tuple[Letters, dict[str, Node]]:
    """The letters that an answer may use, with those that it defines, and what these are."""
    given = [*meant.given, *exercise.also.items()]
    own = exercise.alphabet.own_forms
    new = {name: text for name, text in given if name not in own}
    about = [(name, text) for name, text in given if name in own]
    strange = {
        letter: (name, text) for name, text in about for letter in _letters_of(text) if letter not in own
    }
    mine = dict.fromkeys((*exercise.alphabet.own, *new, *strange))
    letters = replace(exercise.alphabet, own=tuple(mine))
    table: dict[str, Node] = {}
    for name, text in new.items():
        try:
            table[name] = exercise.read(text, written, letters).node
        except ValueError:
            continue  # it counts only if the answer uses it
    for letter, (name, text) in strange.items():
        if letter not in new and isinstance(exercise, Exercise):
            try:
                found = exercise.read(text, written, letters).node
            except ValueError:
                continue
            solution = _solved(letter, Name(name), found)
            table |= {} if solution is None else {letter: solution}
    return letters, table


def _letters_of(text: str) -> list[str]:
    runs = re.findall(r"[A-Za-z]+(?:_\w+)?", text)
    return [
        one for run in runs if run not in FUNCTIONS and run not in INFIX
        for one in ([run] if "_" in run else run)
    ]  # fmt: skip


def _solved(letter: str, left: Node, right: Node) -> Node | None:
    """What the letter is, where left = right is linear in it."""
    zero, one, two = (put(Op("-", (right, left)), {letter: Num(Fraction(i))}) for i in range(3))
    slope = Op("-", (one, zero))
    if not identical(slope, Op("-", (two, one))):
        return None
    return Op("/", (Op("neg", (zero,)), slope))


def solved(exercise: Question, sides: Sequence[str]) -> Written | None:
    """An equation in the letter asked for, solved: n = 2d of d = n/2; None where it is no such one."""
    if not isinstance(exercise, Exercise) or not exercise.solves or len(sides) != 2:
        return None
    letter = exercise.solves
    aliases = {**exercise.aliases, letter: " ".join(exercise.left)}
    letters = Letters((letter, *exercise.letters), aliases)
    try:
        left, right = (parse_plain(side, letters, side).node for side in sides)
    except ValueError:
        return None
    alone = {key(side) for side in sides} & set(map(key, exercise.left))
    if alone or letter not in names(left) | names(right):
        return None
    found = _solved(letter, left, right)
    if found is None or letter in names(left) & names(right):
        raise ValueError(f"{letter} stands on both sides or not by itself: solve the equation for {letter}")
    return Written(found)
