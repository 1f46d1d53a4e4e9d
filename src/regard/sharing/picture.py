"""A filter sliding over its input, and beside it the matrix that does the same."""

from collections.abc import Sequence

from regard.paper.ink import WHITE
from regard.paper.svg import element, words
from regard.sharing.drawing import CELL, cells, colours, svg_cell, svg_cells, svg_page
from regard.sharing.matrix import Size, conv_matrix
from regard.sharing.sizes import output_size, pair

_TITLE = 24
_GAP = 40


def sliding_svg(kernel: Sequence[object], n: Size, stride: Size = 1, padding: Size = 0) -> str:
    """A picture of each window of a 1-D or 2-D kernel of names, and of the matrix with the same colours.

    >>> picture = sliding_svg(["k1", "k2", "k3"], 9)
    >>> picture.startswith("<svg"), picture.count(">k2</text>")
    (True, 14)
    """
    flat = all(isinstance(name, str) for name in kernel)
    if flat:
        lines: Sequence[object] = [list(kernel)]
        grid, step, pad = (1, n), (1, stride), (0, padding)
    else:
        lines = kernel
        grid, step, pad = pair("n", n, 1), pair("stride", stride, 1), pair("padding", padding, 0)
    names = [list(row) for row in lines if isinstance(row, list | tuple)]
    if len(names) < len(lines) or not all(isinstance(name, str) for row in names for name in row):
        raise ValueError(f"kernel must be a list of names, or a list of rows of names, got kernel={kernel!r}")
    rows, fill = cells(conv_matrix(kernel, n, stride, padding)), colours(names)
    windows = _Windows(names, grid, step, pad)  # type: ignore[arg-type]
    left, width, height = windows.svg(fill)
    start = width + _GAP
    parts = [
        words(0, 12, "the filter at each place", class_="title"),
        words(start, 12, f"its matrix, {len(rows)} × {len(rows[0])}", class_="title"),
        *left,
        *svg_cells(rows, fill, start, _TITLE),
        *_blocks(len(rows), len(rows[0]), windows, start),
    ]
    return svg_page(start + len(rows[0]) * CELL, _TITLE + max(height, len(rows) * CELL), parts)


class _Windows:
    """The input drawn once for every place of the filter, with the filter on it."""

    def __init__(
        self, names: list[list[str]], grid: tuple[int, int], step: tuple[int, int], pad: tuple[int, int]
    ) -> None:
        self.names, self.grid, self.step, self.pad = names, grid, step, pad
        sides = len(names), len(names[0])
        self.places = tuple(output_size(*axis) for axis in zip(grid, sides, step, pad, strict=True))
        self.size = grid[0] + 2 * pad[0], grid[1] + 2 * pad[1]  # of one copy of the input, padding included

    def svg(self, fill: dict[str, str]) -> tuple[list[str], int, int]:
        """The copies and the width and height they take: below each other, or as a grid for images."""
        single = self.grid[0] == 1
        gap = 0 if single else 14
        rows, cols = self.places
        down, across = (cols, 1) if single else (rows, cols)
        parts: list[str] = []
        for place in range(rows * cols):
            top = _TITLE + (place // across) * (self.size[0] * CELL + gap)
            side = (place % across) * (self.size[1] * CELL + gap)
            parts += self._copy(place // cols, place % cols, side, top, fill)
        width = across * (self.size[1] * CELL + gap) - gap
        return parts, width, down * (self.size[0] * CELL + gap) - gap

    def _copy(self, row: int, col: int, left: int, top: int, fill: dict[str, str]) -> list[str]:
        parts = []
        for y in range(self.size[0]):
            for x in range(self.size[1]):
                u, v = y - row * self.step[0], x - col * self.step[1]
                covered = 0 <= u < len(self.names) and 0 <= v < len(self.names[0])
                name = self.names[u][v] if covered else ""
                real = 0 <= y - self.pad[0] < self.grid[0] and 0 <= x - self.pad[1] < self.grid[1]
                colour = fill.get(name, WHITE if real else "#eeeeee")
                kind = "cell" if real else "cell pad"
                parts.append(svg_cell(left + x * CELL, top + y * CELL, name, colour, kind))
        return parts


def _blocks(rows: int, cols: int, windows: _Windows, left: int) -> list[str]:
    """Frames round the blocks of the matrix of an image: a row of places by a row of the image."""
    if windows.grid[0] == 1:
        return []
    high, wide = windows.places[1] * CELL, windows.grid[1] * CELL
    return [
        element("path", d=f"M{left + x} {_TITLE + y}h{wide}v{high}h{-wide}z", class_="block")
        for y in range(0, rows * CELL, high)
        for x in range(0, cols * CELL, wide)
    ]
