"""Answers as equations: which question is named, what it is set equal to, and what stands behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import did_you_mean
from regard.lessons.checking.brackets import cut, outer
from regard.lessons.checking.exercise import Question
from regard.lessons.checking.latex import plain

BEHIND = re.compile(
    r"[,;]|\b(?:for|if|when|where|whenever|provided|assuming|falls|wenn|für|with|since|because|so that|and|"
    r"und)\b"
)
RELATIONS = {"≤": "an inequality", "≥": "an inequality", "<": "an inequality", ">": "an inequality", "≠": "≠"}
CLAIM = re.compile(r"[≤≥<>≠=∣]|\bdivides\b")
REMARK = re.compile(r"\s*(?=.*[A-Za-z]{3})(?:[A-Za-z'-]+\s*)+\.?\s*")
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
NAMED = re.compile(r"\s*([A-Za-z*(][A-Za-z0-9 _*{}()^⊤-]{0,40}?)\s*:(?!=)(.+)", re.DOTALL)
SYMBOL = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\([A-Za-z0-9_,\s]*\))?\s*")
LIMIT = re.compile(r"\s*(?:[-+]?[\d.]+|[-+]?∞)\s*(?:(?:for|as|when|if|with|,)(?![A-Za-z]).*)?", re.DOTALL)


@dataclass(frozen=True)
class Equation:
    """The sides of an answer from left to right, what it says of letters (k = t+1), and other conditions."""

    sides: tuple[str, ...]
    given: tuple[tuple[str, str], ...] = ()
    condition: str = ""


def split(text: str) -> Equation:
    """A plain text at its equals signs; of a chain of conclusions, the last one.

    >>> split("h_4 = x_4 - h_3 = x_4 - x_3").sides
    ('h_4', 'x_4 - h_3', 'x_4 - x_3')
    >>> split("strided: n k, n ≥ t, k = t + 1")
    Equation(sides=('strided', 'n k'), given=(('k', 't + 1'),), condition='n ≥ t')
    """
    for spelled, sign in ASCII.items():
        text = text.replace(spelled, sign)
    text = re.sub(r"<([^<>=≤≥]*,[^<>=≤≥]*)>", r"(\1)", text)  # a product in angles
    named = NAMED.match(text)
    first = [] if named is None else [named[1]]
    text = _concluded(_chosen(text if named is None else named[2]), first)
    body, behind = _behind(text)
    for sign, kind in RELATIONS.items():
        if sign in outer(body):
            raise ValueError(f"an answer is a formula or an equation, and {sign!r} makes it {kind}")
    if "≈" in body:
        raise ValueError("≈ says about: give it exactly")
    sides = [_trimmed(side) for side in cut(UNITS.sub("", _trimmed(body)), "=")]
    given, conditions = [], []
    for clause in behind:
        parts = [part.strip() for part in cut(clause, "=")]
        if len(parts) > 1 and not re.search("[≤≥<>≠]", clause) and re.fullmatch(r"[A-Za-z]\w*", parts[0]):
            given.append((parts[0], parts[-1]))
        else:
            conditions.append(clause)
    return Equation(tuple(side for side in [*first, *sides] if side), tuple(given), ", ".join(conditions))


def _concluded(text: str, first: list[str]) -> str:
    """The last conclusion of a chain; a limit behind the formula, which is none, is left out."""
    parts = text.split("⇒")
    while len(parts) > 1 and LIMIT.fullmatch(parts[-1]) and re.search("[A-Za-z]", parts[-2].split("=")[-1]):
        parts.pop()
    head = parts[0].split("=")[0]
    if len(parts) > 1 and not first and re.fullmatch(r"\s*[A-Za-z]{2}[A-Za-z\s_*-]+", head):
        first.append(head.strip())
    return parts[-1]


def _chosen(text: str) -> str:
    """With `a if c else b` as cases(c, a, b)."""
    match = re.search(r"\bif\b(.+?)\belse\b", outer(text), re.DOTALL)
    if match is None:
        return text
    head, equals, then = text[: match.start()].rpartition("=")
    condition = text[match.start(1) : match.end(1)]
    return f"{head}{equals} cases({condition}, {then}, {_chosen(text[match.end() :])})"


def _behind(text: str) -> tuple[str, list[str]]:
    """The formula, and the clauses behind it: "n(t+1), n ≥ t", "n² for all n", "n w (w | n)"."""
    whole = text.rstrip(" \n.,;")
    start = max(whole.rfind("("), whole.rfind("["))
    if whole.endswith((")", "]")) and whole[:start].rstrip()[-1:] not in ("", *"+-*/^=(["):
        inner = whole[start + 1 : -1]
        if re.search(r"[≤≥<>≠∣=]|\bdivides\b", inner) and not whole[start - 5 :].startswith("cases"):
            body, more = _behind(text[:start])
            return body, [*more, inner.strip()]
    flat, at, sign = outer(text), 0, ""
    out: list[str] = []
    for match in [*BEHIND.finditer(flat), None]:
        end = len(text) if match is None else match.start()
        piece = text[at:end]
        bare = re.sub(r"^\s*(?:for|if|all|any|every|where|with)\b", "", piece)
        claims = CLAIM.search(flat[at:end]) or re.fullmatch(r"\s*[A-Za-z]\s*\|\s*[A-Za-z]\s*\.?\s*", piece)
        if not out or (len(sign) == 1 and not claims and (len(out) > 1 or not REMARK.fullmatch(piece))):
            out[-1:] = ["".join(out[-1:]) + sign + piece]
        elif sign in ("and", "und") and not claims:
            out[-1] += sign + piece
        else:
            out.append(bare)
        if match is not None:
            at, sign = match.end(), match[0]
    if not out[0].strip(" ,;"):
        return text, []
    return out[0], [clause for one in out[1:] if (clause := one.strip(" .,;()\n"))]


def _trimmed(text: str) -> str:
    text = re.sub(r"^\s*\*\*(.*)\*\*\s*$", r"\1", text, flags=re.DOTALL)
    return re.sub(r"(?:\s|&|;|\.(?!\d)|,)+$", "", re.sub(r"^(?:\s|&|;|,)+", "", text))


def key(text: str) -> str:
    """A name or symbol in the form in which two are compared.

    >>> key("Scores_First"), key("|x_{1}|")
    ('scoresfirst', 'x1')
    """
    return re.sub(r"[^a-z0-9]", "", re.sub(r"(?<=[|‖])\s*_\s*\w+", "", text).lower())


def _bracketed(text: str) -> str:
    """The same with brackets, where they tell symbols apart: (QKᵀ)V and Q(KᵀV)."""
    text = re.sub(r"\^?\(t\)|\^?⊤|\^t", "t", text.lower())
    return re.sub(r"[^a-z0-9()]", "", text)


def addressed(exercises: Sequence[Question], sides: Sequence[str]) -> tuple[list[Question], list[str]]:
    """The questions that the left side means, which may be none, and the sides that are left."""
    if len(sides) < 2:
        return [], list(sides)
    first = key(sides[0])
    for same in (
        lambda e: key(e.name) == first,
        lambda e: _bracketed(sides[0]) in map(_bracketed, e.left),
        lambda e: first in map(key, e.left),
    ):
        meant = [e for e in exercises if same(e)]
        if meant:
            return meant, list(sides[1:])
    others = siblings(first, [symbol for e in exercises for symbol in e.left])
    if others:
        raise ValueError(f"no question asks for {sides[0].strip()}; one asks for {', one for '.join(others)}")
    if WORDS.fullmatch(sides[0]) and not _readable(exercises, sides[0]):
        words = set(re.findall("[a-z]+", sides[0].lower()))
        inside = [e for e in exercises if set(e.name.split("-")) <= words]
        if inside:
            return [max(inside, key=lambda e: len(e.name))], list(sides[1:])
        known = ", ".join(e.name for e in exercises)
        hint = did_you_mean(sides[0].strip(" *").lower(), [e.name for e in exercises], least=0.7)
        raise ValueError(f"no question is called {sides[0].strip(' *')!r}{hint}; the questions are: {known}")
    return [], list(sides)


def unnamed(exercise: Question, answer: str) -> str:
    """The answer as it was written, without the name of its question in front."""
    match = re.match(r"([^=:]{1,80}?)\s*(?::=|[=:])(?!=)\s*\}?\s*(?=\S)", answer)
    if match is None or key(re.sub(r"\\[a-z]+|\\.", "", match[1])) != key(exercise.name):
        return answer
    return re.sub(r" ?(?:\${1,2}|\\\)|\\\]|\\\\)?$", "", " ".join(answer[match.end() :].split()))


def siblings(symbol: str, others: Sequence[str]) -> list[str]:
    """Symbols that differ from this one in their number alone: h_4 for h3."""
    match = re.fullmatch(r"([a-z]+)(\d+)", symbol)
    if match is None or symbol in map(key, others):
        return []
    found = dict.fromkeys(o for o in others if re.fullmatch(match[1] + r"\d+", key(o)))
    return list(found)


def names_the_result(exercise: Question, side: str) -> bool:
    """Whether a side is only what the student calls the result: N, or f(n)."""
    match = SYMBOL.fullmatch(side)
    return match is not None and match[1] not in exercise.alphabet.own_forms


def _readable(exercises: Sequence[Question], text: str) -> bool:
    for exercise in exercises:
        try:
            exercise.read(text, text)
        except ValueError:
            continue
        return True
    return False


def named(exercises: Sequence[Question], text: str) -> list[Question]:
    """The questions that a text means as a name or symbol of what is asked for; it may be none."""
    try:
        return addressed(exercises, [plain(text).strip(" :=*"), "…"])[0]
    except ValueError:
        return []
