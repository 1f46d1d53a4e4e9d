"""What all figures share: their paper, the dress of their axes, cells, colour scales, and files.

Nothing global is touched, so there is nothing to close: a figure goes when nobody holds it.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import need
from regard.files import write
from regard.paper import ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

DRAWING = threading.Lock()  # matplotlib's settings, fonts and parsers are those of the whole process
BOX = "\N{WHITE SQUARE}"
# Without a date or a program in it, the same figure is the same file.
UNDATED = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def new_figure(width: float, height: float, *, fitted: bool = False) -> Figure:
    """An empty figure in inches; `fitted` makes room for all words around its axes."""
    need("matplotlib", "plot")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained" if fitted else None)


def dress(axes: Axes, x: str = "", y: str = "", title: str = "") -> None:
    """Quiet axes: two lines, small numbers, a faint grid, and what they are called."""
    axes.set_xlabel(x, color=ink.INK, fontsize=10)
    axes.set_ylabel(y, color=ink.INK, fontsize=10)
    axes.tick_params(which="both", colors=ink.QUIET, labelsize=9)
    axes.set_axisbelow(True)
    axes.grid(color=ink.RULE, alpha=0.25, linewidth=0.7)
    axes.grid(which="minor", color=ink.RULE, alpha=0.12, linewidth=0.5)  # where an axis has such ticks
    for place, side in axes.spines.items():
        side.set_visible(place in ("left", "bottom"))
        side.set_color(ink.QUIET)
    head(axes, title)


def head(axes: Axes, title: str) -> None:
    """What a picture shows, in bold above its left end."""
    axes.set_title(title, fontsize=11, color=ink.INK, loc="left", fontweight="bold")


def legend(axes: Axes, title: str = "", **where: str) -> None:
    """The names of the curves, without a frame."""
    shown = axes.legend(
        frameon=False, fontsize=9, title_fontsize=9, labelcolor=ink.INK, alignment="left", **where
    )
    if title:
        shown.set_title(title)
        shown.get_title().set_color(ink.INK)


def bare(axes: Axes) -> None:
    """No ticks, grid or frame: a picture needs none of them."""
    axes.grid(visible=False, which="both")
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)


@dataclass(frozen=True)
class Sheet:
    """A grid of equal cells on a figure, measured in inches: pictures stay aligned whatever their labels.

    `margins` are left, right, top and bottom; `gaps` stand between columns and between rows.
    """

    rows: int
    cols: int
    cell: tuple[float, float]
    gaps: tuple[float, float]
    margins: tuple[float, float, float, float]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the figure."""
        left, right, top, bottom = self.margins
        wide = left + right + self.cols * self.cell[0] + (self.cols - 1) * self.gaps[0]
        return wide, top + bottom + self.rows * self.cell[1] + (self.rows - 1) * self.gaps[1]

    def axes(self, figure: Figure, row: int, col: int, shift: float = 0.0) -> Axes:
        """Bare axes in one cell, the first at the top left; `shift` moves it to the right."""
        left, _, top, _ = self.margins
        x = left + col * (self.cell[0] + self.gaps[0]) + shift
        y = self.size[1] - top - row * (self.cell[1] + self.gaps[1]) - self.cell[1]
        out = self.box(figure, x, y, *self.cell)
        bare(out)
        return out

    def box(self, figure: Figure, x: float, y: float, wide: float, high: float) -> Axes:
        """Axes anywhere, from the bottom left corner."""
        across, up = self.size
        return figure.add_axes((x / across, y / up, wide / across, high / up))


def cell_of(pixels: Sequence[int], longest: float) -> tuple[float, float]:
    """Width and height of a cell for images (rows, cols), its longer side in inches.

    >>> cell_of((4, 8), 1.0)
    (1.0, 0.5)
    """
    rows, cols = pixels
    return longest * cols / max(rows, cols), longest * rows / max(rows, cols)


def scale(*colours: str | ink.Colour) -> Colormap:
    """A colour map from the first of some colours to the last, through all of them."""
    need("matplotlib", "plot")
    from matplotlib.colors import LinearSegmentedColormap

    parts = [one if isinstance(one, str) else tuple(part / 255 for part in one) for one in colours]
    return LinearSegmentedColormap.from_list("regard", parts)


def drawn(figure: Figure, kind: str, *, dpi: int | None = None, transparent: bool = False) -> bytes:
    """A figure as the bytes of a png, svg or pdf file; the same figure gives the same bytes."""
    from matplotlib import rc_context

    _box_what_no_font_has(figure)
    file = io.BytesIO()
    # Names inside an SVG come from a random salt unless one is given.
    with DRAWING, rc_context({"svg.hashsalt": "regard", "svg.fonttype": "path"}):
        figure.savefig(
            file, format=kind, dpi=dpi or "figure", metadata=UNDATED[kind], transparent=transparent
        )
    return file.getvalue()


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG, SVG or PDF, whole or not at all."""
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in UNDATED:
        raise ValueError(f"path must end in .png, .svg or .pdf, got {str(path)!r}")
    write(path, drawn(figure, kind))


def themed_svg(figure: Figure) -> str:
    """SVG to stand inside a page: transparent, as wide as its place, and its ink is the page's own."""
    text = drawn(figure, "svg", transparent=True).decode()
    text = text[text.index("<svg") :]
    for side in ("width", "height"):
        text = re.sub(rf'(<svg[^>]*?) {side}="[^"]*"', r"\1", text, count=1)
    return ink.themed(re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL))


def _box_what_no_font_has(figure: Figure) -> None:
    """Empty boxes for emoji: the page beside the figure shows the emoji itself, and nobody is warned."""
    from matplotlib.font_manager import findfont, get_font
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        written = text.get_text()
        if not written.isascii():
            font = get_font(findfont(text.get_fontproperties()))
            text.set_text("".join(c if c == "\n" or font.get_char_index(ord(c)) else BOX for c in written))
