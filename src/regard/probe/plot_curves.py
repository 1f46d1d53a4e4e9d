"""The figure of the hiding check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.paper.figures import dress, legend, new_figure
from regard.paper.ink import BLUE, GREY, ORANGE, QUIET
from regard.probe.hiding import HidingCheck

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
