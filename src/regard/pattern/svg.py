"""A pattern as an SVG picture: no scripts, no foreign fonts, text that can be read aloud."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from regard.paper.ink import INK, MARK, QUIET, SEEN, UNSEEN, WHITE, themed
from regard.paper.svg import document, drawing, element, line, words
from regard.pattern.picture import SHADES, View, view

if TYPE_CHECKING:
    from regard.pattern.base import Pattern  # for its type alone: a pattern shows itself through this file

SIDE = 512  # pixels that the longer side of the grid may take
MIDDLING, LARGEST = 22, 48  # pixels of a square
SMALLEST = 64  # pixels of the shorter side
DOTTED = 6  # pixels from which a square has lines around it and a dot on the diagonal
LEFT, TOP, LINE = 76, 88, 20


def svg(pattern: Pattern, n: int, m: int, *, formula: bool = True) -> str:
    """The picture of the last n of m queries and m keys as a file of its own, with title and caption."""
    return page(view(pattern, n, m, formula=formula))


def page(shown: View) -> str:
    """The same of what is seen already."""
    parts, (width, height) = _grid(shown)
    parts.insert(0, words(24, 34, shown.title, font_size=16, font_weight=600, fill=INK))
    y = TOP + height + 38
    for i, text in enumerate(shown.caption):
        y += LINE
        parts.append(words(24, y, text, font_size=13, font_weight=None if i else 600, fill=INK))
    wide = max(LEFT + width + 24, 24 + 6.9 * max(map(len, (shown.title, *shown.caption))), 420)
    return document(parts, (0, 0, round(wide), round(y + 20)), _name(shown))


def inside(pattern: Pattern, n: int, m: int) -> str:
    """The same for a page whose colours it takes, without the words that stand there as text."""
    shown = view(pattern, n, m, formula=False)
    parts, (width, height) = _grid(shown)
    wide = max(LEFT + width + 24, 300)
    box = (0, TOP - 44, wide, height + 88)
    picture = drawing(parts, box, _name(shown), style=f"max-width:{wide:.0f}px")
    return themed(picture, SEEN, UNSEEN, WHITE)


def _name(shown: View) -> str:
    return f"{shown.name}: {shown.n:,} queries, {shown.m:,} keys"


def _grid(shown: View) -> tuple[list[str], tuple[float, float]]:
    """The squares between their axes and above the legend; and how wide and high they are."""
    rows, cols = shown.levels.shape
    side = max(rows, cols)
    cell = min(SIDE / side, max(MIDDLING, min(LARGEST, 192 / side)))  # few cells are drawn larger
    dx, dy = max(cell, SMALLEST / cols), max(cell, SMALLEST / rows)
    width, height = cols * dx, rows * dy
    strokes = [element("path", stroke=SHADES[level], d=path) for level, path in _runs(shown)]
    scaled = f"scale({dx:.6g} {dy:.6g})"
    ground = element("rect", width=width, height=height, fill=UNSEEN)
    squares = element("g", *strokes, "", transform=scaled, fill="none", shape_rendering="crispEdges")
    inner = [ground, squares, *_marks(shown, dx, dy)]
    parts = [*_axes(shown, dx, dy), element("g", *inner, transform=f"translate({LEFT} {TOP})")]
    return parts + _legend(shown, TOP + height + 30, dashed=min(dx, dy) < DOTTED), (width, height)


def _runs(shown: View) -> list[tuple[int, str]]:
    """For each shade one path of strokes, one unit thick, along the middle of the rows."""
    strokes: dict[int, list[str]] = {}
    for row, levels in enumerate(shown.levels.tolist()):
        at: dict[int, int] = {}
        col = 0
        for level, run in groupby(levels):
            length = len(list(run))
            if level:
                move = f"m{col - at[level]} 0" if level in at else f"M{col} {row}.5"
                strokes.setdefault(level, []).append(f"{move}h{length}")
                at[level] = col + length
            col += length
    return [(level, "".join(path)) for level, path in sorted(strokes.items())]


def _axes(shown: View, dx: float, dy: float) -> list[str]:
    """Names and ticks: keys along the top, queries down the left, both as positions of the sequence."""
    half = 0.5 if shown.size == 1 else 0  # a tick names a cell's middle, or a tile's beginning
    out = [
        words(LEFT, TOP - 26, "key →", font_size=12, fill=INK),
        words(LEFT - 12, TOP - 9, "query ↓", text_anchor="end", font_size=12, fill=INK),
    ]
    for tick, name in shown.key_ticks.items():
        x = LEFT + (tick / shown.size + half) * dx
        out.append(words(x, TOP - 9, name, text_anchor="middle", font_size=11, fill=QUIET))
        out.append(line(f"M{x:.1f} {TOP - 5}v4", QUIET))
    for tick, name in shown.query_ticks.items():
        y = TOP + ((tick - shown.shift) / shown.size + half) * dy
        out.append(words(LEFT - 8, y + 4, name, text_anchor="end", font_size=11, fill=QUIET))
        out.append(line(f"M{LEFT - 5} {y:.1f}h4", QUIET))
    return out


def _marks(shown: View, dx: float, dy: float) -> list[str]:
    """Lines between few cells, and the diagonal: a dot in each of few cells, else a dashed line."""
    rows, cols = shown.levels.shape
    if min(dx, dy) >= DOTTED:
        path = "".join(f"M{col * dx:.4g} 0v{rows * dy:.4g}" for col in range(1, cols))
        path += "".join(f"M0 {row * dy:.4g}h{cols * dx:.4g}" for row in range(1, rows))
        spots = [(row + shown.shift, row) for row in range(rows) if 0 <= row + shown.shift < cols]
        radius = min(dx, dy) * 0.2
        dots = [element("circle", cx=(col + 0.5) * dx, cy=(row + 0.5) * dy, r=radius) for col, row in spots]
        return [line(path, WHITE), element("g", *dots, "", fill=MARK, stroke=INK, stroke_width=0.6)]
    first = max(0, -shown.shift)  # the first query that stands at a key
    x0, y0 = (first + shown.shift) / shown.size * dx, first / shown.size * dy
    x1, y1 = shown.m / shown.size * dx, shown.n / shown.size * dy
    path = f"M{x0:.5g} {y0:.5g}L{x1:.5g} {y1:.5g}"
    pens = ((INK, 2.6), (MARK, 1.6))
    return [line(path, stroke, stroke_width=width, stroke_dasharray="8 12") for stroke, width in pens]


def _legend(shown: View, y: float, dashed: bool) -> list[str]:
    """What the shades and the mark on the diagonal mean."""
    out, x = [], 24
    keys = [(SEEN, 12, "seen", 62), (UNSEEN, 12, "not seen", 86)]
    if shown.size > 1:
        keys = [(shade, 9, "", 9) for shade in SHADES[:-1]]
        keys.append((SHADES[-1], 9, shown.shading, 29 + int(6.4 * len(shown.shading))))
    for fill, width, word, room in keys:
        out.append(element("rect", x=x, y=y - 10, width=width, height=12, fill=fill))
        if word:
            out.append(words(x + width + 6, y, word, font_size=12, fill=QUIET))
        x += room
    mark = element("circle", cx=x + 6, cy=y - 4, r=4, fill=MARK, stroke=INK, stroke_width=0.6)
    if dashed:
        mark = line(f"M{x} {y - 4:g}h12", MARK, stroke_width=2)
    return [*out, mark, words(x + 18, y, "query = key", font_size=12, fill=QUIET)]
