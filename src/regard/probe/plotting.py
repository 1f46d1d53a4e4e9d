"""What all figures share: ink, colour scales, files, and SVG that follows a page's colours."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import need
from regard.probe.colours import AGAINST, FOR, HEAT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWING = threading.Lock()  # matplotlib's settings, fonts and parsers are those of the whole process
BOX = "\N{WHITE SQUARE}"
INK, QUIET, GOOD, BAD = "#1a1f2b", "#5a6374", "#1b6e3c", "#a92a1e"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches; nothing global is touched."""
    need("matplotlib", "plot")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150)


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


def scales() -> tuple[Any, Any]:
    """The colour maps of attention and of signed scores."""
    need("matplotlib", "plot")
    from matplotlib.colors import LinearSegmentedColormap

    one = [tuple(part / 255 for part in colour) for colour in HEAT]
    two = [tuple(part / 255 for part in colour) for colour in (AGAINST, (124, 126, 130), FOR)]
    return LinearSegmentedColormap.from_list("heat", one), LinearSegmentedColormap.from_list("signed", two)


def bare(axes: Axes) -> None:
    """No ticks and no frame: a picture needs neither."""
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG or SVG; the same figure gives the same bytes."""
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise ValueError(f"path must end in .png or .svg, got {str(path)!r}")
    _box_what_no_font_has(figure)
    if kind == "svg":
        path.write_text(_svg(figure), encoding="utf-8")
        return
    with DRAWING:
        figure.savefig(path, format="png", metadata={"Software": None})


def themed_svg(figure: Figure) -> str:
    """SVG to stand inside a page: transparent, and its ink is the page's own."""
    text = _svg(figure, transparent=True)
    text = text[text.index("<svg") :]
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text.replace(INK, "currentColor").replace(QUIET, "var(--quiet)")


def _svg(figure: Figure, *, transparent: bool = False) -> str:
    from matplotlib import rc_context

    file = io.StringIO()
    # Names inside an SVG come from a random salt unless one is given.
    with DRAWING, rc_context({"svg.hashsalt": "regard", "svg.fonttype": "path"}):
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=transparent)
    return file.getvalue()


def _box_what_no_font_has(figure: Figure) -> None:
    """Empty boxes for emoji: the page beside the figure shows the emoji itself, and nobody is warned."""
    from matplotlib.font_manager import findfont, get_font
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        written = text.get_text()
        if not written.isascii():
            font = get_font(findfont(text.get_fontproperties()))
            text.set_text("".join(c if c == "\n" or font.get_char_index(ord(c)) else BOX for c in written))
