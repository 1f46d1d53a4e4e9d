"""Figures of what was measured over many images or positions: the hiding check, how alike positions are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from regard.paper.figures import Sheet, cell_of, dress, legend, new_figure, scale
from regard.paper.ink import BLUE, GREY, HEAT, INK, ORANGE, QUIET
from regard.probe.hiding import HidingCheck
from regard.probe.positions import PositionSimilarity

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

LARGEST = 8  # squares along one side: of a larger grid evenly spread positions are shown


LOOKS = {
    "most": (ORANGE, "-", "strongest first"),
    "random": (GREY, "--", "at random"),
    "least": (BLUE, "-.", "weakest first"),
}


def hiding_figure(check: HidingCheck, title: str = "", by: str = "attention") -> Figure:
    """Accuracy against the share of patches hidden: strongest, random and weakest first `by` some map."""
    out = new_figure(5.2, 3.7 + 0.25 * bool(title))
    axes = out.add_axes((0.13, 0.2, 0.84, 0.78 - 0.07 * bool(title)))
    shares = [100 * share for share in check.shares]
    for curve in check.curves:
        colour, dash, name = LOOKS[curve.order]
        name += f" (mean of {check.repeats})" if curve.order == "random" and check.repeats > 1 else ""
        low, high = [100 * x for x in curve.low], [100 * x for x in curve.high]
        axes.fill_between(shares, low, high, color=colour, alpha=0.16, linewidth=0)
        accuracy = [100 * x for x in curve.accuracy]
        axes.plot(shares, accuracy, dash, color=colour, linewidth=2, marker="o", markersize=3.5, label=name)
    axes.set_ylim(0, 103)
    axes.set_xlim(min(shares) - 1, max(shares) + 1)
    dress(axes, "patches hidden, %", "accuracy, %", title)
    legend(axes, f"hidden by {by}", loc="upper right")
    out.text(0.13, 0.02, f"{check.images:,} images; bands: 95 % Wilson intervals", fontsize=8, color=QUIET)
    return out


def position_figure(found: PositionSimilarity, title: str = "") -> Figure:
    """A small map for each position of a grid, laid out as the grid itself; one matrix for a text."""
    out = _of_text(found) if found.grid is None else _of_grid(found, found.grid)
    if title:
        high = out.get_size_inches()[1]
        out.text(0.5, 1 - 0.27 / high, title, fontsize=11, fontweight="bold", color=INK, ha="center")
    return out


def _of_text(found: PositionSimilarity) -> Figure:
    out = new_figure(5.2, 4.6)
    axes = out.add_axes((0.12, 0.12, 0.7, 0.79))
    low = float(found.similarity.min())
    shown = axes.imshow(
        found.similarity.numpy(), cmap=scale(*HEAT), vmin=low, vmax=1, interpolation="nearest"
    )
    axes.set_xlabel("position", color=INK)
    axes.set_ylabel("position", color=INK)
    axes.tick_params(colors=QUIET, labelsize=8)
    _bar(out, shown, (0.86, 0.2, 0.03, 0.63))
    return out


def _of_grid(found: PositionSimilarity, grid: tuple[int, int]) -> Figure:
    rows, cols = (_spread(side) for side in grid)
    longest = 3.8 / max(len(rows), len(cols))
    sheet = Sheet(len(rows), len(cols), cell_of(grid, longest), (0.06, 0.06), (0.6, 0.95, 0.45, 0.5))
    out = new_figure(*sheet.size)
    wide, high = sheet.size
    # A position is always its own double, so the scale ends at the most alike of two different ones.
    flat = found.similarity.flatten(2).flatten(0, 1)
    others = flat[~torch.eye(len(flat), dtype=torch.bool)]
    low, top = (float(others.min()), float(others.max())) if len(others) else (0.0, 1.0)
    for a, row in enumerate(rows):
        for b, col in enumerate(cols):
            axes = sheet.axes(out, a, b)
            square = found.similarity[row, col].numpy()
            shown = axes.imshow(square, cmap=scale(*HEAT), vmin=low, vmax=top, interpolation="nearest")
            axes.plot(
                col, row, "o", markersize=2.2, color="white", markeredgecolor="black", markeredgewidth=0.6
            )
            if b == 0:
                axes.text(-0.03, 0.5, f"{row + 1}", transform=axes.transAxes, fontsize=8, color=QUIET,
                          ha="right", va="center")  # fmt: skip
            if a == len(rows) - 1:
                axes.set_xlabel(f"{col + 1}", fontsize=8, color=QUIET, labelpad=2)
    middle = (sheet.margins[3] + high - sheet.margins[2]) / 2 / high
    centre = (sheet.margins[0] + wide - sheet.margins[1]) / 2 / wide
    out.text(0.12 / wide, middle, "row of the patch", fontsize=9, color=INK, rotation=90, va="center")
    out.text(centre, 0.1 / high, "column of the patch", fontsize=9, color=INK, ha="center")
    _bar(out, shown, (1 - 0.8 / wide, middle - 0.35, 0.14 / wide, 0.7))
    return out


def _bar(out: Figure, shown: AxesImage, box: tuple[float, float, float, float]) -> None:
    bar = out.colorbar(shown, cax=out.add_axes(box))
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=QUIET)
    bar.set_label("cosine", fontsize=9, color=INK)


def _spread(side: int) -> list[int]:
    """Up to LARGEST places from 0 to side − 1, evenly spread, both ends included.

    >>> _spread(3), _spread(14)
    ([0, 1, 2], [0, 2, 4, 6, 7, 9, 11, 13])
    """
    if side <= LARGEST:
        return list(range(side))
    return [round(k * (side - 1) / (LARGEST - 1)) for k in range(LARGEST)]
