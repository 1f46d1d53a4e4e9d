"""A small language for answers: numbers, letters, + − * / ^, brackets, a few functions, and O(…).

Precedence climbing over our own tokens gives a tree of our own nodes. Nothing is ever evaluated as Python,
and length, depth, digits and exponents are bounded, so that no text can hang or harm the reader.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

LONGEST = 400  # characters
DEEPEST = 40  # brackets and signs inside each other
DIGITS = 30
MOST_POWER = 64  # written as a number

FUNCTIONS = {
    "min": 2, "max": 2, "mod": 2, "floor": 1, "ceil": 1, "abs": 1, "sqrt": 1, "exp": 1, "log": 1, "ln": 1,
}  # fmt: skip
SIGNS = str.maketrans({
    "−": "-", "–": "-", "·": "*", "⋅": "*", "×": "*", "÷": "/", "β": " beta ", "½": "(1/2)", "√": " sqrt ",
    "⌊": " floor(", "⌋": ")", "⌈": " ceil(", "⌉": ")", "[": "(", "]": ")", "Θ": "O",
})  # fmt: skip
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?|\.\d+)"
    r"|(?P<name>[A-Za-z]+(?:_\{?(?:\d+|[A-Za-z])\}?|\d+)?)"
    r"|(?P<sign>\*\*|[-+*/^%(),])|(?P<end>$))"
)
BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 4}
UNARY = 3  # −n² is −(n²)


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
    """A sign or a function with its arguments: + - * / ^ % neg, or a name of FUNCTIONS."""

    sign: str
    args: tuple[Node, ...]


Node = Num | Name | Op


@dataclass(frozen=True)
class Written:
    """What was read: a value, or a growth if it stood inside O(…)."""

    node: Node
    growth: bool


def parse(text: str, letters: Collection[str]) -> Written:
    """The expression that a text writes in these letters; products may be written side by side.

    >>> parse("2n", ["n"]).node
    Op(sign='*', args=(Num(value=Fraction(2, 1)), Name(name='n')))
    >>> parse("n**2 + m", ["n"])
    Traceback (most recent call last):
        ...
    ValueError: 'm' is no letter of this question, which has n: 'n**2 + m'
    """
    if len(text) > LONGEST:
        raise ValueError(f"an answer has at most {LONGEST} characters, got {len(text):,}")
    plain = re.sub(f"([{RAISED}]+)", lambda m: "^" + "".join(str(RAISED.index(c)) for c in m[1]), text)
    return _Parser(text, plain.translate(SIGNS), letters).written()


def names(node: Node) -> set[str]:
    """The letters that occur."""
    if isinstance(node, Op):
        return set().union(*(names(arg) for arg in node.args))
    return {node.name} if isinstance(node, Name) and node.name != "e" else set()


def plain_name(name: str) -> str:
    """x_1, x_{1} and x1 are one letter."""
    return re.sub(r"[_{}]", "", name)


class _Parser:
    def __init__(self, shown: str, text: str, letters: Collection[str]) -> None:
        self.shown, self.text = shown, text
        self.letters = {plain_name(letter): letter for letter in letters}
        self.at = self.depth = 0
        self.waiting: list[str] = []  # letters of a product written as one word
        self._next()

    def written(self) -> Written:
        growth = self.kind == "name" and self.value == "O" and "O" not in self.letters
        if growth:
            self._next()
            if self.value != "(":
                self._fail("O needs a bracket, as in O(n^2)")
        node = self._sum(0)
        if self.kind != "end":
            self._fail(f"did not expect {self.value!r}")
        return Written(node, growth)

    def _next(self) -> None:
        if self.waiting:
            self.kind, self.value = "name", self.waiting.pop(0)
            return
        match = TOKEN.match(self.text, self.at)
        if match is None:
            self._fail(f"{self.text[self.at :].lstrip()[:1]!r} has no meaning here")
        assert match.lastgroup is not None
        self.kind, self.value = match.lastgroup, match[match.lastgroup].replace("**", "^")
        self.at = match.end()

    def _sum(self, least: int) -> Node:
        """Precedence climbing: everything that binds at least so tightly."""
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(f"more than {DEEPEST} levels of brackets and signs")
        left = self._one()
        while True:
            sign, beside = self.value, self.kind in ("number", "name") or self.value == "("
            if beside:
                sign = "*"  # 2n, n(n+1)
            if self.kind == "end" or sign not in BINDS or BINDS[sign] < least:
                break
            if not beside:
                self._next()
            right = self._sum(BINDS[sign] if sign == "^" else BINDS[sign] + 1)
            if sign == "^":
                self._check_power(right)
            left = Op(sign, (left, right))
        self.depth -= 1
        return left

    def _one(self) -> Node:
        if self.kind == "number":
            if len(self.value) > DIGITS:
                self._fail(f"a number of more than {DIGITS} digits")
            value = Num(Fraction(self.value))
            self._next()
            return value
        if self.kind == "name":
            return self._word()
        if self.value in ("-", "+"):
            minus = self.value == "-"
            self._next()
            inner = self._sum(UNARY)
            return Op("neg", (inner,)) if minus else inner
        if self.value == "(":
            return self._bracket(1)[0]
        return self._fail(
            "something is missing at the end" if self.kind == "end" else f"did not expect {self.value!r}"
        )

    def _word(self) -> Node:
        word = self.value
        known = self.letters.get(plain_name(word))
        if known is None and word.lower() in FUNCTIONS:
            self._next()
            function = word.lower()
            if self.value != "(":
                if function in ("sqrt", "log", "ln"):  # √2, log n
                    return Op("log" if function == "ln" else function, (self._sum(UNARY),))
                self._fail(f"{function} needs a bracket")
            return Op("log" if function == "ln" else function, self._bracket(FUNCTIONS[function]))
        if known is None and word == "e":
            known = "e"
        if known is None and word.isalpha() and all(letter in self.letters for letter in word):
            known, self.waiting = self.letters[word[0]], list(word[1:])  # nt is n·t
        if known is None:
            rule = f"is no letter of this question, which has {', '.join(self.letters.values()) or 'none'}"
            self._fail(f"{word!r} {rule}")
        self._next()
        return Name(known)

    def _bracket(self, count: int) -> tuple[Node, ...]:
        self._next()
        found = [self._sum(0)]
        while self.value == "," and self.kind == "sign":
            self._next()
            found.append(self._sum(0))
        if self.value != ")":
            self._fail("a bracket is not closed")
        self._next()
        if len(found) != count:
            self._fail(f"{count} in this bracket, got {len(found)}")
        return tuple(found)

    def _check_power(self, power: Node) -> None:
        while isinstance(power, Op) and power.sign == "neg":
            power = power.args[0]
        if isinstance(power, Num) and power.value > MOST_POWER:
            self._fail(f"powers stop at {MOST_POWER}")

    def _fail(self, what: str) -> NoReturn:
        shown = self.shown if len(self.shown) <= 60 else self.shown[:57] + "…"
        raise ValueError(f"{what}: {shown!r}")
