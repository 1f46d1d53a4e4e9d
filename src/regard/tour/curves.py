"""The curves of a run on the tour's page: losses, and the score against its goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.paper.figures import dress, legend, new_figure, themed_svg
from regard.paper.ink import BLUE, GREY, ORANGE, QUIET
from regard.train.curves import smoothed
from regard.train.metrics import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def curves_html(rows: Sequence[Row], score: str, name: str, lines: dict[str, float], times: float = 1) -> str:
    """Two plots: training and validation loss; and a validation score, beside levels to compare it with."""
    return f'<div class="plots">{_losses(rows)}{_scores(rows, score, name, lines, times)}</div>'


def _losses(rows: Sequence[Row]) -> str:
    learnt = [row for row in rows if row["kind"] == "train"]
    held = [row for row in rows if row["kind"] == "validation"]
    figure, axes = _axes("loss, nats")
    steps, losses = [row["step"] for row in learnt], [row["loss"] for row in learnt]
    axes.plot(steps, losses, color=ORANGE, alpha=0.22, linewidth=0.8)
    axes.plot(steps, smoothed(losses), color=ORANGE, linewidth=2, label="training, smoothed")
    axes.plot(
        [row["step"] for row in held], [row["loss"] for row in held], "--o", color=BLUE, markersize=4,
        linewidth=2, label="held out",
    )  # fmt: skip
    axes.set_ylim(bottom=0)
    legend(axes)
    return themed_svg(figure)


def _scores(rows: Sequence[Row], score: str, name: str, lines: dict[str, float], times: float) -> str:
    held = [row for row in rows if row["kind"] == "validation"]
    figure, axes = _axes(name)
    steps, values = [row["step"] for row in held], [times * row[score] for row in held]
    axes.plot(steps, values, "--o", color=BLUE, markersize=4, linewidth=2)
    for (text, level), dash in zip(lines.items(), ("-", ":", "-."), strict=False):
        axes.axhline(times * level, color=GREY, linewidth=1.4, linestyle=dash)
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
    axes.locator_params(axis="x", integer=True)
    dress(axes, "step", name)
    return figure, axes
