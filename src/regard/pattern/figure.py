"""A pattern as a matplotlib figure, for papers and notebooks; it shows what the SVG picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.paper.figures import new_figure
from regard.paper.ink import INK, MARK, QUIET
from regard.pattern.picture import LEVELS, SHADES, View, view

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regard.pattern.base import Pattern  # for its type alone: a pattern shows itself through this file

DOTTED = 64  # most positions whose diagonal is drawn as dots


def figure(pattern: Pattern, n: int, m: int) -> Figure:
    """The picture of the last n of m queries and m keys."""
    return page(view(pattern, n, m))


def page(shown: View) -> Figure:
    """The same of what is seen already."""
    n, m = shown.n, shown.m
    tall = min(max(n / m, 0.15), 3.0)  # of the grid, against its width
    caption = [*shown.caption, *([f"shade: {shown.shading}"] if shown.shading else [])]
    words = 1.2 + 0.17 * len(caption)
    out = new_figure(6 if tall <= 1 else 2 + 4 / tall, 5.4 * min(tall, 1.0) + words, fitted=True)
    axes = out.subplots()
    # Squares are placed by position: cell k stands at k, a tile begins half a position earlier.
    far = shown.levels.shape[1] * shown.size - 0.5, shown.levels.shape[0] * shown.size + shown.shift - 0.5
    extent = (-0.5, far[0], far[1], shown.shift - 0.5)
    from matplotlib.colors import ListedColormap

    levels, colours = shown.levels.numpy(), ListedColormap(SHADES)
    axes.imshow(levels, cmap=colours, vmin=0, vmax=LEVELS, extent=extent, interpolation="nearest")
    axes.set_xlim(-0.5, m - 0.5)
    axes.set_ylim(m - 0.5, m - n - 0.5)
    axes.set_aspect("auto")
    first = max(shown.shift, 0)
    if max(n, m) <= DOTTED:
        spots = range(first, m)
        axes.scatter(spots, spots, s=min(90.0, 6000 / m**1.8 + 3), c=MARK, edgecolors=INK, linewidths=0.4)
        axes.set_xticks([k - 0.5 for k in range(m)], minor=True)
        axes.set_yticks([q - 0.5 for q in range(m - n, m)], minor=True)
        axes.grid(which="minor", color="white", linewidth=0.8)
        axes.tick_params(which="minor", length=0)
    else:
        axes.plot([first, m], [first, m], color=INK, linewidth=2.0, dashes=(5, 10))
        axes.plot([first, m], [first, m], color=MARK, linewidth=1.0, dashes=(10, 20))
    axes.set_xticks(list(shown.key_ticks), shown.key_ticks.values())
    axes.set_yticks(list(shown.query_ticks), shown.query_ticks.values())
    axes.tick_params(colors=QUIET, labelsize=8, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("key →", loc="left")
    axes.set_ylabel("← query", loc="top")
    for side in axes.spines.values():
        side.set_visible(False)
    out.suptitle(shown.title, fontweight="bold", fontsize=11, color=INK)
    out.supxlabel("\n".join(caption), fontsize=9, color=INK)
    return out
