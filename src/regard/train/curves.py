"""The curves of a run as a picture: losses, learning rate, validation."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from regard.train.metrics import Row, read_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def smoothed(values: list[float], share: float = 0.02) -> list[float]:
    """A running mean that forgets over this share of the run.

    >>> smoothed([4.0, 4.0, 4.0])
    [4.0, 4.0, 4.0]
    """
    weight, found, total = min(1.0, 1 / max(1.0, share * len(values))), [], 0.0
    for i, value in enumerate(values):
        total += max(weight, 1 / (i + 1)) * (value - total)
        found.append(total)
    return found


def draw_curves(folder: Path) -> Path | None:
    """Write curves.svg from the run's metrics, where matplotlib is installed."""
    rows = read_rows(folder)
    steps = [row for row in rows if row["kind"] == "train"]
    if not steps or find_spec("matplotlib") is None:
        return None
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    x = [row["step"] for row in steps]
    losses = [row["loss"] for row in steps]
    left.plot(x, losses, color="0.8", linewidth=0.8)
    left.plot(x, smoothed(losses), label="training", color="C0")
    found = [row for row in rows if row["kind"] == "validation"]
    if found and "loss" in found[0]:
        left.plot(
            [row["step"] for row in found], [row["loss"] for row in found], "o-", ms=3, label="validation"
        )
    left.set(xlabel="step", title="loss")
    left.legend(frameon=False)
    _second(right, steps, found)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    path = folder / "curves.svg"
    figure.savefig(path, metadata={"Date": None})
    return path


def _second(axes: Axes, steps: list[Row], found: list[Row]) -> None:
    """The score that counts, or the learning rate where there is none beside the loss."""
    names = [name for name in (found[0] if found else {}) if name not in ("kind", "step", "loss", "sample")]
    rows, name = (found, names[0]) if names else (steps, "lr")
    axes.plot([row["step"] for row in rows], [row[name] for row in rows], "o-" if names else "-", ms=3)
    axes.set(xlabel="step", title=f"validation {name}" if names else "learning rate")
