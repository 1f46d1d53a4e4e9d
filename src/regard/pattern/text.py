"""Patterns as text: `parse("causal & strided(128) | global(4)")`, the inverse of `str`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import NoReturn

from regard.errors import did_you_mean
from regard.pattern.base import And, Atom, Or, Pattern

LONGEST = 10_000  # characters, lists of numbers aside
LONGEST_LISTS = 1_000_000  # characters with them: thousands of documents fit
DEEPEST = 100
DIGITS = 20

# The words of the lectures for two of the values.
WORDS = {"autoregressive": "causal", "sliding": "strided"}

# What people look for here and find elsewhere.
ELSEWHERE = {"linear": "linear attention is no pattern: a model says mixer=LinearAttention()"}

# A pattern of one's own, as `my.module:Around`; a file's name may have a hyphen.
OUTSIDE = re.compile(r"[^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
TOKEN = re.compile(
    rf"\s*(?:(?P<outside>{OUTSIDE.pattern})|(?P<name>[A-Za-z_]\w*)|(?P<number>-?\d+)|(?P<sign>[&|~(),=])|(?P<end>$))"
)

LIST = re.compile(r"\(\s*\d[\d\s,]*\)")


def outside_names(text: str) -> list[str]:
    """The patterns from outside this package that a text names.

    >>> outside_names("my.module:Around(3) & causal | strided(2)")
    ['my.module:Around']
    """
    return OUTSIDE.findall(text)


def parse(text: str, own: Mapping[str, object] | None = None) -> Pattern:
    """The pattern that a text describes; `~` binds tighter than `&`, and `&` tighter than `|`.

    A pattern of one's own is `module:Class(…)`. Its module must have been imported, or `own` must hold it:
    no text makes this function run code, unless `own` is `regard.importing.Importable()`.

    >>> parse("causal & strided(128) | global(4)")
    Causal() & Strided(back=128) | Global(first=4)
    >>> parse("sparsefixed(16, summary=2)")
    SparseFixed(stride=16, summary=2)
    """
    if not isinstance(text, str):
        raise ValueError(f"a pattern's text must be a string, got {type(text).__name__}")
    if len(text) > LONGEST_LISTS:
        raise ValueError(
            f"a pattern's text must have at most {LONGEST_LISTS:,} characters, got {len(text):,}"
        )
    outside = len(text) if len(text) <= LONGEST else len(LIST.sub("", text))
    if outside > LONGEST:
        aside = "" if outside == len(text) else " outside lists of numbers"
        raise ValueError(f"a pattern's text must have at most {LONGEST:,} characters, got {outside:,}{aside}")
    return _PatternParser(text, {} if own is None else own).pattern()


class _PatternParser:
    def __init__(self, text: str, own: Mapping[str, object]) -> None:
        self.text, self.own = text, own
        self.at = 0
        self.depth = 0
        self._next()

    def pattern(self) -> Pattern:
        out = self._or()
        if self.kind != "end":
            self._fail(f"expected & or | or the end, found {self.value!r}")
        return out

    def _next(self) -> None:
        match = TOKEN.match(self.text, self.at)
        if match is None:
            self.start = self.at + len(self.text[self.at :]) - len(self.text[self.at :].lstrip())
            self._fail(f"{self.text[self.start]!r} has no meaning here")
        assert match.lastgroup is not None
        self.kind, self.value = match.lastgroup, match[match.lastgroup]
        self.start, self.at = match.start(match.lastgroup), match.end()

    def _take(self, sign: str) -> bool:
        if self.kind == "sign" and self.value == sign:
            self._next()
            return True
        return False

    def _need(self, sign: str) -> None:
        if self._take(sign):
            return
        if self.value:
            self._fail(f"expected {sign!r}, found {self.value!r}")
        self._fail(f"expected {sign!r}" if sign == "=" else "expected ')': a bracket is not closed")

    def _or(self) -> Pattern:
        parts = [self._and()]
        while self._take("|"):
            parts.append(self._and())
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def _and(self) -> Pattern:
        parts = [self._not()]
        while self._take("&"):
            parts.append(self._not())
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def _not(self) -> Pattern:
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(f"more than {DEEPEST} levels of ~ and brackets")
        if self._take("~"):
            out = ~self._not()
        elif self._take("("):
            out = self._or()
            self._need(")")
        else:
            out = self._value()
        self.depth -= 1
        return out

    def _value(self) -> Pattern:
        if self.kind not in ("name", "outside"):
            self._fail(f"expected a pattern, found {self.value!r}" if self.value else "expected a pattern")
        start = self.start
        if self.kind == "outside":
            word, known = self.value, self._outside(self.value)
        else:
            word, known = self.value.lower(), self._named(self.value.lower())
        self._next()
        arguments = self._arguments([field.name for field in fields(known) if field.init])
        try:
            return known(**arguments)
        except (TypeError, ValueError) as error:
            self.start = start
            wanted = ", ".join(field.name for field in fields(known) if field.init)
            missing = isinstance(error, TypeError)
            self._fail(f"{word} needs ({wanted})" if missing else str(error))

    def _named(self, word: str) -> type[Atom]:
        known = Atom.registry.get(WORDS.get(word, word))
        if known is None and word in ELSEWHERE:
            self._fail(ELSEWHERE[word])
        if known is None:
            self._fail(f"no pattern is called {self.value!r}{did_you_mean(word, [*Atom.registry, *WORDS])}")
        return known

    def _outside(self, name: str) -> type[Atom]:
        known: object = Atom.registry.get(name)
        if known is None:
            try:
                known = self.own[name]
            except KeyError:
                module = name.partition(":")[0]
                self._fail(f"{name} is not known here: import {module} before it is named")
        if not isinstance(known, type) or not issubclass(known, Atom):
            self._fail(f"{name} is no pattern: a pattern is a frozen dataclass below regard.pattern.Atom")
        return known

    def _arguments(self, names: list[str]) -> dict[str, int | tuple[int, ...]]:
        out: dict[str, int | tuple[int, ...]] = {}
        if not self._take("("):
            return out
        while not self._take(")"):
            if out:
                self._need(",")
            if self.kind == "name":
                name = self.value
                if name not in names:
                    self._fail(f"no field {name!r}; the fields are: {', '.join(names) or 'none'}")
                if name in out:
                    self._fail(f"{name} is given twice")
                self._next()
                self._need("=")
            elif len(out) == len(names):
                self._fail(f"too many arguments; the fields are: {', '.join(names) or 'none'}")
            else:
                name = names[len(out)]
            if name in out:
                self._fail(f"{name} is given twice")
            out[name] = self._numbers() if self.value == "(" else self._number()
        return out

    def _numbers(self) -> tuple[int, ...]:
        self._need("(")
        out: list[int] = []
        while not self._take(")"):
            if out:
                self._need(",")
                if self._take(")"):
                    break
            out.append(self._number())
        return tuple(out)

    def _number(self) -> int:
        if self.kind != "number":
            self._fail(
                f"expected a whole number, found {self.value!r}" if self.value else "expected a whole number"
            )
        if len(self.value) > DIGITS:
            self._fail(f"a number of more than {DIGITS} digits")
        out = int(self.value)
        self._next()
        return out

    def _fail(self, what: str) -> NoReturn:
        # A long text is cut around the fault, so that text and caret fit one terminal line.
        left = max(0, self.start - 60)
        shown = self.text[left : left + 80].replace("\n", " ")
        caret = " " * (self.start - left) + "^"
        # What others add is read but not advertised here.
        own = (name for name, kind in Atom.registry.items() if kind.__module__.startswith("regard.pattern."))
        names = ", ".join(sorted(own))
        raise ValueError(f"{what}\n  {shown}\n  {caret}\npatterns: {names}")
