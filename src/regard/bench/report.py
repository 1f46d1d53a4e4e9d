"""What a benchmark leaves: rows that are printed as they come, a file with hardware and versions, a plot."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar

from regard.bench.machine import Machine, this_machine
from regard.bench.timing import Timed
from regard.paper.figures import dress, legend, new_figure, save_figure
from regard.paper.ink import SERIES, STYLES
from regard.paper.quantities import binary


@dataclass(frozen=True)
class BenchRow(ABC):
    """One measured thing, with a title and an alignment for each cell of its line."""

    columns: ClassVar[Sequence[tuple[str, str]]]

    @abstractmethod
    def cells(self) -> list[str]:
        """The cells as texts."""

    @classmethod
    def titles(cls) -> str:
        """The line above the rows."""
        return " ".join(f"{title:{align}}" for title, align in cls.columns)

    def line(self) -> str:
        """The row below its titles."""
        pairs = zip(self.cells(), self.columns, strict=True)
        return " ".join(f"{cell:{align}}" for cell, (_, align) in pairs).rstrip()


@dataclass(frozen=True)
class TimeRow(BenchRow):
    """The time of ours, or of a peer with how many times as long it takes as ours."""

    columns = (
        ("case", "<34"), ("who", "<26"), ("forward", ">9"), ("with back", ">9"), ("ratio", ">8"),
        ("ratio", ">8"), ("floor", ">7"), ("share", ">6"),
        ("  (milliseconds; ratio: peer's time over ours)", ""),
    )  # fmt: skip

    case: str
    who: str
    forward_ms: float | None = None
    both_ms: float | None = None  # forward and backward
    floor_ms: float | None = None  # no forward can be faster on this hardware
    forward_ratio: float | None = None  # of the peer's time to ours
    both_ratio: float | None = None
    note: str = ""

    def cells(self) -> list[str]:
        """The cells as texts; the share is that of the floor in the time of a forward pass."""
        share = _ratio(self.floor_ms, self.forward_ms)
        return [
            self.case, self.who, _shown(self.forward_ms), _shown(self.both_ms),
            _shown(self.forward_ratio, ".2f", "×"), _shown(self.both_ratio, ".2f", "×"),
            _shown(self.floor_ms), _shown(share, ".0%"), self.note,
        ]  # fmt: skip


def _shown(value: float | None, form: str = ".3f", unit: str = "") -> str:
    return "–" if value is None else f"{value:{form}}{unit}"


def _ratio(value: float | None, ours: float | None) -> float | None:
    return None if value is None or ours is None else value / ours


@dataclass
class BenchReport:
    """The rows of one run, and the machine it ran on."""

    name: str
    settings: dict[str, object]
    machine: Machine = field(default_factory=this_machine)
    rows: list[BenchRow] = field(default_factory=list)
    series: dict[str, dict[int, float]] = field(default_factory=dict)  # what the plot shows: n -> ms

    def record(self, row: BenchRow) -> None:
        """Keep a row and print it at once, so that a killed run is not lost."""
        self.rows.append(row)
        print(row.line(), flush=True)

    def add(
        self, case: str, ours: Timed, peers: dict[str, Timed] | None = None, floor: float | None = None
    ) -> None:
        """Record ours first, then each peer with its ratio."""
        self.record(TimeRow(case, "regard", ours.forward, ours.both, floor, note=ours.note))
        for who, peer in (peers or {}).items():
            pairs = (peer.forward, ours.forward), (peer.both, ours.both)
            forward, both = (None if (one := _ratio(*pair)) is None else round(one, 3) for pair in pairs)
            self.record(TimeRow(case, who, peer.forward, peer.both, None, forward, both, peer.note))

    def point(self, curve: str, n: int, value: float | None) -> None:
        """One more point of a curve of the plot, if there is a value."""
        if value is not None:
            self.series.setdefault(curve, {})[n] = value

    def as_dict(self) -> dict[str, object]:
        """What the result file holds."""
        return {
            "name": self.name,
            "settings": self.settings,
            "machine": self.machine.as_dict(),
            "rows": [asdict(row) for row in self.rows],
            "series": self.series,
        }

    def save(self, folder: Path) -> Path:
        """Write the result as JSON under a name that says what it ran on."""
        return save(folder, self.name, self.machine, self.as_dict())


def save(folder: Path, name: str, machine: Machine, found: dict[str, object]) -> Path:
    """Write a result file; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{machine.slug}.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return path


def plot(report: BenchReport, path: Path, title: str) -> None:
    """The series of a report against length, on log axes."""
    figure = new_figure(6.4, 4.2, fitted=True)
    axes = figure.subplots()
    for i, (name, points) in enumerate(report.series.items()):
        style, colour = STYLES[i % len(STYLES)], SERIES[i % len(SERIES)]
        axes.loglog(list(points), list(points.values()), style, color=colour, label=name, markersize=4)
    ticks = sorted({n for points in report.series.values() for n in points})
    axes.set_xticks(ticks, [binary(n) for n in ticks])
    axes.minorticks_off()
    dress(axes, "sequence length n", "milliseconds", title)
    legend(axes)
    save_figure(figure, path)
