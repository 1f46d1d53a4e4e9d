"""A run's record read while it grows: what was read is not read again, and is kept as columns of numbers."""

from __future__ import annotations

from array import array
from math import isfinite, nan
from pathlib import Path

from regard.train.metrics import FILE, SUM, Row, row_of

MOST = 64_000_000  # bytes of a record that is followed
LATEST = 1 << 53  # steps


class RecordColumns:
    """The rows of one kind: steps, and a column for every number that some row has, NaN where it has none."""

    def __init__(self) -> None:
        self.steps = array("q")
        self.values: dict[str, array[float]] = {}

    def add(self, row: Row) -> None:
        """One more row."""
        for name, value in row.items():
            if name not in ("kind", "step") and isinstance(value, float | int) and name not in self.values:
                self.values[name] = array("d", [nan] * len(self.steps))
        self.steps.append(row["step"])
        for name, column in self.values.items():
            value = row.get(name)
            column.append(value if isinstance(value, float) else _float(value))

    def points(self, name: str, most: int) -> list[tuple[int, float]]:
        """(last step, mean) of at most so many stretches of equal length; what is not finite counts for none.

        >>> columns = RecordColumns()
        >>> for step, loss in enumerate([4.0, 2.0, 3.0, 1.0], 1):
        ...     columns.add({"kind": "train", "step": step, "loss": loss})
        >>> columns.points("loss", 2)
        [(2, 3.0), (4, 2.0)]
        """
        size, column, out = self.stretch(most), self.values[name], []
        for begin in range(0, len(column), size):
            there = [value for value in column[begin : begin + size] if isfinite(value)]
            if there:
                last = min(begin + size, len(column)) - 1
                out.append((self.steps[last], sum(there) / len(there)))
        return out

    def stretch(self, most: int) -> int:
        """How many rows a point stands for where there may be so many points."""
        return max(1, -(-len(self.steps) // most))


def _float(value: object) -> float:
    return float(value) if isinstance(value, int) and abs(value) < LATEST else nan


class Following:
    """A record and where its reading stands; `read` goes on, or begins again where another file is there."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._begin(None)

    def _begin(self, file: tuple[int, int] | None) -> None:
        self.file, self.offset, self.old = file, 0, False
        self.kinds: dict[str, RecordColumns] = {}
        self.samples: dict[int, str] = {}
        self.damaged = 0

    def read(self) -> None:
        """Take in the whole lines that were added; a last one without an end is left for the next time."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            self._begin(None)
            return
        if there.st_size > MOST:
            raise ValueError(
                f"its record of {there.st_size:,} bytes is longer than the {MOST:,} that are drawn"
            )
        if (there.st_dev, there.st_ino) != self.file or there.st_size < self.offset:
            self._begin((there.st_dev, there.st_ino))
        with self.path.open("rb") as file:
            file.seek(self.offset)
            data = file.read(max(0, there.st_size - self.offset))
        data = data[: data.rfind(b"\n") + 1]
        lines = data.decode(errors="replace").split("\n")[:-1]
        if self.offset == 0:
            self.old = bool(lines) and not any(
                SUM.search(line) for line in lines
            )  # from before rows had a sum
        self.offset += len(data)
        for line in lines:
            row = row_of(line, self.old)
            if row is None or not 0 <= row["step"] < LATEST:
                self.damaged += 1
                continue
            self.kinds.setdefault(str(row["kind"]), RecordColumns()).add(row)
            if isinstance(row.get("sample"), str):
                self.samples[row["step"]] = row["sample"]

    @property
    def last(self) -> int:
        """The last step that is recorded."""
        return max((one.steps[-1] for one in self.kinds.values() if one.steps), default=0)

    @property
    def mark(self) -> str:
        """What changes with every row."""
        return f"{self.file}-{self.offset}"
