"""What lessons draw with boxes and arrows: how a model is wired, in the style of the other pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from regard.lessons.figures import blank
from regard.paper.figures import head
from regard.paper.ink import INK, QUIET, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAVY, ORANGE, TEAL = SERIES[:3]
PALE, SAND, MINT = "#e8edf5", "#fbe9d3", "#d5efec"  # light grounds for NAVY, ORANGE and TEAL
Point = tuple[float, float]


def canvas(width: float, height: float, title: str = "") -> tuple[Figure, Axes]:
    """A figure and axes without ticks; a unit is as long upwards as sideways, and an inch has 1.6 of them."""
    figure, axes = blank(width, height)
    axes.set(xlim=(0, 1.6 * width), ylim=(0, 1.6 * (height - (0.42 if title else 0))), aspect="equal")
    axes.axis("off")
    head(axes, title)
    return figure, axes


def box(
    axes: Axes,
    at: Point,
    text: str,
    size: Point = (0.9, 0.6),
    fill: str = PALE,
    ink: str = INK,
    font: int = 9,
) -> None:
    """A box around a point, with its text in the middle."""
    from matplotlib.patches import FancyBboxPatch

    (x, y), (width, height) = at, size
    corner = x - width / 2, y - height / 2
    shape = FancyBboxPatch(
        corner, width, height, boxstyle="round,pad=0,rounding_size=0.12", facecolor=fill, edgecolor="none"
    )
    axes.add_patch(shape)
    axes.text(x, y, text, ha="center", va="center_baseline", fontsize=font, color=ink)


def arrow(
    axes: Axes, start: Point, end: Point, ink: str = INK, bend: float = 0.0, width: float = 1.1
) -> None:
    """An arrow; `bend` lifts its middle, as a share of its length."""
    look = {"arrowstyle": "-|>,head_length=0.35,head_width=0.16", "color": ink, "linewidth": width}
    look |= {"shrinkA": 0, "shrinkB": 0, "connectionstyle": f"arc3,rad={bend}"}
    axes.annotate("", end, start, arrowprops=look)


def say(axes: Axes, at: Point, text: str, ink: str = QUIET, side: str = "center", font: int = 9) -> None:
    """Words at a point."""
    axes.text(*at, text, ha=side, va="center", fontsize=font, color=ink)


def tile(axes: Axes, grey: Sequence[Sequence[float]], corner: Point, side: float) -> None:
    """A small grey picture in a square, from its lower left corner."""
    (x, y), far = corner, (corner[0] + side, corner[1] + side)
    axes.imshow(grey, cmap="gray", vmin=0, vmax=1, zorder=2, extent=(x, far[0], y, far[1]))


def recurrent_grid(rows: int = 3, cols: int = 4) -> Figure:
    """The cells of a 2-D RNN: each takes its input, the state to its left and the state above."""
    figure, axes = canvas(6.4, 3.8, "A cell takes its pixel, the state to its left and the state above")
    step, radius = (2.4, 1.7), 0.42

    def place(row: int, col: int) -> Point:
        return 1.7 + col * step[0], 4.32 - row * step[1]

    for k in range(rows + cols - 1):  # the cells of one anti-diagonal wait for no other
        top, bottom = max(0, k - cols + 1), min(k, rows - 1)
        (x, y), end = place(top, k - top), place(bottom, k - bottom)
        axes.plot([x, end[0] - 0.6], [y, end[1] - 0.5], ":", color=QUIET, linewidth=1, zorder=0)
        say(axes, (end[0] - 0.62, end[1] - 0.6), f"step {k + 1}", QUIET)
    for row in range(rows):
        for col in range(cols):
            x, y = place(row, col)
            box(axes, (x - 0.84, y + 0.7), f"x$_{{{row + 1}{col + 1}}}$", (0.56, 0.44), SAND)
            arrow(axes, (x - 0.58, y + 0.5), (x - 0.37, y + 0.34), ORANGE)
            box(axes, (x, y), f"h$_{{{row + 1}{col + 1}}}$", (2 * radius, 2 * radius), NAVY, "white", 10)
            if col:
                arrow(axes, (x - step[0] + radius, y), (x - radius, y), NAVY)
            if row:
                arrow(axes, (x, y + step[1] - radius), (x, y + radius), TEAL)
    x, y = place(0, cols - 1)
    say(axes, (x - step[0] / 2, y + 0.22), "W$_{left}$", NAVY)
    say(axes, (x + 0.1, y - step[1] / 2), "W$_{top}$", TEAL, "left")
    say(axes, (x - 0.36, y + 0.66), "W$_{in}$", ORANGE, "left")
    return figure


def self_attention() -> Figure:
    """One output of self-attention, from four tokens up to the weighted sum."""
    figure, axes = canvas(6.4, 5.0, "One output, y$_2$: compare, weigh, add up")
    xs = [2.9, 4.7, 6.5, 8.3]
    levels = {"tokens": 0.5, "projections": 1.9, "scores": 3.5, "softmax": 4.7, "weights": 5.7, "sum": 7.0}
    says = {
        "tokens": "tokens",
        "projections": "q = xW$_Q$\nk = xW$_K$\nv = xW$_V$",
        "scores": "scores\nq$_2$·k$_j$ / √d",
        "weights": "weights,\ntheir sum is 1",
        "sum": "weighted sum",
    }
    for name, words in says.items():
        say(axes, (0.1, levels[name]), words, QUIET, "left")
    box(axes, (5.78, levels["softmax"]), "softmax over j", (6.9, 0.5))
    box(axes, (xs[1], levels["sum"]), "y$_2$", (0.8, 0.6), NAVY, "white", 10)
    box(axes, (xs[1] - 0.62, levels["projections"]), "q$_2$", (0.5, 0.5), SAND)
    arrow(axes, (xs[1] - 0.15, 0.8), (xs[1] - 0.55, levels["projections"] - 0.27), ORANGE)
    for j, x in enumerate(xs, 1):
        box(axes, (x, levels["tokens"]), f"x$_{j}$", (0.8, 0.6), NAVY, "white", 10)
        box(axes, (x, levels["projections"]), f"k$_{j}$", (0.5, 0.5))
        box(axes, (x + 0.62, levels["projections"]), f"v$_{j}$", (0.5, 0.5), MINT)
        arrow(axes, (x, 0.8), (x, levels["projections"] - 0.27), NAVY)
        arrow(axes, (x + 0.15, 0.8), (x + 0.55, levels["projections"] - 0.27), TEAL)
        box(axes, (x, levels["scores"]), f"s$_{{2{j}}}$", (0.6, 0.5))
        arrow(axes, (x, levels["projections"] + 0.25), (x, levels["scores"] - 0.27), NAVY)
        arrow(axes, (xs[1] - 0.62, 2.15), (x - 0.14, levels["scores"] - 0.27), ORANGE)
        arrow(axes, (x, levels["scores"] + 0.25), (x, levels["softmax"] - 0.27), NAVY)
        box(axes, (x, levels["weights"]), f"α$_{{2{j}}}$", (0.6, 0.5))
        arrow(axes, (x, levels["softmax"] + 0.25), (x, levels["weights"] - 0.27), NAVY)
        axes.plot([x + 0.62, x + 0.62], [2.15, levels["weights"]], color=TEAL, linewidth=1.1, zorder=0)
        say(axes, (x + 0.46, levels["weights"]), "·", INK, font=12)
        box(axes, (x + 0.7, levels["weights"]), f"v$_{j}$", (0.5, 0.5), MINT)
        end = (xs[1] + 0.12 * (j - 2.5), levels["sum"] - 0.32)
        arrow(axes, (x + 0.35, levels["weights"] + 0.27), end, NAVY)
    return figure


def vision_transformer(image: Sequence[Sequence[float]], side: int = 3) -> Figure:
    """A ViT: patches become tokens, a class token joins them, and its output alone is read."""
    figure, axes = canvas(6.4, 4.3, "A vision transformer")
    wide, high = axes.get_xlim(), axes.get_ylim()
    pixels, patch = len(image), len(image) // side
    assert pixels == side * patch, f"{side} patches do not divide {pixels} pixels"
    left, low, size = 0.1, 0.25, 1.8
    for row in range(side):
        for col in range(side):
            part = [line[col * patch : (col + 1) * patch] for line in image[row * patch : (row + 1) * patch]]
            x, y = left + col * size / side, low + (side - 1 - row) * size / side
            tile(axes, part, (x, y), size / side)
            x = 3.15 + (side * row + col) * 0.77
            tile(axes, part, (x, 0.86), 0.58)
    for k in range(1, side):
        at = k * size / side
        axes.plot([left + at] * 2, [low, low + size], color=ORANGE, linewidth=1.2, zorder=3)
        axes.plot([left, left + size], [low + at] * 2, color=ORANGE, linewidth=1.2, zorder=3)
    arrow(axes, (left + size + 0.1, 1.15), (3.02, 1.15), ORANGE)
    say(axes, (2.47, 1.4), "cut", ORANGE)
    say(axes, (6.5, 0.5), f"{side * side} patches of {patch}×{patch} pixels, read row by row")
    box(axes, (6.5, 2.2), "one linear map for every patch", (7.0, 0.5))
    box(axes, (6.0, 4.75), "transformer: every token attends to every token", (8.0, 0.8), NAVY, "white", 10)
    box(axes, (2.4, 3.2), "class", (0.72, 0.5), SAND)
    say(axes, (1.95, 3.2), "class token,\nlearned", QUIET, "right")
    say(axes, (1.95, 3.85), "positions,\nlearned", QUIET, "right")
    arrow(axes, (2.4, 3.47), (2.4, 4.32), ORANGE)
    for k in range(side * side):
        x = 3.44 + k * 0.77
        arrow(axes, (x, 1.47), (x, 1.92), QUIET)
        arrow(axes, (x, 2.47), (x, 2.92), QUIET)
        box(axes, (x, 3.2), f"e$_{k + 1}$", (0.6, 0.5))
        say(axes, (x, 3.57), "+", INK)
        box(axes, (x, 3.9), f"p$_{k + 1}$", (0.6, 0.42), MINT)
        arrow(axes, (x, 4.12), (x, 4.32), TEAL)
    arrow(axes, (2.4, 5.17), (2.4, 5.62), ORANGE)
    box(axes, (2.4, 5.9), "head", (1.1, 0.5), SAND)
    arrow(axes, (2.98, 5.9), (3.6, 5.9), ORANGE)
    say(axes, (3.7, 5.9), "scores of the classes", INK, "left")
    say(axes, (10.0, 5.45), "the outputs of the patches are not read", QUIET, "right")
    axes.set(xlim=wide, ylim=high, aspect="equal")  # which imshow changes
    return figure


def shifted_targets(words: Sequence[str], padding: str = "<PAD>") -> Figure:
    """Tokens above, the target of each below: the token one place on, and padding struck out."""
    figure, axes = canvas(6.4, 2.7, "Position t is asked for token t + 1")
    for t, word in enumerate(words):
        x = 1.95 + 1.42 * t
        real = word != padding
        box(axes, (x, 3.1), word, (1.3, 0.5), PALE if real else "#f1f1f1", INK if real else QUIET)
        say(axes, (x, 3.55), str(t + 1), QUIET, font=8)
        if t + 1 == len(words):
            say(axes, (x, 0.95), "nothing\nfollows", QUIET, font=8)
            continue
        target = words[t + 1]
        real = target != padding
        ink = NAVY if real else "#b8bcc4"
        box(axes, (x, 2.05), "model", (1.0, 0.46), NAVY if real else "#b8bcc4", "white")
        arrow(axes, (x, 2.84), (x, 2.31), ink)
        arrow(axes, (x, 1.81), (x, 1.24), ink)
        box(axes, (x, 0.95), target, (1.3, 0.5), SAND if real else "#f1f1f1", INK if real else QUIET)
        if not real:
            axes.plot([x - 0.6, x + 0.6], [0.78, 1.12], color=SERIES[4], linewidth=1.8)
    say(axes, (0.1, 3.1), "tokens", QUIET, "left")
    say(axes, (0.1, 0.95), "targets", QUIET, "left")
    say(axes, (0.1, 0.3), "struck out: no target, left out of the mean", SERIES[4], "left")
    return figure


def reading_order(rows: int, cols: int, at: tuple[int, int]) -> Figure:
    """What a pixel is predicted from: all before it in reading order, seen by one scan or the other."""
    figure, axes = canvas(6.4, 3.1, "Predicting the pixel marked “?”")
    size = 0.78
    for row in range(rows):
        for col in range(cols):
            x, y = 0.6 + col * size, 0.5 + (rows - 1 - row) * size
            before = (row, col) < at
            fill = NAVY if before and col < at[1] else TEAL if before else PALE
            here = (row, col) == at
            box(axes, (x, y), "?" if here else "", (0.7, 0.7), ORANGE if here else fill, "white", 12)
    x = 0.6 + cols * size + 0.1
    keys = (
        (NAVY, "to the left, in its row and above:\nseen by the scan from the top left"),
        (TEAL, "above it and above to the right:\nseen by a scan from the top right"),
        (PALE, "later: seen by neither"),
    )
    for i, (fill, words) in enumerate(keys):
        box(axes, (x, 3.6 - 1.1 * i), "", (0.36, 0.36), fill)
        say(axes, (x + 0.35, 3.6 - 1.1 * i), words, INK, "left")
    return figure


def arcs(words: Sequence[str], panels: Mapping[str, Sequence[tuple[str, int, Sequence[float]]]]) -> Figure:
    """A sentence per panel, and arcs from the word that a head's question starts at to where its weight goes.

    A panel has a title and (question, index of the word that asks, its weights over all words) per head.
    """
    heights = [2.0 + 0.31 * len(heads) for heads in panels.values()]
    figure, axes = canvas(6.4, sum(heights) / 1.6)
    widths = [0.155 * len(word) + 0.3 for word in words]
    xs = [sum(widths[:i]) + widths[i] / 2 for i in range(len(words))]
    inks = iter(SERIES)
    for k, (title, heads) in enumerate(panels.items()):
        y = sum(heights[k + 1 :]) + 0.3
        top = y + heights[k] - 0.5
        axes.text(0.1, top, title, fontsize=10, color=INK, fontweight="bold", va="center")
        for i, word in enumerate(words):
            say(axes, (xs[i], y), word, INK, font=10)
        for row, (question, i, weights) in enumerate(heads):
            ink = next(inks)
            say(axes, (0.1, top - 0.35 - 0.31 * row), question, ink, "left")
            for j, weight in enumerate(weights):
                if weight > 0.05:
                    bend = 0.2 if j < i else -0.4
                    arrow(axes, (xs[i], y + 0.2), (xs[j], y + 0.2), ink, bend, 0.3 + 2 * weight)
    return figure
