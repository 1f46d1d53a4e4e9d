"""Sums over numbered letters, k_1 x_1 + k_2 x_2 + …, written out."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from functools import reduce

from regard.lessons.checking.evaluate import exact
from regard.lessons.checking.nodes import Name, Node, Num, Op, names, put

MOST = 30  # terms


def unrolled(letter: str, ends: tuple[Node, Node], term: Node, known: Collection[str]) -> Node:
    """The sum of the term for each number that the letter takes, with x_[1+1] as x_2.

    >>> from regard.lessons.checking.expression import parse
    >>> parse("sum_{i=1}^{2} x_{i+1}", ["x_2", "x_3"]).node
    Op(sign='+', args=(Name(name='x_2'), Name(name='x_3')))
    """
    try:
        begin, end = (int(exact(one, {})) for one in ends)
    except (KeyError, ArithmeticError):
        raise ValueError("a sum over numbered letters needs numbers for its ends") from None
    if not 0 <= end - begin < MOST:
        raise ValueError(f"a sum over numbered letters has from 1 to {MOST} terms")
    terms = [_numbered(put(term, {letter: Num(Fraction(i))}), known) for i in range(begin, end + 1)]
    return reduce(lambda a, b: Op("+", (a, b)), terms)


def _numbered(node: Node, known: Collection[str]) -> Node:
    if not isinstance(node, Op):
        return node
    if node.sign != "index" or names(node.args[1]):
        return Op(node.sign, tuple(_numbered(arg, known) for arg in node.args))
    family, index = node.args
    assert isinstance(family, Name)
    try:
        name = f"{family.name}_{exact(index, {})}"
    except ArithmeticError:
        raise ValueError("a subscript is a number or a word") from None
    if name not in known:
        raise ValueError(f"there is no {name} here")
    return Name(name)
