"""Plain texts cut at signs that stand outside brackets."""

from __future__ import annotations

import re


def outer(text: str) -> str:
    """The text with everything inside brackets blanked out.

    >>> outer("f(a, b) = c")
    'f(____) = c'
    """
    out, depth = [], 0
    for sign in text:
        depth = max(depth - (sign in ")]"), 0)
        out.append("_" if depth > 0 else sign)
        depth += sign in "(["
    return "".join(out)


def cut(text: str, pattern: str) -> list[str]:
    """The parts between signs outside brackets.

    >>> cut("f(a, b), c", ",")
    ['f(a, b)', ' c']
    """
    out, start = [], 0
    for match in re.finditer(pattern, outer(text)):
        out.append(text[start : match.start()])
        start = match.end()
    return [*out, text[start:]]


def inside(text: str) -> str:
    """What stands in the bracket ( that a text begins with, up to where it is closed.

    >>> inside("(a, f(b)) + c")
    'a, f(b)'
    """
    return text[1 : len(outer(text).partition(")")[0])]


def bare(text: str) -> str:
    """The text without brackets around the whole of it.

    >>> bare("((1), [2])"), bare("(1)(2)")
    ('(1), [2]', '(1)(2)')
    """
    text = text.strip()
    while text[:1] + text[-1:] in ("()", "[]") and _closed(text[1:-1]):
        text = text[1:-1].strip()
    return text


def _closed(text: str) -> bool:
    depth = 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if depth < 0:
            return False
    return depth == 0
