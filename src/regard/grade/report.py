"""What is said about one solution of one task."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from torch import Tensor

from regard.errors import visible
from regard.grade.comparing import number, short

MOST_SHOWN = 256  # numbers of a value that go into a report whole


@dataclass(frozen=True)
class NamedMistake:
    """A mistake whose outputs the student's equal: its name, what it is, and the lesson about it."""

    name: str
    says: str
    lesson: str


@dataclass(frozen=True)
class PartScore:
    """One part: its points, those reached, and why not all."""

    name: str
    points: int
    most: int
    why: str = ""


@dataclass(frozen=True)
class SmallestExample:
    """The smallest example that goes wrong: the call, one thing that comes out of it, found and expected."""

    call: str
    view: str
    found: object
    expected: object
    says: str

    @property
    def of_property(self) -> bool:
        """Whether something should hold and does not, so that there are no two values to show."""
        return self.view == "holds"

    def as_dict(self) -> dict[str, object]:
        """Plain values; large tensors as their shape."""
        return {"call": self.call, "view": self.view, "says": self.says,
                "found": plain_value(self.found), "expected": plain_value(self.expected)}  # fmt: skip


@dataclass(frozen=True)
class Report:
    """Right or wrong, why, the points part by part, and the smallest example of what is wrong."""

    task: str
    title: str
    right: bool
    says: str
    parts: tuple[PartScore, ...] = ()
    mistakes: tuple[NamedMistake, ...] = ()
    example: SmallestExample | None = None
    notes: tuple[str, ...] = ()

    @property
    def points(self) -> int:
        """The points reached."""
        return sum(part.points for part in self.parts)

    @property
    def most(self) -> int:
        """The points that could be reached."""
        return sum(part.most for part in self.parts)

    def as_dict(self) -> dict[str, object]:
        """Everything as plain values."""
        return {
            "task": self.task, "title": self.title, "right": self.right, "points": self.points,
            "most": self.most, "says": self.says, "mistakes": [asdict(one) for one in self.mistakes],
            "parts": [asdict(part) for part in self.parts], "notes": list(self.notes),
            "example": None if self.example is None else self.example.as_dict(),
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [
            f"{'✓' if self.right else '✗'} {self.task}: {self.points} of {self.most} points",
            f"  {self.says}",
        ]
        lines += [f"  more: regard lesson {one.lesson}" for one in self.mistakes if one.lesson]
        if self.example is not None:
            lines += [f"  {line}" for line in in_words(self.example)]
        lines += [
            f"  {'✓' if part.points == part.most else '✗'} {part.name}: {part.points} of {part.most}"
            + (f", {part.why}" if part.why else "")
            for part in self.parts
        ]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(map(visible, "\n".join(lines).split("\n")))  # names are the student's, too


def plain_value(value: object) -> object:
    """A value as JSON has it."""
    found = number(value)
    if found is None:
        return value if isinstance(value, str) or value is None else short(value, 2000)
    if found.is_complex() or found.numel() > MOST_SHOWN:
        return f"a tensor of shape {tuple(found.shape)}"
    return found.tolist()


def in_words(example: SmallestExample) -> list[str]:
    """The example as lines of text, matrices below each other with few digits."""
    if example.of_property:
        return [f"smallest example: {example.call}: {example.says}"]
    lines = [f"smallest example: {example.call}, {example.view}: {example.says}"]
    for name, value in (("found", example.found), ("expected", example.expected)):
        grid = matrix(value)
        if grid is None:
            lines.append(f"  {name:9}{short(value)}")
            continue
        rows = [" ".join(f"{x:7.3f}".rstrip("0").rstrip(".").rjust(7) for x in row) for row in grid.tolist()]
        lines += [f"  {name if i == 0 else '':9}{row}" for i, row in enumerate(rows)]
    return lines


def matrix(value: object) -> Tensor | None:
    """A value as a small matrix, the first of a batch; None where it is none."""
    found = number(value)
    if found is None or found.is_complex() or found.ndim < 1:
        return None
    while found.ndim > 2:
        found = found[0]
    found = found[None] if found.ndim == 1 else found
    return found if 0 < found.shape[0] <= 16 and 0 < found.shape[1] <= 16 else None
