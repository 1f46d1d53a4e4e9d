"""Benchmarks that ship with the package: ours beside each peer, in one run, checked before they are timed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.bench.report import BenchReport

NAMES = (
    "attention",
    "data",
    "dialogue",
    "endless",
    "generate",
    "hub",
    "linear",
    "models",
    "recurrence",
    "sentiment",
)
WITH_DATA = ("dialogue", "hub", "sentiment")  # the others need none
IN_PARTS = ("generate", "hub")


def run(
    name: str,
    out: Path,
    *,
    device: str = "",
    quick: bool = False,
    only: Sequence[str] = (),
    data_dir: Path | None = None,
    titles: bool = True,
) -> tuple[BenchReport, Path]:
    """Run a benchmark, print its rows as they come, and write its file and its plot: the report and its path.

    `device` is cpu or cuda, or else cuda if there is one; `only` names some parts of a benchmark in parts.
    """
    from regard.bench.report import TimeRow, plot
    from regard.train.devices import chosen_device

    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, got {name!r}")
    device = chosen_device(device).type
    if device == "mps":
        raise ValueError("peers are timed on cpu or cuda, got device='mps'")
    if data_dir is not None and name not in WITH_DATA:
        raise ValueError(f"data-dir is for {', '.join(WITH_DATA)}, got it for {name}")
    if only and name not in IN_PARTS:
        raise ValueError(f"only is for {', '.join(IN_PARTS)}, got it for {name}")
    module = import_module(f"{__name__}.{name}")
    more: dict[str, object] = {"data_dir": data_dir} if name in WITH_DATA else {}
    if name in IN_PARTS:
        more |= {"folder": out, "only": only}
    if titles:
        print(getattr(module, "ROW", TimeRow).titles())
    report: BenchReport = module.run(device, quick, **more)
    path = report.save(out)
    if report.series:
        title = f"{name} on {report.machine.accelerator or report.machine.processor}"
        getattr(module, "plot", plot)(report, path.with_suffix(".svg"), title)
    return report, path
