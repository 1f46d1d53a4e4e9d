"""The house in one picture: which room of the package imports which, read from the imports themselves."""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path

from regard.paper.ink import INK, QUIET, SEEN, UNSEEN

PACKAGE = Path(__file__).parents[2] / "src" / "regard"
CELL, LEFT, TOP = 26, 112, 104  # of the grid, in pixels
ITSELF = "#aebdd6"


def pages() -> dict[str, str]:
    """The picture by its path."""
    return {"pictures/house.svg": svg()}


def imports() -> dict[str, set[str]]:
    """For each room the rooms that its files import, wherever in a file the import stands."""
    out: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room.startswith("__"):
            continue
        found = out.setdefault(room, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                names = [f"regard.{alias.name}" for alias in node.names] if module == "regard" else [module]
            else:
                continue
            found |= {name.split(".")[1] for name in names if name.startswith("regard.")}
    return {room: {other for other in found if other in out and other != room} for room, found in out.items()}


def in_order(looks: dict[str, set[str]]) -> list[str]:
    """The rooms, each behind all that it imports."""
    floors: dict[str, int] = {}

    def floor(room: str, above: tuple[str, ...] = ()) -> int:
        if room in above:
            raise ValueError(f"rooms import each other: {' → '.join((*above, room))}")
        if room not in floors:
            floors[room] = 1 + max((floor(other, (*above, room)) for other in looks[room]), default=0)
        return floors[room]

    return sorted(looks, key=lambda room: (floor(room), room))


def svg() -> str:
    """The rooms as an attention pattern: a row looks at the columns that it imports, never to the right."""
    looks = imports()
    rooms = in_order(looks)
    size = CELL * len(rooms)
    width, height = LEFT + size + 24, TOP + size + 16
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" '
        "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">"
        "<title>Which room imports which: a row looks at columns to its left</title>",
        '<rect width="100%" height="100%" rx="8" fill="#ffffff"/>',
    ]
    for index, room in enumerate(rooms):
        x, y = LEFT + CELL * index, TOP + CELL * index
        out += [
            _text(f'x="{LEFT - 10}" y="{y + 17}" text-anchor="end" font-weight="600"', room, INK),
            _text(f'transform="translate({x + 17} {TOP - 8}) rotate(-50)"', room),
        ]
        for column, other in enumerate(rooms):
            fill = SEEN if other in looks[room] else ITSELF if other == room else None
            place = (
                f'x="{LEFT + CELL * column + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" rx="3"'
            )
            paint = f'fill="{fill}"' if fill else f'fill="none" stroke="{UNSEEN}"'
            out.append(f"<rect {place} {paint}/>")
    return "\n".join([*out, "</svg>"]) + "\n"


def _text(place: str, words: str, fill: str = QUIET) -> str:
    return f'<text {place} font-size="12" fill="{fill}">{escape(words)}</text>'
