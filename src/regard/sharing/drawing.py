"""A matrix for people: in the terminal, in LaTeX and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from regard.paper.formulas import latex as in_latex
from regard.paper.ink import GROUNDS, WHITE
from regard.paper.svg import document, element, words

if TYPE_CHECKING:
    from sympy import ImmutableMatrix

CELL = 26
MARGIN = 8
STYLE = (
    "text{font:11px sans-serif;text-anchor:middle;fill:#222}.zero{fill:#bbb}"
    ".cell{stroke:#999;stroke-width:.5}.title{font-size:13px;text-anchor:start}"
    ".block{fill:none;stroke:#222;stroke-width:1.5}.pad{stroke-dasharray:2 2}"
)


def draw_matrix(matrix: Tensor | ImmutableMatrix) -> str:
    """The matrix as aligned text; a zero is a dot.

    >>> from regard.sharing import conv_matrix
    >>> print(draw_matrix(conv_matrix(["k1", "k2", "k3"], 9)))
    k1 k2 k3  ·  ·  ·  ·  ·  ·
     · k1 k2 k3  ·  ·  ·  ·  ·
     ·  · k1 k2 k3  ·  ·  ·  ·
     ·  ·  · k1 k2 k3  ·  ·  ·
     ·  ·  ·  · k1 k2 k3  ·  ·
     ·  ·  ·  ·  · k1 k2 k3  ·
     ·  ·  ·  ·  ·  · k1 k2 k3
    """
    rows = [["·" if entry == "0" else entry for entry in row] for row in cells(matrix)]
    width = max(len(entry) for row in rows for entry in row)
    return "\n".join(" ".join(f"{entry:>{width}}" for entry in row) for row in rows)


def latex_matrix(matrix: Tensor | ImmutableMatrix) -> str:
    r"""The matrix as LaTeX, which needs no package and has no limit on columns.

    >>> from regard.sharing import conv_matrix
    >>> print(latex_matrix(conv_matrix(["k1", "k2"], 3)))
    \left(\begin{array}{ccc}
    k_{1} & k_{2} & 0 \\
    0 & k_{1} & k_{2} \\
    \end{array}\right)
    """
    rows = cells(matrix, latex=True)
    body = "\n".join(" & ".join(row) + r" \\" for row in rows)
    columns = "c" * len(rows[0])
    return f"\\left(\\begin{{array}}{{{columns}}}\n{body}\n\\end{{array}}\\right)"


def svg_matrix(matrix: Tensor | ImmutableMatrix) -> str:
    """The matrix as an SVG picture: equal entries have equal colours, zeros none.

    >>> from regard.sharing import conv_matrix
    >>> svg_matrix(conv_matrix(["a", "b"], 3)).count('class="cell"')
    6
    """
    rows = cells(matrix)
    return svg_page(len(rows[0]) * CELL, len(rows) * CELL, svg_cells(rows, colours(rows), 0, 0))


def cells(matrix: Tensor | ImmutableMatrix, *, latex: bool = False) -> list[list[str]]:
    """The entries of a tensor (dense or CSR) or of a sympy matrix as text."""
    if isinstance(matrix, Tensor):
        if matrix.dim() != 2:
            raise ValueError(f"matrix must have shape (rows, cols), got matrix.shape={tuple(matrix.shape)}")
        return [[f"{entry:.4g}" for entry in row] for row in matrix.detach().to_dense().tolist()]
    if not hasattr(matrix, "tolist") or len(getattr(matrix, "shape", ())) != 2:
        raise ValueError(f"matrix must be a tensor or a sympy matrix, got {type(matrix).__name__}")
    write = in_latex if latex else str
    return [[write(entry) for entry in row] for row in matrix.tolist()]


def colours(rows: list[list[str]]) -> dict[str, str]:
    """One colour for each different entry, in order of appearance; they repeat after the palette's end."""
    different = dict.fromkeys(entry for row in rows for entry in row if entry != "0")
    return {entry: GROUNDS[i % len(GROUNDS)] for i, entry in enumerate(different)}


def svg_cell(x: int, y: int, entry: str, fill: str, kind: str = "cell") -> str:
    """One square and what stands in it."""
    square = element("rect", x=x, y=y, width=CELL, height=CELL, fill=fill, class_=kind)
    text = words(x + CELL // 2, y + 17, entry, class_="zero" if entry == "0" else None)
    return square + (text if entry else "")


def svg_cells(rows: list[list[str]], fill: dict[str, str], left: int, top: int) -> list[str]:
    """The entries as coloured squares, with their text where there is room for it."""
    fits = len(rows[0]) <= 48 and all(len(entry) <= 4 for row in rows for entry in row)
    return [
        svg_cell(
            left + j * CELL, top + i * CELL, entry if fits or entry == "0" else "", fill.get(entry, WHITE)
        )
        for i, row in enumerate(rows)
        for j, entry in enumerate(row)
    ]


def svg_page(width: int, height: int, parts: list[str]) -> str:
    """A whole picture with a margin and the styles that cells use."""
    box = (-MARGIN, -MARGIN, width + 2 * MARGIN, height + 2 * MARGIN)
    return document([element("style", STYLE), *parts], box, "a matrix")
