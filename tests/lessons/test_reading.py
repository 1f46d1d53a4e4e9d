"""What was read of an answer, as MathML: well formed for every answer that can be read, and faithful."""

import re
from xml.etree import ElementTree

import pytest

from regard.lessons import get
from regard.lessons.checking.checker import reading
from regard.lessons.checking.expression import parse
from regard.lessons.render.reading import mathml
from tests.lessons.test_answers import TABLE


def bare(text):
    """MathML without its tags, fractions as (a)/(b) and powers as ^."""
    tree = ElementTree.fromstring(text.replace("&#8290;", "").replace("&#8289;", ""))

    def told(node):
        parts = [told(one) for one in node]
        if node.tag == "mfrac":
            return f"({parts[0]})/({parts[1]})"
        if node.tag in ("msup", "msub"):
            return f"{parts[0]}{'^' if node.tag == 'msup' else '_'}{parts[1]}"
        return (node.text or "") + "".join(parts)

    return told(tree)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n(n+1)/2", "(n(n+1))/(2)"),
        ("2n-(t-1)", "2n−(t−1)"),
        ("2n-t-1", "2n−t−1"),
        ("-n^2", "−n^2"),
        ("(-n)^2", "(−n)^2"),
        ("(n t)^2", "(nt)^2"),
        ("2*3", "2·3"),
        ("n + -t", "n+(−t)"),
        ("n mod t", "n mod t"),
        ("floor(n/t)", "⌊(n)/(t)⌋"),
        ("O(n^2)", "O(n^2)"),
        ("0.5n", "(1)/(2)n"),
        (r"\frac{n}{2}^2", "((n)/(2))^2"),
        ("min(n, t)", "min(n,t)"),
    ],
)
def test_brackets_stand_where_they_are_needed_and_nowhere_else(text, shown):
    assert bare(mathml(parse(text, ["n", "t"]))) == shown


def test_every_answer_that_is_read_is_well_formed():
    seen, exercise = set(), None
    for line in TABLE.splitlines():
        if match := re.match(r"\[(.+)\] (.+)", line):
            exercise = next(one for one in get(match[1]).exercises if one.name == match[2])
        elif line[:2] in ("+ ", "- "):
            try:
                found = reading(exercise, line[2:].partition("##")[0].strip())
            except ValueError:
                continue
            tree = ElementTree.fromstring(mathml(found))
            assert tree.tag == "math"
            seen.update(one.tag for one in tree.iter())
    assert {"mfrac", "msup", "msub", "mtable", "munderover", "msqrt"} <= seen
