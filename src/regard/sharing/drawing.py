"""A matrix for people: in the terminal, in LaTeX and as a picture."""

from typing import Any

from torch import Tensor

# Colours that stay apart for readers who confuse red and green, and under black text.
PALETTE = ("#8ecae6", "#ffb703", "#a7c957", "#f4a6c0", "#cdb4db", "#fb8500", "#90e0c5", "#e9d8a6", "#b5b5d8")
CELL = 26


def draw_matrix(matrix: Any) -> str:
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


def latex_matrix(matrix: Any) -> str:
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


def svg_matrix(matrix: Any) -> str:
    """The matrix as an SVG picture: equal entries have equal colours, zeros none.

    >>> from regard.sharing import conv_matrix
    >>> svg_matrix(conv_matrix(["a", "b"], 3)).count("<rect")
    6
    """
    rows = cells(matrix)
    body = svg_cells(rows, colours(rows), 0, 0)
    return svg_page(len(rows[0]) * CELL, len(rows) * CELL, body)


def cells(matrix: Any, *, latex: bool = False) -> list[list[str]]:
    """The entries of a tensor (dense or CSR) or of a sympy matrix as text."""
    if isinstance(matrix, Tensor):
        if matrix.dim() != 2:
            raise ValueError(f"matrix must have shape (rows, cols), got matrix.shape={tuple(matrix.shape)}")
        return [[f"{entry:.4g}" for entry in row] for row in matrix.detach().to_dense().tolist()]
    if not hasattr(matrix, "tolist") or len(getattr(matrix, "shape", ())) != 2:
        raise ValueError(f"matrix must be a tensor or a sympy matrix, got {type(matrix).__name__}")
    if latex:
        import sympy

        return [[str(sympy.latex(entry)) for entry in row] for row in matrix.tolist()]
    return [[str(entry) for entry in row] for row in matrix.tolist()]


def colours(rows: list[list[str]]) -> dict[str, str]:
    """One colour for each different entry, in order of appearance; they repeat after the palette's end."""
    different = dict.fromkeys(entry for row in rows for entry in row if entry != "0")
    return {entry: PALETTE[i % len(PALETTE)] for i, entry in enumerate(different)}


def svg_cells(rows: list[list[str]], fill: dict[str, str], left: int, top: int) -> str:
    """The entries as coloured squares, with their text where there is room for it."""
    parts = []
    longest = max(len(entry) for row in rows for entry in row)
    text = longest <= 4 and len(rows[0]) <= 48
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            x, y = left + j * CELL, top + i * CELL
            colour = fill.get(entry, "#ffffff")
            parts.append(
                f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{colour}" class="cell"/>'
            )
            if entry == "0":
                parts.append(f'<text x="{x + CELL // 2}" y="{y + 17}" class="zero">0</text>')
            elif text:
                parts.append(f'<text x="{x + CELL // 2}" y="{y + 17}">{escape(entry)}</text>')
    return "\n".join(parts)


def svg_page(width: int, height: int, body: str) -> str:
    """A whole picture with a margin and the styles that cells use."""
    margin = 8
    width, height = width + 2 * margin, height + 2 * margin
    style = (
        "text{font:11px sans-serif;text-anchor:middle;fill:#222}.zero{fill:#bbb}"
        ".cell{stroke:#999;stroke-width:.5}.title{font-size:13px;text-anchor:start}"
        ".block{fill:none;stroke:#222;stroke-width:1.5}.pad{stroke-dasharray:2 2}"
    )
    box = f'viewBox="{-margin} {-margin} {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}><style>{style}</style>'
    paper = f'<path d="M{-margin} {-margin}h{width}v{height}h{-width}z" fill="#fff"/>'
    return f"{head}\n{paper}\n{body}\n</svg>\n"


def escape(text: str) -> str:
    """Text that may stand in SVG."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
