"""A small language for answers: numbers, letters, + − * / ^, brackets, a few functions, sums, and O(…).

LaTeX and the signs of keyboards are translated first. Precedence climbing over our own tokens then gives a
tree of our own nodes. Nothing is ever run as Python, and length, depth, digits and exponents are bounded, so
that no text can hang or harm the reader.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from regard.lessons.checking.brackets import inside, outer
from regard.lessons.checking.latex import plain
from regard.lessons.checking.letters import Letters
from regard.lessons.checking.nodes import Name, Node, Num, Op, height, signs
from regard.lessons.checking.spelling import from_code
from regard.lessons.checking.tokens import RELATIONS, RUN, Tokens
from regard.lessons.checking.unrolling import unrolled
from regard.lessons.checking.words import COMBINATIONS, FUNCTIONS, GROWTHS, INFIX, SAME

LONGEST = 1_500  # characters
DEEPEST = 40  # brackets and signs inside each other
TALLEST = 150  # terms of a sum, which is a tree leaning to the left
MOST_POWER = 64  # written as a number
MOST_CHOSEN = 8  # below in a binomial

BINDS = dict.fromkeys(RELATIONS, 0) | dict.fromkeys("+-", 1) | {"^": 4}
BINDS |= dict.fromkeys(("*", "/", "//", "%", "mod", "choose"), 2)
UNARY = 3  # −n² is −(n²)
CLOSES = {"(": ")", "[": "]"}


@dataclass(frozen=True)
class Written:
    """What was read: a tree, the growth that it stood in (O, Omega, o, or none), and letters translated."""

    node: Node
    growth: str = ""
    read: tuple[tuple[str, str], ...] = ()


def parse(text: str, letters: Collection[str] | Letters) -> Written:
    """The expression that a text writes in these letters; products may be written side by side.

    >>> parse("2n", ["n"]).node
    Op(sign='*', args=(Num(value=Fraction(2, 1)), Name(name='n')))
    >>> parse(r"\\frac n2", ["n"]).node == parse("n/2", ["n"]).node
    True
    >>> parse("n**2 + m", ["n"])
    Traceback (most recent call last):
        ...
    ValueError: 'm' is no letter of this question, which has n: 'n**2 + m'
    """
    short(text)
    try:
        translated = plain(text)
    except ValueError as error:
        raise refusal(error, text) from None
    return parse_plain(translated, letters, text)


def parse_plain(text: str, letters: Collection[str] | Letters, written: str) -> Written:
    """The same for a text that is plain already; `written` is shown where it cannot be read."""
    known = letters if isinstance(letters, Letters) else Letters(tuple(letters))
    try:
        return _Parser(from_code(text, known.families - set(known.spelled)), known).written()
    except ValueError as error:
        raise refusal(error, written) from None


def refusal(why: ValueError, text: str) -> ValueError:
    """The error of a text that cannot be read: what it is and where, on one line."""
    return ValueError(f"{' '.join(str(why).split())}: {quoted(text)}")


def short(text: str) -> None:
    """Refuse a text that is too long to be an answer."""
    if len(text) > LONGEST:
        raise ValueError(f"an answer has at most {LONGEST:,} characters, got {len(text):,}")


def quoted(text: str) -> str:
    """A text in an error message: in quotes, on one line, and not too long."""
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else line[:57] + "…").replace("\\\\", "\\")


class _Parser(Tokens):
    def __init__(self, text: str, letters: Letters) -> None:
        super().__init__(text, letters)
        self.depth = 0
        self.bars = [0]  # how many | are open, for each bracket around this place
        self.growth = ""

    def written(self) -> Written:
        node = self._sum(0)
        if self.token.kind != "end":
            self._unexpected()
        if height(node) > TALLEST:
            raise ValueError(f"more than {TALLEST} terms")
        node, read = self.letters.settled(node)
        return Written(node, self.growth, read)

    def _sum(self, least: int) -> Node:
        """Precedence climbing: everything that binds at least so tightly."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} levels")
        left = self._one()
        while True:
            sign, beside = self._between()
            if sign not in BINDS or BINDS[sign] < least:
                break
            if beside and self.token.kind == "number" and not self._raised_behind():
                raise ValueError(f"a sign is missing before {self.token.text}: * or ^?")
            if not beside:
                self.next()
            right = self._sum(BINDS[sign] if sign == "^" else BINDS[sign] + 1)
            left = self._join(sign, left, right)
        self.depth -= 1
        return left

    def _between(self) -> tuple[str, bool]:
        """The sign that joins what was read to what follows, and whether it is only meant."""
        token = self.token
        if token.kind == "word" and token.text.lower() in INFIX and not self._is_call():
            return INFIX[token.text.lower()], False
        if token.kind in ("number", "name", "indexed", "word") or token.text in ("(", "[", "∑", "∏"):
            return "*", True  # 2n, n(n+1)
        if token.text == "|" and self.bars[-1] == 0:
            return "*", True
        return token.text, False

    def _raised_behind(self) -> bool:
        """Whether a number behind a bracket is a factor: (n+1)2^{-1}."""
        number = re.escape(self.token.text)
        return re.search(rf"\)\s*{number}$", self.text[: self.at]) is not None and self.text.startswith(
            ("^", "**"), self.at
        )

    def _is_call(self) -> bool:
        """Whether mod(n, w) stands here and not n mod (w)."""
        rest = self.text[self.at :].lstrip()
        return not self.waiting and rest.startswith("(") and "," in outer(inside(rest))

    def _join(self, sign: str, left: Node, right: Node) -> Node:
        if sign == "^":
            self._check_power(right)
        if sign in RELATIONS and isinstance(left, Op) and left.sign in RELATIONS:  # 1 ≤ t ≤ n
            return Op("and", (left, Op(sign, (left.args[1], right))))
        if sign == "//":
            return Op("floor", (Op("/", (left, right)),))
        if sign == "choose":
            return self._choose(left, right)
        return Op(sign, (left, right))

    def _one(self) -> Node:  # noqa: PLR0911  one line for each kind of token
        token = self.token
        if token.kind == "number":
            self.next()
            return Num(token.value)
        if token.kind == "name":
            self.next()
            return self._name(token.text)
        if token.kind == "indexed":
            self.next()
            return Op("index", (Name(token.text), *self._bracket(1)))
        if token.kind == "word":
            return self._word()
        if token.text in ("-", "+"):
            self.next()
            inner = self._sum(UNARY)
            return Op("neg", (inner,)) if token.text == "-" else inner
        if token.text in CLOSES:
            return self._bracket(1)[0]
        if token.text == "|":
            return self._bars()
        if token.text in ("∑", "∏"):
            return self._summed("sum" if token.text == "∑" else "prod")
        return self._unexpected()

    def _word(self) -> Node:
        word = self.token.text
        self.next()
        own = self.letters.functions.get(word)
        if own is not None:
            if self.token.text not in CLOSES:
                raise ValueError(f"{word} needs a bracket")
            return Op(own, self._bracket(1))
        if word in GROWTHS and word.lower() not in FUNCTIONS:
            if self.token.text not in CLOSES:
                raise ValueError(f"{word} needs a bracket, as in {word}(n^2)")
            self.growth = max(self.growth, GROWTHS[word], key=("", "O", "o", "Omega").index)
            return self._bracket(1)[0]
        function = "binom" if word in COMBINATIONS else SAME.get(word.lower(), word.lower())
        if function not in FUNCTIONS:
            raise ValueError(f"did not expect {word!r}")
        return self._call(function)

    def _call(self, function: str) -> Node:
        power = None
        if self.token.text == "^" and FUNCTIONS[function] == 1:  # log² n
            self.next()
            power = self._sum(UNARY + 1)
            self._check_power(power)
        if self.token.text in CLOSES:
            found = self._bracket(FUNCTIONS[function])
        elif function in ("sqrt", "exp", "sin", "cos") or function.startswith("log"):
            found = (self._bare(function),)
        else:
            raise ValueError(f"{function} needs a bracket")
        node = self._applied(function, found)
        return node if power is None else Op("^", (node, power))

    def _bare(self, function: str) -> Node:
        """An argument without a bracket: 2 of √2n, n of log n d, but 2n of log 2n, and ωk of cos ωk."""
        inner = self._sum(UNARY)
        while self._goes_on(function, inner):
            if self.token.text == "*":
                self.next()
            inner = Op("*", (inner, self._sum(UNARY)))
        return inner

    def _goes_on(self, function: str, inner: Node) -> bool:
        """Whether what follows still belongs to the argument: k of cos ω·k, (t+k) of sin ω(t+k)."""
        if function.startswith("log"):
            return self.token.kind == "name" and isinstance(inner, Num)
        if function not in ("sin", "cos", "exp"):
            return False
        rest = self.text[self.at :].lstrip()
        if self.token.text == "*":
            run = RUN.match(rest)
            return run is not None and self._words(run[0])[0].kind == "name"
        waves = re.search("sin|cos|exp", inside("(" + rest))
        return self.token.kind == "name" or (self.token.text == "(" and not waves)

    def _applied(self, function: str, args: tuple[Node, ...]) -> Node:  # noqa: PLR0911
        if function in ("min", "max"):
            node = args[0]
            for arg in args[1:]:
                node = Op(function, (node, arg))
            return node
        if function in ("log2", "log10"):
            base = Num(Fraction(function[3:]))
            return Op("/", (Op("log", args), Op("log", (base,))))
        if function == "binom":
            return self._choose(*args)
        if function == "cases":
            nothing = Op("nothing", ())
            *pairs, last = args if len(args) % 2 else (*args, nothing)
            for condition, then in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
                last = Op("cases", (condition, then, last))
            return last
        if function == "pow":
            return self._join("^", *args)
        if function == "div":
            return self._join("//", *args)
        return Op(function, args)

    def _bracket(self, count: int) -> tuple[Node, ...]:
        closing = CLOSES[self.token.text]
        self.arguments += count != 1
        self.bars.append(0)
        self.brackets += 1
        self.next()
        found = [self._sum(0)]
        while self.token.text == "," and count != 1:
            self.next()
            found.append(self._sum(0))
        self.arguments -= count != 1
        self.bars.pop()
        self.brackets -= 1
        if self.token.text == ",":
            raise ValueError("one formula is asked for, and a comma makes it more")
        if self.token.text != closing:
            raise ValueError("a bracket is not closed")
        self.next()
        if count == 0 and len(found) < 2:
            raise ValueError("at least 2 in this bracket, got 1")
        if count and len(found) != count:
            raise ValueError(f"{count} in this bracket, got {len(found)}")
        return tuple(found)

    def _bars(self) -> Node:
        self.bars[-1] += 1
        self.next()
        inner = self._sum(0)
        if self.token.text != "|":
            raise ValueError("a | is not closed")
        self.bars[-1] -= 1
        self.next()
        return Op("abs", (inner,))

    def _summed(self, sign: str) -> Node:
        """∑(i,first,last) term: the term goes as far as a product does."""
        match = re.compile(r"\(([A-Za-z]),").match(self.text, self.at)
        if match is None or match[1] in self.bound or len(self.bound) >= 2:
            raise ValueError("a sum needs a letter of its own, and at most two stand inside each other")
        self.at = match.end()
        self.arguments += 1
        self.next()
        first = self._sum(0)
        if self.token.text != ",":
            raise ValueError("a sum needs two ends")
        self.next()
        last = self._sum(0)
        self.arguments -= 1
        if self.token.text != ")":
            raise ValueError("a sum needs two ends")
        self.bound.append(match[1])
        self.next()
        term = self._sum(BINDS["*"])
        self.bound.pop()
        if "index" in signs(term):
            return unrolled(match[1], (first, last), term, self.letters.spelled)
        return Op(sign, (Name(match[1]), first, last, term))

    def _name(self, text: str) -> Node:
        family, _, index = text.partition("_")
        if text not in self.letters.spelled and index in self.bound:
            return Op("index", (Name(family), Name(index)))
        return Name(text)

    def _choose(self, top: Node, below: Node) -> Node:
        """n choose 2 is n(n−1)/2: as a product, so that it is a polynomial."""
        if not isinstance(below, Num) or below.value.denominator != 1 or not 0 <= below.value <= MOST_CHOSEN:
            raise ValueError(f"a binomial needs a number from 0 to {MOST_CHOSEN} below")
        out: Node = Num(Fraction(1))
        for i in range(int(below.value)):
            factor = Op("/", (Op("-", (top, Num(Fraction(i)))), Num(Fraction(i + 1))))
            out = Op("*", (out, factor))
        return out

    def _check_power(self, power: Node) -> None:
        while isinstance(power, Op) and power.sign == "neg":
            power = power.args[0]
        if isinstance(power, Num) and power.value > MOST_POWER:
            raise ValueError(f"powers stop at {MOST_POWER}")

    def _unexpected(self) -> NoReturn:
        if self.token.kind == "end":
            raise ValueError("something is missing at the end")
        raise ValueError(f"did not expect {self.token.text!r}")
