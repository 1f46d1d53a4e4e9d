"""The tree of an expression: numbers, letters, and signs or functions with their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Num:
    """A number, exactly."""

    value: Fraction


@dataclass(frozen=True)
class Name:
    """A letter of the question, or e."""

    name: str


@dataclass(frozen=True)
class Op:
    """A sign or a function with its arguments; a sum has its letter, first, last and term."""

    sign: str
    args: tuple[Node, ...]


Node = Num | Name | Op


def names(node: Node) -> set[str]:
    """The letters that occur; those that a sum binds do not count."""
    if isinstance(node, Op):
        found = set().union(*(names(arg) for arg in node.args))
        return found if node.sign != "sum" else (found - names(node.args[0])) | names(_ends(node))
    return {node.name} if isinstance(node, Name) and node.name != "e" else set()


def _ends(node: Op) -> Op:
    return Op("ends", node.args[1:3])


def in_order(node: Node) -> Iterator[str]:
    """Every letter that occurs, from left to right, bound ones too."""
    if isinstance(node, Op):
        for arg in node.args:
            yield from in_order(arg)
    elif isinstance(node, Name):
        yield node.name


def renamed(node: Node, table: Mapping[str, str]) -> Node:
    """The same tree with other letters."""
    if isinstance(node, Name):
        return Name(table.get(node.name, node.name))
    if isinstance(node, Num):
        return node
    if node.sign == "sum":
        letter, first, last, term = node.args
        inside = {name: other for name, other in table.items() if Name(name) != letter}
        ends = (renamed(first, table), renamed(last, table))
        return Op("sum", (letter, *ends, renamed(term, inside)))
    return Op(node.sign, tuple(renamed(arg, table) for arg in node.args))


def put(node: Node, letter: str, value: Fraction) -> Node:
    """The tree with a number in place of a letter."""
    if isinstance(node, Name):
        return Num(value) if node.name == letter else node
    if isinstance(node, Num) or (node.sign == "sum" and node.args[0] == Name(letter)):
        return node
    return Op(node.sign, tuple(put(arg, letter, value) for arg in node.args))


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
