"""Answers in matrices that do not commute, with a function that is only known by name: φ_y(W_y W_h W_x x_1).

Two such expressions are compared on small whole matrices of unequal sides, so that the order of a product
matters; the unknown function is one that is not linear and takes no value twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from operator import mul
from random import Random
from typing import ClassVar, TypeVar

from regard.lessons.checking.diagnosis import explained
from regard.lessons.checking.exercise import Question
from regard.lessons.checking.expression import Written, parse
from regard.lessons.checking.letters import Letters
from regard.lessons.checking.nodes import Name, Node, Num, Op, signs
from regard.lessons.checking.tokens import RELATIONS
from regard.lessons.checking.verdict import Finding
from regard.lessons.checking.words import FUNCTIONS

DRAWS = 4
BITS = 4_000  # of an entry
MOST_POWER = 8

NUMBERS_ONLY = {*FUNCTIONS, *RELATIONS, "%", "/", "sum", "prod", "and", "nothing"}

Matrix = tuple[tuple[Fraction, ...], ...]
Value = Fraction | Matrix
Kind = TypeVar("Kind", Fraction, Matrix, Value)


class MisfitError(ValueError):
    """Two matrices whose sides do not allow what is asked of them."""


@dataclass(frozen=True, kw_only=True)
class ProductExercise(Question):
    """A question for an expression in matrices; `shapes` gives each letter its (rows, columns).

    `functions` gives spellings of functions: each is `identity`, or the name of one that is unknown.
    """

    shapes: Mapping[str, tuple[int, int]]
    functions: Mapping[str, str] = field(default_factory=dict)
    unknown: str = ""  # the function that an answer must have
    missing: str = ""  # said of one that has it not
    zeros: tuple[str, ...] = ()  # letters that stand for zero
    kind: ClassVar[str] = "matrices"

    @property
    def letters(self) -> tuple[str, ...]:
        """What an answer may use."""
        return tuple(self.shapes)

    @cached_property
    def alphabet(self) -> Letters:
        """The letters and the functions of this question."""
        return Letters(self.letters, self.aliases, self.functions)

    def find(self, answer: Written) -> Finding:
        """Whether the answer is the truth for every choice of matrices."""
        if answer.growth:
            return Finding(False, "the question asks for the expression itself, not for its growth")
        try:
            given = self._values(answer.node)
        except MisfitError as error:
            return Finding(False, f"wrong: {error}")
        if given == self._values(self._node(self.formula)):
            return Finding(True, f"right: equal for {DRAWS} choices of whole matrices, whatever φ is")
        if self.unknown and self.unknown not in signs(answer.node):
            return self._without(answer.node)
        wrong = ((self._values(self._node(formula)), says) for formula, says in self.mistakes.items())
        mistake = next((says for values, says in wrong if given == values), "")
        more = explained(mistake) if mistake else self._first_difference(answer.node)
        return Finding(False, "wrong: it is another function of the inputs", (more,) if more else (), mistake)

    def _without(self, node: Node) -> Finding:
        """Of an answer that lacks the unknown function."""
        inside = self._values(Op(self.unknown, (node,))) == self._values(self._node(self.formula))
        more = "inside it, yours is right" if inside else "and what stands inside it is not right either"
        return Finding(False, f"wrong: {self.missing}", (more,), self.missing)

    def _node(self, formula: str) -> Node:
        return parse(formula, self.alphabet).node

    def _values(self, node: Node) -> list[Value]:
        return [value(node, self._draw(seed)) for seed in range(DRAWS)]

    def _draw(self, seed: int, *without: str) -> dict[str, Matrix]:
        random = Random(seed)
        out = {
            letter: tuple(tuple(Fraction(random.randint(-3, 3)) for _ in range(cols)) for _ in range(rows))
            for letter, (rows, cols) in self.shapes.items()
        }
        nothing = {*without, *self.zeros}
        return {k: _map(v, lambda x: x * 0) if k in nothing else v for k, v in out.items()}

    def _first_difference(self, node: Node) -> str:
        """Which inputs are treated wrongly: those without which it would be right."""
        true = self._node(self.formula)
        inputs = [letter for letter, (_, cols) in self.shapes.items() if cols == 1]
        for letter in inputs:
            if all(value(node, d) == value(true, d) for d in (self._draw(s, letter) for s in range(DRAWS))):
                return f"only the term with {letter} is wrong"
        alone = isinstance(node, Op) and node.sign == self.unknown and self.unknown not in signs(node.args[0])
        return "more than one term is wrong" if alone else ""

    def as_dict(self) -> dict[str, object]:
        """The question, without its answer."""
        return super().as_dict() | {"functions": sorted(set(self.functions.values()))}


def value(node: Node, at: Mapping[str, Matrix]) -> Value:  # noqa: PLR0911  one line for each sign
    """The value of an expression in matrices.

    >>> one = ((Fraction(1), Fraction(2)),)
    >>> value(parse("2A B", "AB").node, {"A": one, "B": ((Fraction(3),), (Fraction(4),))})
    ((Fraction(22, 1),),)
    """
    if isinstance(node, Num):
        return node.value
    if isinstance(node, Name):
        if node.name not in at:
            raise MisfitError(f"{node.name} is no matrix here")
        return at[node.name]
    args = [value(arg, at) for arg in node.args]
    if node.sign == "neg":
        return _map(args[0], lambda x: -x)
    if node.sign in ("+", "-"):
        return _plus(node, *args)
    if node.sign == "*":
        return _times(node, *args)
    if node.sign == "/" and isinstance(args[1], Fraction) and args[1] != 0:
        divisor = args[1]
        return _map(args[0], lambda x: x / divisor)
    if node.sign == "^":
        return _power(node, *args)
    if node.sign == "identity":
        return args[0]
    if node.sign in NUMBERS_ONLY:
        raise MisfitError(f"{node.sign!r} is nothing for matrices here")
    return _map(args[0], lambda x: x**3 + x)  # a function that is only known by name


def _plus(node: Op, a: Value, b: Value) -> Value:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b if node.sign == "+" else a - b
    if isinstance(a, Fraction) or isinstance(b, Fraction) or _shape(a) != _shape(b):
        raise MisfitError(f"{said(node)} does not fit: {_sides(a)} and {_sides(b)} cannot be added")
    sign = 1 if node.sign == "+" else -1
    return tuple(tuple(x + sign * y for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True))


def _times(node: Op, a: Value, b: Value) -> Value:
    if isinstance(a, Fraction):
        return _map(b, lambda x: a * x)
    if isinstance(b, Fraction):
        return _map(a, lambda x: x * b)
    if len(a[0]) != len(b):
        raise MisfitError(
            f"the order matters, and {said(node)} does not fit: {_sides(a)} times {_sides(b)}; "
            "vectors are columns, and what is done last stands on the left"
        )
    columns = list(zip(*b, strict=True))
    return tuple(tuple(_small(sum(map(mul, row, col), Fraction(0))) for col in columns) for row in a)


def _power(node: Op, a: Value, b: Value) -> Value:
    if not isinstance(b, Fraction) or b.denominator != 1 or not 0 <= b <= MOST_POWER:
        raise MisfitError(f"a power of a matrix is a whole number up to {MOST_POWER}")
    if isinstance(a, Fraction):
        return _map(a, lambda x: x ** int(b))
    if len(a) != len(a[0]):
        raise MisfitError(f"{said(node)} does not fit: {_sides(a)} is not square")
    out: Value = tuple(tuple(Fraction(i == j) for j in range(len(a))) for i in range(len(a)))
    for _ in range(int(b)):
        out = _times(node, out, a)
    return out


def _map(a: Kind, function: Callable[[Fraction], Fraction]) -> Kind:
    """Every entry changed, and none too large."""
    if isinstance(a, Fraction):
        return _small(function(a))
    return tuple(tuple(_small(function(x)) for x in row) for row in a)


def _small(x: Fraction) -> Fraction:
    if max(x.numerator.bit_length(), x.denominator.bit_length()) > BITS:
        raise MisfitError("a number too large")
    return x


def _shape(a: Matrix) -> tuple[int, int]:
    return len(a), len(a[0])


def _sides(a: Value) -> str:
    return "a number" if isinstance(a, Fraction) else f"{len(a)}×{len(a[0])}"


def said(node: Node) -> str:
    """The outermost part of an expression for readers: W_x W_h, or … where more stands inside."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Num):
        return str(node.value)
    left, right = node.args[0], node.args[-1]
    a, b = (said(one) if not isinstance(one, Op) or one.sign == "*" else "(…)" for one in (left, right))
    return f"{a} {b}" if node.sign == "*" else f"{a} {node.sign} {b}"
