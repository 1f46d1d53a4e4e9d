"""Answers as equations: which question an answer names, what it is set equal to, and the formula itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from regard.lessons.checking.brackets import cut, outer
from regard.lessons.checking.exercise import Question
from regard.lessons.checking.expression import Written, shown
from regard.lessons.checking.latex import plain

CONDITION = re.compile(r"\b(?:for|if|when|where|whenever|provided|assuming|falls|wenn|für|with)\b")
RELATIONS = {"≤": "an inequality", "≥": "an inequality", "<": "an inequality", ">": "an inequality", "≠": "≠"}
ASCII = {
    "<=": "≤", ">=": "≥", "!=": "≠", "=>": "⇒", "->": "⇒", ":=": "=", "==": "=", "&=": "=", "=&": "=",
    "∈": "=",
}  # fmt: skip
UNITS = re.compile(
    r"\s+(?:(?:dot|token|scalar|inner|real)\s+)?(?:products|passes|pairs|weights|parameters|params|multiplies|"
    r"multiplications|adds|additions|operations|ops|flops|numbers|steps|targets|outputs|cells|scores|entries|"
    r"values|tokens|time)\s*$"
)
WORDS = re.compile(r"[\s*]*(?![A-Za-z]_)[A-Za-z][A-Za-z\s_*-]*[A-Za-z][\s*]*")
NAMED = re.compile(r"\s*([A-Za-z*][A-Za-z0-9 _*{}-]{0,40}?)\s*:(?!=)(.+)", re.DOTALL)


@dataclass(frozen=True)
class Equation:
    """The sides of an answer, from left to right, and a condition that was written behind it."""

    sides: tuple[str, ...]
    condition: str = ""


def split(text: str) -> Equation:
    """A plain text at its equals signs; of a chain of conclusions, the last one.

    >>> split("h_4 = x_4 - h_3 = x_4 - x_3").sides
    ('h_4', 'x_4 - h_3', 'x_4 - x_3')
    >>> split("strided: n(t+1), n ≥ t")
    Equation(sides=('strided', 'n(t+1)'), condition='n ≥ t')
    """
    for spelled, sign in ASCII.items():
        text = text.replace(spelled, sign)
    named = NAMED.match(text)
    first = [] if named is None else [named[1]]
    text = text if named is None else named[2]
    last = text.split("⇒")[-1]
    if "⇒" in text and not first and "=" in text.split("⇒")[0]:
        first = _names_only(text.split("=")[0])
    body, condition = _conditioned(last)
    for sign, kind in RELATIONS.items():
        if sign in outer(body):
            raise ValueError(f"an answer is a formula or an equation, and {sign!r} makes it {kind}")
    if "≈" in body:
        raise ValueError("≈ says about: give it exactly")
    sides = [_trimmed(side) for side in cut(UNITS.sub("", _trimmed(body)), "=")]
    return Equation(tuple(side for side in [*first, *sides] if side), condition)


def _names_only(text: str) -> list[str]:
    """The left side in front of a conclusion, where it may be the name of a question."""
    return [text.strip()] if re.fullmatch(r"\s*[A-Za-z][A-Za-z\s_-]+", text) else []


def _conditioned(text: str) -> tuple[str, str]:
    """The formula, and a condition behind it: "n(t+1), n ≥ t", "n² for all n"."""
    flat = outer(text)
    whole = text.rstrip(" \n.,;")
    start = max(whole.rfind("("), whole.rfind("["))
    if whole.endswith((")", "]")) and start > 0 and re.search("[≤≥<>≠]", whole[start:]):  # … (n ≥ t)
        return text[:start], whole[start + 1 : -1].strip()
    match = CONDITION.search(flat)
    if match is not None and flat[: match.start()].strip(" ,;"):
        return text[: match.start()], text[match.end() :].strip(" .,;()")
    parts = cut(text, ",")
    if len(parts) > 1 and re.search("[≤≥<>≠]|divides", parts[-1]):
        return parts[0], ",".join(parts[1:]).strip(" .,;")
    return text, ""


def _trimmed(text: str) -> str:
    text = re.sub(r"^\s*\*\*(.*)\*\*\s*$", r"\1", text, flags=re.DOTALL)
    return re.sub(r"(?:\s|&|;|\.(?!\d)|,)+$", "", re.sub(r"^(?:\s|&|;|,)+", "", text))


def key(text: str) -> str:
    """A name or symbol in the form in which two are compared.

    >>> key("Scores_First"), key("|x_{1}|")
    ('scoresfirst', 'x1')
    """
    return re.sub(r"[^a-z0-9]", "", re.sub(r"(?<=[|‖])\s*_\s*\w+", "", text).lower())


def addressed(exercises: Sequence[Question], sides: Sequence[str]) -> tuple[list[Question], list[str]]:
    """The questions that the left side means, which may be none, and the sides that are left."""
    if len(sides) < 2:
        return [], list(sides)
    first = key(sides[0])
    named = [e for e in exercises if key(e.name) == first]
    if named:
        return named, list(sides[1:])
    meant = [e for e in exercises if first in map(key, e.left)]
    if meant:
        return meant, list(sides[1:])
    other = sibling(first, [symbol for e in exercises for symbol in e.left])
    if other:
        raise ValueError(f"no question asks for {sides[0].strip()}; one asks for {other}")
    if WORDS.fullmatch(sides[0]) and not _readable(exercises, sides[0]):
        known = ", ".join(e.name for e in exercises)
        near = get_close_matches(first, [key(e.name) for e in exercises], n=1, cutoff=0.7)
        hint = "".join(f"; did you mean {e.name!r}?" for e in exercises if near and key(e.name) == near[0])
        raise ValueError(f"no question is called {sides[0].strip(' *')!r}{hint}; the questions are: {known}")
    return [], list(sides)


def named(exercises: Sequence[Question], text: str) -> bool:
    """Whether an answer says which question it is for, or tries to."""
    try:
        sides = split(plain(text)).sides
        return len(sides) > 1 and bool(addressed(exercises, sides)[0])
    except ValueError:
        return True  # the fault is named where the answer is read


def bare_name(exercises: Sequence[Question], text: str) -> str:
    """The name of the question, where the answer is that and nothing else."""
    return next((e.name for e in exercises if key(e.name) == key(text) and len(key(text)) > 2), "")


def unnamed(exercise: Question, answer: str) -> str:
    """The answer as it was written, without the name of its question in front."""
    match = re.match(r"([^=:]{1,80}?)\s*(?::=|[=:])(?!=)\s*(?=\S)", answer)
    if match is None or key(re.sub(r"\\[a-z]+|\\.", "", match[1])) != key(exercise.name):
        return answer
    return re.sub(r" ?(?:\${1,2}|\\\)|\\\]|\\\\)?$", "", " ".join(answer[match.end() :].split()))


def sibling(symbol: str, others: Sequence[str]) -> str:
    """A symbol that differs from this one in its number alone: h4 for h3."""
    match = re.fullmatch(r"([a-z]+)(\d+)", symbol)
    if match is None or symbol in map(key, others):
        return ""
    return next((o for o in others if (m := re.fullmatch(r"([a-z]+)(\d+)", key(o))) and m[1] == match[1]), "")


def _readable(exercises: Sequence[Question], text: str) -> bool:
    for exercise in exercises:
        try:
            exercise.read(text, text)
        except ValueError:
            continue
        return True
    return False


def read(exercise: Question, sides: Sequence[str], written: str) -> tuple[Written, list[Written]]:
    """The side that answers the question, and the other sides that can be read.

    That is the last one; or an earlier one, if all behind it only name what is asked for (2d = n).
    """
    symbols = set(map(key, exercise.left))
    for side in sides[:-1]:
        other = sibling(key(side), exercise.left) if key(side) not in symbols else ""
        if other:
            raise ValueError(f"the question asks for {other}, and this is {side.strip()}: {shown(written)}")
    at = len(sides) - 1
    while at > 0 and key(sides[at]) in symbols:
        at -= 1
    found = exercise.read(sides[at] if sides else "", written)
    others = []
    for side in sides[:at]:
        try:
            others.append(exercise.read(side, written))
        except ValueError:
            continue  # a symbol, or a step on the way
    return found, others
