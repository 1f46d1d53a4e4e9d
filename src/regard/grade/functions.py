"""Tasks that ask for functions: a definition of each, cases, and mistakes as its changed keywords.

This is all that a task of one's own needs; see docs/howto/grade.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.grade.comparing import number, short
from regard.grade.sandbox import StudentError
from regard.grade.student import Student
from regard.grade.task import (
    Assignment,
    Candidate,
    Case,
    Choices,
    Mistake,
    Observed,
    PartPoints,
    Tried,
    Trouble,
    Views,
)

Definition = Callable[..., object]
Cases = Callable[[torch.Generator], Iterable[tuple[str, str, tuple[object, ...]]]]


class Named(dict[str, object]):
    """Arguments that are given by name, as the last of a case's arguments."""


def as_it_is(value: object) -> object:
    """The value itself."""
    return value


@dataclass(frozen=True, kw_only=True)
class Functions:
    """Functions to be written: `definitions` by name, `cases` as (part, name, arguments), smallest first.

    A class that is made without arguments and then called counts as a function. `spellings` are other
    names for the same function. `read` makes of what comes out what is compared.
    """

    definitions: Mapping[str, Definition]
    cases: Cases
    spellings: Mapping[str, Sequence[str]]
    read: Callable[[object], object] = as_it_is
    checks: Callable[[Student, Callable[[str], str]], Iterable[Tried]] | None = None

    def observe(self, student: Student) -> Observed:
        """Every case, with the value that came out or the error that was raised."""
        tried: list[Tried] = []

        def name_of(symbol: str) -> str:
            return student.need(symbol, *self.spellings.get(symbol, ()))

        found = [
            symbol for symbol in self.definitions if student.find([symbol, *self.spellings.get(symbol, ())])
        ]
        if not found:
            name_of(next(iter(self.definitions)))
        for part, symbol, args in self.cases(student.generator()):
            case = Case(part, written(symbol, args), (symbol, *args))
            try:
                got = self._called(student, name_of(symbol), symbol, args)
                tried.append((case, {"result": self.read(got)}))
            except StudentError as error:
                tried.append((case, Trouble(error.kind, error.text, error.line)))
        if self.checks is not None:
            tried += self.checks(student, name_of)
        return Observed(tuple(tried))

    @staticmethod
    def _called(student: Student, name: str, symbol: str, args: tuple[object, ...]) -> object:
        args, named = apart(args)
        target = student.make(name) if symbol[0].isupper() else name
        return student.call(target, *args, named=named)

    def predict(self, candidate: Candidate, case: Case, choices: Choices) -> Views:
        """What the definition gives, with those of the choices that it knows."""
        if case.flaw is not None:
            return {"holds": True}
        definition = self.definitions[str(case.inputs[0])]
        args, named = apart(case.inputs[1:])
        known = inspect.signature(definition).parameters
        chosen = {name: value for name, value in choices.items() if name in known}
        return {"result": self.read(definition(*args, **named, **chosen))}


def function_task(
    *,
    name: str,
    title: str,
    skeleton: str,
    lesson: str = "",
    parts: Mapping[str, int],
    functions: Functions,
    mistakes: Sequence[Mistake],
    accepts: Sequence[Choices] = (),
) -> Assignment:
    """A task made of functions; `parts` gives the points of each part that the cases name."""
    symbols = tuple((symbol, *functions.spellings.get(symbol, ())) for symbol in functions.definitions)
    return Assignment(
        name=name, title=title, skeleton=skeleton, symbols=symbols, lesson=lesson,
        parts=tuple(PartPoints(part, points) for part, points in parts.items()),
        observe=functions.observe, predict=functions.predict, mistakes=tuple(mistakes),
        accepts=tuple(accepts),
        method="values of the function at chosen and random arguments",
    )  # fmt: skip


def written(symbol: str, args: Sequence[object]) -> str:
    """A call as it is written, with tensors by their shape where they are large."""
    return f"{symbol}({', '.join(_argument(one) for one in args)})"


def apart(args: tuple[object, ...]) -> tuple[tuple[object, ...], Named]:
    """Arguments by place, and those by name."""
    return (args[:-1], args[-1]) if args and isinstance(args[-1], Named) else (args, Named())


def _argument(value: object) -> str:
    if isinstance(value, Named):
        return ", ".join(f"{name}={short(one, 80)}" for name, one in value.items())
    if isinstance(value, Tensor) and value.numel() > 9:
        return f"tensor{tuple(value.shape)}"
    return short(value, 80)


def squeezed(value: object) -> object:
    """A mask or matrix without leading axes of length one, as numbers."""
    found = number(value)
    if found is None:
        return value
    while found.ndim > 2 and found.shape[0] == 1:
        found = found[0]
    return found
