"""What a task is made of: what is asked, what the student's code is given, the definition, the mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from regard.grade.student import Student

Choices = Mapping[str, object]
Views = dict[str, object]  # what comes out of one case, by name


@dataclass(frozen=True)
class Mistake:
    """A known way to be wrong: the definition with these choices in place of its own.

    `says` goes on from "your code computes".
    """

    name: str
    says: str
    choices: Choices = field(default_factory=dict, hash=False)
    lesson: str = ""
    hides: tuple[str, ...] = ()  # names of properties that fail because of it, and need no naming


@dataclass(frozen=True)
class PartPoints:
    """A part of a task that has points of its own: right if all its cases are."""

    name: str
    points: int


@dataclass(frozen=True)
class Case:
    """One thing that is tried: the part it belongs to, how it reads as a call, and its inputs.

    A case with a `flaw` holds a property; failing it is that mistake, whatever the values.
    """

    part: str
    call: str
    inputs: tuple[object, ...] = ()
    flaw: Mistake | None = None


@dataclass(frozen=True)
class Trouble:
    """The student's code raised instead of giving a value."""

    kind: str
    text: str
    line: int = 0

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line else ""
        return f"{self.kind}: {self.text.splitlines()[0][:300] if self.text else ''}{where}"


Tried = tuple[Case, Views | Trouble]


@dataclass(frozen=True)
class Candidate:
    """A reading of the student's weights: which is what. A reading that is itself a mistake says so."""

    weights: object = None
    flaw: Mistake | None = None
    free: str = ""  # what could not be told apart, for the report
    last: bool = False  # tried only after the mistakes, because it leaves something open


@dataclass(frozen=True)
class Observed:
    """What was tried with what outcome, and all readings of the student's weights worth trying."""

    tried: tuple[Tried, ...]
    candidates: tuple[Candidate, ...] = (Candidate(),)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A task: `observe` tries the code, `predict` says what the definition, changed by choices, gives.

    `symbols` are the names to be found in a file, each with the spellings that count as it; `accepts` are
    other choices that are right, too.
    """

    name: str
    title: str
    skeleton: str
    symbols: tuple[tuple[str, ...], ...]
    lesson: str
    parts: tuple[PartPoints, ...]
    observe: Callable[[Student], Observed]
    predict: Callable[[Candidate, Case, Choices], Views]
    mistakes: tuple[Mistake, ...]
    accepts: tuple[Choices, ...] = ()
    method: str = "values"
    tolerance: float = 2e-4
    digest: str = ""  # of the file of a task of one's own: another task for another text

    @property
    def points(self) -> int:
        """All points together."""
        return sum(part.points for part in self.parts)

    def found_in(self, names: Iterable[str]) -> bool:
        """Whether a file that defines these names has something for this task."""
        there = {plain(name) for name in names}
        return any(plain(spelling) in there for spellings in self.symbols for spelling in spellings)


def plain(name: str) -> str:
    """A name as it is compared: neither capitals nor underscores count."""
    return name.replace("_", "").lower()
