"""The curves of a run on the tour's page: losses, and the score against its goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.probe.plotting import INK, QUIET, new_figure, themed_svg
from regard.train.curves import smoothed
from regard.train.metrics import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEARNT, HELD = "#d9480f", "#3f7fd0"


def curves_html(rows: Sequence[Row], score: str, name: str, lines: dict[str, float], times: float = 1) -> str:
    """Two plots: training and validation loss; and a validation score, beside levels to compare it with."""
    return f'<div class="plots">{_losses(rows)}{_scores(rows, score, name, lines, times)}</div>'


def _losses(rows: Sequence[Row]) -> str:
    learnt = [row for row in rows if row["kind"] == "train"]
    held = [row for row in rows if row["kind"] == "validation"]
    figure, axes = _axes("loss, nats")
    steps, losses = [row["step"] for row in learnt], [row["loss"] for row in learnt]
    axes.plot(steps, losses, color=LEARNT, alpha=0.22, linewidth=0.8)
    axes.plot(steps, smoothed(losses), color=LEARNT, linewidth=2, label="training, smoothed")
    axes.plot(
        [row["step"] for row in held], [row["loss"] for row in held], "--o", color=HELD, markersize=4,
        linewidth=2, label="held out",
    )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    return themed_svg(figure)


def _scores(rows: Sequence[Row], score: str, name: str, lines: dict[str, float], times: float) -> str:
    held = [row for row in rows if row["kind"] == "validation"]
    figure, axes = _axes(name)
    steps, values = [row["step"] for row in held], [times * row[score] for row in held]
    axes.plot(steps, values, "--o", color=HELD, markersize=4, linewidth=2)
    for (text, level), dash in zip(lines.items(), ("-", ":", "-."), strict=False):
        axes.axhline(times * level, color="#7a8496", linewidth=1.4, linestyle=dash)
        axes.annotate(
            text, (1, times * level), (-4, -3), xycoords=("axes fraction", "data"), va="top", ha="right",
            textcoords="offset points", color=QUIET, fontsize=9,
        )  # fmt: skip
    axes.set_xlim(left=0)
    axes.margins(y=0.15)
    return themed_svg(figure)


def _axes(name: str) -> tuple[Figure, Axes]:
    figure = new_figure(5.2, 3.2)
    axes = figure.add_axes((0.13, 0.17, 0.84, 0.79))
    axes.set_xlabel("step", color=INK, fontsize=10)
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel(name, color=INK, fontsize=10)
    axes.tick_params(colors=QUIET, labelsize=9)
    axes.grid(color="#8a93a3", alpha=0.25, linewidth=0.7)
    for place, side in axes.spines.items():
        side.set_visible(place in ("left", "bottom"))
        side.set_color(QUIET)
    return figure, axes
