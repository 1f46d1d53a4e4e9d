"""The tree of an expression: numbers, letters, and signs or functions with their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

CONSTANTS = {"e", "pi"}
BINDERS = {"sum", "prod"}  # of a letter, its first and last value, and a term


@dataclass(frozen=True)
class Num:
    """A number, exactly."""

    value: Fraction


@dataclass(frozen=True)
class Name:
    """A letter of the question, or a constant."""

    name: str


@dataclass(frozen=True)
class Op:
    """A sign or a function with its arguments.

    `cases` has a condition, its value, and what holds else; a comparison is 1 or 0.
    """

    sign: str
    args: tuple[Node, ...]


Node = Num | Name | Op


def names(node: Node) -> set[str]:
    """The letters that occur; those that a sum binds do not count."""
    return {name for name in _free(node) if name not in CONSTANTS}


def _free(node: Node) -> Iterator[str]:
    if isinstance(node, Name):
        yield node.name
    elif isinstance(node, Op) and node.sign in BINDERS:
        letter, first, last, term = node.args
        yield from (*_free(first), *_free(last), *(one for one in _free(term) if Name(one) != letter))
    elif isinstance(node, Op):
        for arg in node.args:
            yield from _free(arg)


def in_order(node: Node) -> list[str]:
    """The letters that occur, each once, as they come from left to right."""
    return [name for name in dict.fromkeys(_free(node)) if name not in CONSTANTS]


def put(node: Node, table: Mapping[str, Node]) -> Node:
    """The tree with other trees in place of letters."""
    if isinstance(node, Name):
        return table.get(node.name, node)
    if isinstance(node, Num):
        return node
    if node.sign in BINDERS:
        letter, first, last, term = node.args
        inside = {name: other for name, other in table.items() if Name(name) != letter}
        return Op(node.sign, (letter, put(first, table), put(last, table), put(term, inside)))
    return Op(node.sign, tuple(put(arg, table) for arg in node.args))


def signs(node: Node) -> set[str]:
    """The signs and functions that occur."""
    return {node.sign}.union(*map(signs, node.args)) if isinstance(node, Op) else set()


def height(node: Node) -> int:
    """How many signs stand inside each other; found without recursion, since a long sum is a tall tree."""
    tallest, waiting = 0, [(node, 1)]
    while waiting:
        one, level = waiting.pop()
        tallest = max(tallest, level)
        if isinstance(one, Op):
            waiting += [(arg, level + 1) for arg in one.args]
    return tallest
