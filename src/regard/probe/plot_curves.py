"""The figure of the hiding check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.probe.hiding import HidingCheck
from regard.probe.plotting import INK, QUIET, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours apart in grey as well, and each curve has its own dash: no reader depends on hue.
LOOKS = {
    "most": ("#d9480f", "-", "strongest first"),
    "random": ("#7a8496", "--", "at random"),
    "least": ("#3f7fd0", "-.", "weakest first"),
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
    axes.set_xlabel("patches hidden, %", color=INK, fontsize=10)
    axes.set_ylabel("accuracy, %", color=INK, fontsize=10)
    axes.set_ylim(0, 103)
    axes.set_xlim(min(shares) - 1, max(shares) + 1)
    axes.tick_params(colors=QUIET, labelsize=9)
    axes.grid(color="#8a93a3", alpha=0.25, linewidth=0.7)
    for name, side in axes.spines.items():
        side.set_visible(name in ("left", "bottom"))
        side.set_color(QUIET)
    axes.legend(
        title=f"hidden by {by}", frameon=False, fontsize=9, title_fontsize=9, labelcolor=INK,
        loc="upper right", alignment="left",
    ).get_title().set_color(INK)  # fmt: skip
    if title:
        axes.set_title(title, fontsize=11, fontweight="bold", color=INK, loc="left")
    out.text(0.13, 0.02, f"{check.images:,} images; bands: 95 % Wilson intervals", fontsize=8, color=QUIET)
    return out
