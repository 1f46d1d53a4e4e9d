"""What every benchmark shares: timing, rows of a table, the file with hardware and versions, and the plot."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from regard.cli.machine import Machine, this_machine
from regard.paper.figures import dress, legend, new_figure, save_figure
from regard.paper.ink import SERIES, STYLES
from regard.paper.quantities import binary


@dataclass(frozen=True)
class Row:
    """One measured thing: ours, or a peer with how many times as long it takes as ours."""

    case: str
    who: str
    forward_ms: float | None = None
    both_ms: float | None = None  # forward and backward
    floor_ms: float | None = None  # no forward can be faster on this hardware
    forward_ratio: float | None = None  # of the peer's time to ours
    both_ratio: float | None = None
    note: str = ""


@dataclass
class Report:
    """The rows of one run, and the machine it ran on."""

    name: str
    settings: dict[str, Any]
    machine: Machine = field(default_factory=this_machine)
    rows: list[Any] = field(default_factory=list)  # of Row, or of a benchmark's own columns
    series: dict[str, dict[int, float]] = field(default_factory=dict)  # what the plot shows: n -> ms

    def add(self, case: str, ours: Timed, peers: dict[str, Timed], floor: float | None = None) -> None:
        """Ours first, then each peer with its ratio; prints as it goes, so that a killed run is not lost."""
        rows = [Row(case, "regard", ours.forward, ours.both, floor, note=ours.note)]
        for who, peer in peers.items():
            rows.append(
                Row(
                    case,
                    who,
                    peer.forward,
                    peer.both,
                    None,
                    _ratio(peer.forward, ours.forward),
                    _ratio(peer.both, ours.both),
                    peer.note,
                )
            )
        for row in rows:
            self.rows.append(row)
            print(line(row), flush=True)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "name": self.name,
            "settings": self.settings,
            "machine": self.machine.as_dict(),
            "rows": [asdict(row) for row in self.rows],
            "series": self.series,
        }

    def save(self, folder: Path) -> Path:
        """Write the result as JSON under a name that says what it ran on."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}-{self.machine.slug}.json"
        path.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")
        return path


@dataclass(frozen=True)
class Timed:
    """Milliseconds of a forward pass, and of forward and backward together."""

    forward: float | None = None
    both: float | None = None
    note: str = ""


def _ratio(peer: float | None, ours: float | None) -> float | None:
    return None if peer is None or ours is None else round(peer / ours, 3)


def line(row: Row) -> str:
    """A row as fixed columns."""

    def show(value: float | None, digits: int = 3, unit: str = "") -> str:
        return "–" if value is None else f"{value:.{digits}f}{unit}"

    share = None if row.floor_ms is None or row.forward_ms is None else 100 * row.floor_ms / row.forward_ms
    cells = [
        f"{row.case:<34}", f"{row.who:<26}", f"{show(row.forward_ms):>9}", f"{show(row.both_ms):>9}",
        f"{show(row.forward_ratio, 2, '×'):>8}", f"{show(row.both_ratio, 2, '×'):>8}",
        f"{show(row.floor_ms):>7}", f"{show(share, 0, '%'):>6}", row.note,
    ]  # fmt: skip
    return " ".join(cells).rstrip()


HEADER = (
    f"{'case':<34} {'who':<26} {'forward':>9} {'with back':>9} {'ratio':>8} {'ratio':>8} {'floor':>7}"
    f" {'share':>6}   (milliseconds; ratio: peer's time over ours)"
)


def milliseconds(run: Callable[[], object], device: str, budget: float = 0.4) -> float:
    """The median time of a call after warming up, within about `budget` seconds."""
    if device == "cuda":
        return _milliseconds_cuda(run, budget)
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < 4 or (time.perf_counter() - start < budget and len(times) < 50):
        before = time.perf_counter()
        run()
        times.append((time.perf_counter() - before) * 1e3)
        if len(times) == 2 and times[1] > 2e3:
            return min(times)  # seconds long: warming up no longer matters, and nobody waits for a median
    times = times[1:]  # the first call warms up
    return statistics.median(times)


def _milliseconds_cuda(run: Callable[[], object], budget: float) -> float:
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    before = time.perf_counter()
    run()
    torch.cuda.synchronize()
    count = max(5, min(100, int(budget / 2 / max(time.perf_counter() - before, 1e-5))))
    cold = torch.empty(
        1 << 26, dtype=torch.int32, device="cuda"
    )  # larger than the cache, written between runs
    marks = [
        (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)
    ]
    for start, end in marks:
        cold.zero_()
        start.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in marks)


def both_ways(
    forward: Callable[[], torch.Tensor], inputs: Sequence[torch.Tensor], device: str, budget: float = 0.4
) -> Timed:
    """Forward alone without a graph, then forward and backward."""
    with torch.no_grad():
        alone = milliseconds(forward, device, budget)
    grad = torch.randn_like(forward().detach())
    together = milliseconds(lambda: torch.autograd.grad(forward(), inputs, grad), device, budget)
    return Timed(alone, together)


def plot(report: Report, path: Path, title: str) -> None:
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
