"""Figures of images and the maps over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.paper.figures import Sheet, cell_of, new_figure, scale
from regard.paper.ink import AGAINST, BAD, FOR, GOOD, HEAT, INK, MARK, NEITHER, QUIET
from regard.paper.pixels import enlarge, overlay, stretch
from regard.probe.completions import Completion
from regard.probe.images import ImageLook
from regard.probe.sections import given, grey, laid_over

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE = 240  # pixels of a picture before matplotlib scales it
ONE_COLUMN = 3  # images up to here stand in one column, more in two
ACROSS = 10  # completed images in one band
BETWEEN = 0.45  # inches between two columns of images
LEGENDS = {"attention": "× the even share", "rollout": "× the even share", "gradient": "of the logit"}


def images_figure(look: ImageLook, title: str = "") -> Figure:
    """Every image beside its maps, with the true and the predicted label."""
    B, names = len(look.pictures), list(look.maps)
    blocks = 1 if B <= ONE_COLUMN else 2
    rows, across = -(-B // blocks), 1 + len(names)
    head = 0.75 if title else 0.45
    sheet = Sheet(
        rows,
        blocks * across,
        cell_of(look.pictures.shape[2:], 1.3),
        (0.1, 0.32),
        (0.15, 0.15 + BETWEEN * (blocks - 1), head, 0.72),
    )
    out = new_figure(*sheet.size)
    spans = look.spans
    for i, picture in enumerate(look.pictures):
        block, row = divmod(i, rows)
        axes = sheet.axes(out, row, block * across, block * BETWEEN)
        axes.imshow(enlarge(picture, SIDE).numpy())
        _label(axes, look, i)
        for k, name in enumerate(names, start=1):
            axes = sheet.axes(out, row, block * across + k, block * BETWEEN)
            axes.imshow(laid_over(picture, look.maps[name][i], name, spans[name]).numpy())
    for block in range(blocks):
        for k, name in enumerate(names, start=1):
            x = sheet.margins[0] + (block * across + k) * (sheet.cell[0] + sheet.gaps[0]) + block * BETWEEN
            _colour_bar(out, sheet, x, name, spans[name])
    if title:
        out.text(
            0.15 / sheet.size[0], 1 - 0.3 / sheet.size[1], title, fontsize=12, fontweight="bold", color=INK
        )
    return out


def heads_figure(look: ImageLook, i: int = 0) -> Figure:
    """Every layer (rows) and head (columns) on one image, each map scaled to its own strongest patch."""
    if look.heads is None:
        raise ValueError("look must come from a model with attention, got one without heads")
    L, H = look.heads.shape[1:3]
    picture = look.pictures[i]
    cell = cell_of(look.pictures.shape[2:], 1.15)
    # The image itself stands in the left margin, before the names of the layers.
    sheet = Sheet(L, H + 1, cell, (0.1, 0.24), (0.2 + cell[0] + 0.4, 0.15, 0.7, 0.4))
    out = new_figure(*sheet.size)
    axes = sheet.axes(out, 0, 0, -cell[0] - 0.4)
    axes.imshow(enlarge(picture, SIDE).numpy())
    axes.set_title("image", fontsize=8, color=QUIET, pad=3)
    for layer in range(L):
        for h in range(-1, H):
            found = look.heads[i, layer].mean(0) if h < 0 else look.heads[i, layer, h]
            axes = sheet.axes(out, layer, h + 1)
            axes.imshow(overlay(picture, stretch(found, 0.0), side=SIDE).numpy())
            axes.set_xlabel(f"max {float(found.max()):.1f}×", fontsize=7, color=QUIET, labelpad=2)
            if layer == 0:
                axes.set_title("all heads" if h < 0 else f"head {h + 1}", fontsize=8, color=QUIET, pad=3)
            if h < 0:
                axes.set_ylabel(f"layer {layer + 1}", fontsize=8, color=QUIET)
    name = f"{look.names[i]}: " if look.names else ""
    words = f"{name}predicted {look.title(i)}" if look.classes else name.removesuffix(": ")
    out.text(0.2 / sheet.size[0], 1 - 0.28 / sheet.size[1], words, fontsize=10, fontweight="bold", color=INK)
    note = "max: the strongest patch, in multiples of the even share"
    out.text(0.2 / sheet.size[0], 0.07 / sheet.size[1], note, fontsize=7, color=QUIET)
    return out


def completion_figure(found: Completion, title: str = "") -> Figure:
    """Images side by side: what was given, what the model made of it, and the truth."""
    B = len(found.truth)
    across = min(B, ACROSS)
    bands = -(-B // across)
    cell = cell_of((found.truth.shape[1], found.truth.shape[2]), 0.95)
    sheet = Sheet(3 * bands, across, cell, (0.07, 0.07), (0.35, 0.1, 0.5, 0.1))
    out = new_figure(*sheet.size)
    for i in range(B):
        band, col = divmod(i, across)
        shown = (("given", found.completed[i]), ("completed", found.completed[i]), ("truth", found.truth[i]))
        for j, (name, image) in enumerate(shown):
            axes = sheet.axes(out, 3 * band + j, col)
            pixels = given(image, found) if name == "given" else enlarge(grey(image, found.levels), 160)
            cut = pixels.shape[0] * found.known // len(image)
            axes.imshow(pixels.numpy())
            if name == "completed":
                axes.axhline(cut - 0.5, color=MARK, linewidth=0.9)
            if col == 0:
                axes.set_ylabel(name, fontsize=9, color=INK)
    words = f"{found.known} of {found.truth.shape[1]} rows given, the others {found.way}"
    words = f"{title}: {words}" if title else words
    out.text(0.35 / sheet.size[0], 1 - 0.3 / sheet.size[1], words, fontsize=10, color=INK)
    return out


def _label(axes: Axes, look: ImageLook, i: int) -> None:
    truth, answer = look.truth(i), look.title(i)
    name = f"{_short(look.names[i])}: " if look.names else ""
    if truth is None:
        words, colour = f"{name}{answer}".removesuffix(": "), INK
    else:
        sign, colour = ("✓", GOOD) if look.right(i) else ("✗", BAD)
        words = f"{name}true {truth}, predicted {answer} {sign}"
    axes.set_title(words, fontsize=9, color=colour, loc="left", pad=3)


def _short(name: str, most: int = 24) -> str:
    """A file's name that leaves room for the answer.

    >>> _short("a-very-long-name-of-a-picture.png")
    'a-very-long…picture.png'
    """
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most // 2 - 1) :]}"


def _colour_bar(figure: Figure, sheet: Sheet, x: float, name: str, span: tuple[float, float]) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    low, high = span
    signed, most = name == "gradient", max(abs(low), abs(high))
    ticks = {low: f"{low:.2f}", high: f"{high:.2f}"}
    if signed:
        low, high = -most, most
        ticks = {-most: f"−{most:.2g}", 0.0: "0", most: f"+{most:.2g}"}
    if high <= low:  # a map without differences has one colour, and no scale
        low, high, ticks = low - 1, high + 1, {low: f"{low:.2f}"}
    axes = sheet.box(figure, x + 0.1, 0.52, sheet.cell[0] - 0.2, 0.09)
    colours = scale(AGAINST, NEITHER, FOR) if signed else scale(*HEAT)
    bar = figure.colorbar(ScalarMappable(Normalize(low, high), colours), cax=axes, orientation="horizontal")
    bar.outline.set_visible(False)
    bar.set_ticks(list(ticks), labels=list(ticks.values()))
    bar.ax.tick_params(labelsize=7, colors=QUIET, length=2, pad=1)
    if len(ticks) > 1:  # the numbers at the ends stay above their bar
        bar.ax.get_xticklabels()[0].set_horizontalalignment("left")
        bar.ax.get_xticklabels()[-1].set_horizontalalignment("right")
    bar.set_label(f"{name}\n{LEGENDS[name]}", fontsize=7, color=QUIET, labelpad=1)
