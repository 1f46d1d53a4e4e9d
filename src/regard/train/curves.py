"""The curves of a run as a picture: losses, learning rate, validation."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from regard.paper.figures import dress, legend, new_figure, save_figure
from regard.paper.ink import BLUE, ORANGE
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
    figure = new_figure(9, 3.2, fitted=True)
    left, right = figure.subplots(1, 2)
    x = [row["step"] for row in steps]
    losses = [row["loss"] for row in steps]
    left.plot(x, losses, color=ORANGE, alpha=0.22, linewidth=0.8)
    left.plot(x, smoothed(losses), label="training", color=ORANGE)
    found = [row for row in rows if row["kind"] == "validation"]
    if found and "loss" in found[0]:
        x, losses = [row["step"] for row in found], [row["loss"] for row in found]
        left.plot(x, losses, "--o", color=BLUE, markersize=3, label="validation")
    dress(left, "step", title="loss")
    legend(left)
    _second(right, steps, found)
    path = folder / "curves.svg"
    save_figure(figure, path)
    return path


def _second(axes: Axes, steps: list[Row], found: list[Row]) -> None:
    """The score that counts, or the learning rate where there is none beside the loss."""
    names = [name for name in (found[0] if found else {}) if name not in ("kind", "step", "loss", "sample")]
    rows, name = (found, names[0]) if names else (steps, "lr")
    values = [row["step"] for row in rows], [row[name] for row in rows]
    axes.plot(*values, "--o" if names else "-", color=BLUE, markersize=3)
    dress(axes, "step", title=f"validation {name}" if names else "learning rate")
