"""The words of the plain language, and runs of letters taken apart: `nlog` is n·log, `x_1x_2` is x_1·x_2."""

from __future__ import annotations

import re
from collections.abc import Collection

from regard.errors import did_you_mean

FUNCTIONS = {  # how many arguments; 0 is two or more
    "min": 0, "max": 0, "mod": 2, "div": 2, "floor": 1, "ceil": 1, "abs": 1, "sqrt": 1, "exp": 1, "log": 1,
    "log2": 1, "log10": 1, "sin": 1, "cos": 1, "binom": 2, "pow": 2, "cases": 0,
}  # fmt: skip
SAME = {
    "ln": "log", "lg": "log", "ceiling": "ceil", "int": "floor", "trunc": "floor", "choose": "binom",
    "comb": "binom", "root": "sqrt", "log_2": "log2", "log_10": "log10", "log_e": "log", "wurzel": "sqrt",
}  # fmt: skip
GROWTHS = {"O": "O", "Theta": "O", "theta": "O", "Omega": "Omega", "omega": "Omega", "o": "o"}
COMBINATIONS = {"C", "nCr"}  # of two arguments, where they are no letters
INFIX = {"mod": "mod", "div": "//", "choose": "choose", "times": "*", "over": "/"}


def pieces(run: str, known: Collection[str], words: Collection[str]) -> list[str] | None:
    """A run of letters as known names and words, the longest first; None where it is none of them.

    >>> pieces("nlogn", ["n"], ["log"])
    ['n', 'log', 'n']
    >>> pieces("n2", ["n"], []) is None
    True
    """
    if run in known or run in words:
        return [run]
    size = len(run)
    taken: list[int | None] = [None] * size + [0]  # where the piece that begins here ends
    after_root = [False] * (size + 1)
    for at in reversed(range(size)):
        for end in range(min(size, at + 24), at, -1):
            piece = run[at:end]
            rooted = piece.isdigit() and run[:at].endswith(("sqrt", "log", "ln"))
            if taken[end] is not None and (piece in known or (piece in words and len(piece) > 1) or rooted):
                if after_root[end] and piece not in words:
                    continue
                taken[at], after_root[at] = end, rooted
                break
    out, at = [], 0
    while at < size:
        until = taken[at]
        if until is None:
            return None
        out.append(run[at:until])
        at = until
    return out


def unknown(run: str, letters: Collection[str], text: str) -> str:
    """Why a word of a text cannot be read."""
    shown = run if len(run) <= 24 else run[:23] + "…"
    rule = f"{shown!r} is no letter of this question, which has {', '.join(letters) or 'none'}"
    number = re.fullmatch(r"([A-Za-z])(\d)", run)
    if number is not None and number[1] in letters:
        return f"{rule}; write {number[1]}^{number[2]} or {number[2]}{number[1]}"
    hint = did_you_mean(run.lower(), [*FUNCTIONS, *SAME], least=0.76)
    if hint and run.lower() not in FUNCTIONS:
        return rule + hint
    known = {*FUNCTIONS, *SAME, *INFIX, *map(str.lower, GROWTHS), *letters}
    if any(word.lower() not in known for word in re.findall(r"(?<![A-Za-z0-9_])[A-Za-z]{3,}", text)):
        return f"{rule}; write the formula alone, without words"
    return rule
