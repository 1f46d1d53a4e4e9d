"""The few kinds of picture that lessons draw, in one style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from regard.paper.figures import bare, dress, head, legend, new_figure, scale
from regard.paper.ink import INK, QUIET, SERIES, STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def blank(width: float = 6.4, height: float = 4.0) -> tuple[Figure, Axes]:
    """A figure and its axes."""
    figure = new_figure(width, height, fitted=True)
    return figure, figure.subplots()


def curves(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    x: str,
    y: str,
    title: str,
    log: str = "",
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """Lines with a legend; `log` names the axes that are logarithmic, `marks` upright lines by name."""
    figure, axes = blank()
    for (name, (xs, ys)), style, colour in zip(series.items(), STYLES, SERIES, strict=False):
        axes.plot(xs, ys, style, color=colour, label=name, markersize=4, linewidth=1.5)
    if "x" in log:
        axes.set_xscale("log", base=2)
        ticks = sorted({v for xs, _ in series.values() for v in xs})
        axes.set_xticks(ticks, [f"{v:g}" for v in ticks])
        axes.minorticks_off()
    if "y" in log:
        axes.set_yscale("log")
    for k, (name, at) in enumerate((marks or {}).items()):  # each name a line lower: marks may be close
        axes.axvline(at, color=QUIET, linewidth=1, linestyle=(0, (4, 4)))
        axes.annotate(
            name,
            (at, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -12 - 12 * k),
            textcoords="offset points",
            fontsize=8,
            color=QUIET,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},  # over the line of another mark
        )
    dress(axes, x, y, title)
    legend(axes)
    return figure


def grid(
    values: Sequence[Sequence[float]],
    *,
    title: str,
    rows: Sequence[str],
    cols: Sequence[str],
    text: Sequence[Sequence[str]] | None = None,
    size: float = 0.46,
) -> Figure:
    """A matrix as shaded squares, with words in them where given."""
    figure, axes = blank(max(3.6, 1.6 + size * len(cols)), 1.1 + size * len(rows))
    bare(axes)
    head(axes, title)
    top = max(max(row) for row in values) or 1.0
    # Cells as shapes and not as an image: a page turns the colours of shapes round on dark paper.
    edges = [[k - 0.5 for k in range(count + 1)] for count in (len(cols), len(rows))]
    colours = scale("#f3f5f8", "#8fa6cf", SERIES[0])
    axes.pcolormesh(*edges, values, cmap=colours, vmin=0, vmax=top, edgecolors="white", linewidth=1)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    for i, line in enumerate(text or ()):
        for j, word in enumerate(line):
            colour = "white" if values[i][j] > 0.6 * top else INK
            axes.text(j, i, word, ha="center", va="center", fontsize=9, color=colour)
    axes.set_xticks(range(len(cols)), cols)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(
        length=0, colors=QUIET, labelsize=9, top=True, labeltop=True, bottom=False, labelbottom=False
    )
    return figure


def bars(values: Mapping[str, float], *, x: str, title: str) -> Figure:
    """Horizontal bars with their numbers, the first at the top."""
    figure, axes = blank(6.4, 1.3 + 0.42 * len(values))
    names = list(values)
    axes.barh(range(len(names)), list(values.values()), color=SERIES[0], height=0.6)
    for i, value in enumerate(values.values()):
        axes.text(value, i, f" {value:.3g}", va="center", fontsize=9, color=INK)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * max(values.values()))
    dress(axes, x, title=title)
    axes.grid(visible=False, axis="y")
    return figure
