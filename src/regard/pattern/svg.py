"""A pattern as a self-contained SVG picture: no scripts, no foreign fonts, text that can be read aloud."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from regard.pattern.picture import LEVELS, View, view

if TYPE_CHECKING:
    from regard.pattern.base import Pattern

SIDE = 512  # pixels that the longer side of the grid may take
MIDDLING, LARGEST = 22, 48  # pixels of a square
SMALLEST = 64  # pixels of the shorter side
DOTTED = 6  # pixels from which a square has lines around it and a dot on the diagonal
LEFT, TOP, LINE = 76, 88, 20
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"

# In grey these are 23 %, 93 % and 68 %, so that a photocopy and a colour-blind reader see three things.
SEEN, UNSEEN, DIAGONAL, INK, QUIET = "#1f3a6e", "#e9edf2", "#f5a623", "#1a1f2b", "#5a6374"
# The faintest shade stands out from the empty one: what is seen at all must be seen to be seen.
BETWEEN = [f"#{0xC2 - 22 * i:02x}{0xCF - 20 * i:02x}{0xE4 - 16 * i:02x}" for i in range(LEVELS - 1)]
SHADES = [UNSEEN, *BETWEEN, SEEN]


def svg(pattern: Pattern, n: int, m: int) -> str:
    """The picture of the last n of m queries and m keys."""
    shown = view(pattern, n, m)
    rows, cols = shown.levels.shape
    side = max(rows, cols)
    cell = min(SIDE / side, max(MIDDLING, min(LARGEST, 192 / side)))  # few cells are drawn larger
    dx, dy = max(cell, SMALLEST / cols), max(cell, SMALLEST / rows)
    width, height = cols * dx, rows * dy
    words = [shown.title, *shown.caption]
    wide = max(LEFT + width + 24, 24 + 6.9 * max(map(len, words)), 420)
    parts = [
        f'<text x="24" y="34" font-size="16" font-weight="600" fill="{INK}">{escape(shown.title)}</text>',
        *_axes(shown, dx, dy),
        f'<g transform="translate({LEFT} {TOP})">',
        f'<rect width="{width:g}" height="{height:g}" fill="{UNSEEN}"/>',
        f'<g transform="scale({dx:.6g} {dy:.6g})" fill="none" shape-rendering="crispEdges">',
        *(f'<path stroke="{SHADES[level]}" d="{path}"/>' for level, path in _runs(shown)),
        "</g>",
        *_marks(shown, dx, dy),
        "</g>",
    ]
    y = TOP + height + 30
    parts += _legend(shown, y, line=min(dx, dy) < DOTTED)
    for i, line in enumerate(shown.caption):
        y += LINE + (8 if i == 0 else 0)
        weight = ' font-weight="600"' if i == 0 else ""
        parts.append(f'<text x="24" y="{y:g}" font-size="13"{weight} fill="{INK}">{escape(line)}</text>')
    tall = y + 20
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{tall:.0f}" '
        f'viewBox="0 0 {wide:.0f} {tall:.0f}" role="img" font-family="{FONT}">'
        f"<title>{escape(f'{pattern}: {n:,} queries, {m:,} keys')}</title>"
        f'<rect width="100%" height="100%" rx="8" fill="#ffffff"/>'
    )
    return "\n".join([head, *parts, "</svg>\n"])


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
    style = f'font-size="11" fill="{QUIET}"'
    half = 0.5 if shown.size == 1 else 0  # a tick names a cell's middle, or a tile's beginning
    out = [
        f'<text x="{LEFT}" y="{TOP - 26}" font-size="12" fill="{INK}">key →</text>',
        f'<text x="{LEFT - 12}" y="{TOP - 9}" text-anchor="end" font-size="12" fill="{INK}">query ↓</text>',
    ]
    for tick, name in shown.key_ticks.items():
        x = LEFT + (tick / shown.size + half) * dx
        out.append(f'<text x="{x:.1f}" y="{TOP - 9}" text-anchor="middle" {style}>{name}</text>')
        out.append(f'<path d="M{x:.1f} {TOP - 5}v4" stroke="{QUIET}"/>')
    for tick, name in shown.query_ticks.items():
        y = TOP + ((tick - shown.shift) / shown.size + half) * dy
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" {style}>{name}</text>')
        out.append(f'<path d="M{LEFT - 5} {y:.1f}h4" stroke="{QUIET}"/>')
    return out


def _marks(shown: View, dx: float, dy: float) -> list[str]:
    """Lines between few cells, and the diagonal: a dot in each of few cells, else a dashed line."""
    rows, cols = shown.levels.shape
    out = []
    if min(dx, dy) >= DOTTED:
        lines = "".join(f"M{col * dx:.4g} 0v{rows * dy:.4g}" for col in range(1, cols))
        lines += "".join(f"M0 {row * dy:.4g}h{cols * dx:.4g}" for row in range(1, rows))
        out.append(f'<path d="{lines}" stroke="#ffffff" stroke-width="1"/>')
        spots = [(row + shown.shift, row) for row in range(rows) if 0 <= row + shown.shift < cols]
        radius = min(dx, dy) * 0.2
        dots = "".join(
            f'<circle cx="{(col + 0.5) * dx:.5g}" cy="{(row + 0.5) * dy:.5g}" r="{radius:.3g}"/>'
            for col, row in spots
        )
        out.append(f'<g fill="{DIAGONAL}" stroke="{INK}" stroke-width="0.6">{dots}</g>')
    else:
        first = max(0, -shown.shift)  # the first query that stands at a key
        x0, y0 = (first + shown.shift) / shown.size * dx, first / shown.size * dy
        x1, y1 = shown.m / shown.size * dx, shown.n / shown.size * dy
        line = f'<path d="M{x0:.5g} {y0:.5g}L{x1:.5g} {y1:.5g}" fill="none" '
        out.append(line + f'stroke="{INK}" stroke-width="2.6" stroke-dasharray="8 12"/>')
        out.append(line + f'stroke="{DIAGONAL}" stroke-width="1.6" stroke-dasharray="8 12"/>')
    return out


def _legend(shown: View, y: float, line: bool) -> list[str]:
    """What the shades and the mark on the diagonal mean."""
    words = f'font-size="12" fill="{QUIET}"'
    box = '<rect x="{x}" y="{y:g}" width="{w}" height="12" fill="{fill}"/>'
    out, x = [], 24
    if shown.size == 1:
        for fill, word, room in ((SEEN, "seen", 62), (UNSEEN, "not seen", 86)):
            out.append(box.format(x=x, y=y - 10, w=12, fill=fill))
            out.append(f'<text x="{x + 18}" y="{y:g}" {words}>{word}</text>')
            x += room
    else:
        for shade in SHADES:
            out.append(box.format(x=x, y=y - 10, w=9, fill=shade))
            x += 9
        out.append(f'<text x="{x + 6}" y="{y:g}" {words}>{shown.shading}</text>')
        x += 20 + int(6.4 * len(shown.shading))
    mark = f'<circle cx="{x + 6}" cy="{y - 4:g}" r="4" fill="{DIAGONAL}" stroke="{INK}" stroke-width="0.6"/>'
    if line:
        mark = f'<path d="M{x} {y - 4:g}h12" stroke="{DIAGONAL}" stroke-width="2"/>'
    out += [mark, f'<text x="{x + 18}" y="{y:g}" {words}>query = key</text>']
    return out
