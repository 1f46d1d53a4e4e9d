"""The figure of a text coloured by attention and by gradient."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from regard.paper.figures import new_figure
from regard.paper.ink import INK, QUIET
from regard.paper.pixels import blend
from regard.paper.quantities import chance
from regard.probe.text_colours import FAINT, NONE, attention_shares, gradient_shares
from regard.probe.texts import TextLook

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 46  # letters in one line of one column
LETTER, LINE = 0.0836, 0.225  # inches, in DejaVu Sans Mono of 10 points


def text_figure(look: TextLook) -> Figure:
    """The text twice, side by side: words coloured by attention, and by what moved the answer."""
    parts = [] if look.attention is None else [("attention", attention_shares(look))]
    if look.gradient is not None:
        parts.append(("gradient: orange for, blue against the answer", gradient_shares(look)))
    places = wrapped(look.pieces, look.joined)
    lines = 1 + max((line for line, _, _ in places), default=0)
    column = ACROSS * LETTER
    wide = 0.4 + len(parts) * column + (len(parts) - 1) * 0.4
    high = lines * LINE + 0.95
    out = new_figure(wide, high)
    sure = "" if look.probability is None else f" ({chance(look.probability)})"
    answer = f"{look.answer or NONE}{sure}"
    out.text(0.2 / wide, 1 - 0.32 / high, answer, fontsize=12, fontweight="bold", color=INK)
    for k, (name, shares) in enumerate(parts):
        left = 0.2 + k * (column + 0.4)
        axes = out.add_axes((left / wide, 0.15 / high, column / wide, lines * LINE / high))
        out.text(left / wide, 1 - 0.62 / high, name, fontsize=9, color=QUIET)
        axes.set_xlim(0, ACROSS)
        axes.set_ylim(lines, 0)
        axes.axis("off")
        for (line, at, text), share in zip(places, shares, strict=True):
            _word(axes, line, at, text, share)
    return out


def wrapped(pieces: tuple[str, ...], joined: str, across: int = ACROSS) -> list[tuple[int, int, str]]:
    """Line, column and text of every piece, the lines at most `across` letters wide where words allow.

    >>> wrapped(("one", "two", "three"), " ", across=8)
    [(0, 0, 'one'), (0, 4, 'two'), (1, 0, 'three')]
    """
    out, line, at = [], 0, 0
    for i, piece in enumerate(pieces):
        lead = (joined if i else "") + piece[: len(piece) - len(piece.lstrip())]
        body = piece.strip()
        if "\n" in lead:
            line, at, lead = line + 1, 0, ""
        if at and at + len(lead) + width(body) > across:
            line, at = line + 1, 0
        at += len(lead) if at else 0
        out.append((line, at, body))
        at += width(body)
        if "\n" in piece[len(piece.rstrip()) :]:
            line, at = line + 1, 0
    return out


def width(text: str) -> int:
    """The columns that a text takes: wide letters take two, marks that join none.

    >>> width("né"), width("漢字"), width("e\\u0301")
    (2, 4, 1)
    """
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def _word(axes: Axes, line: int, at: int, text: str, share: float) -> None:
    ink = INK
    if abs(share) >= FAINT and text:
        red, green, blue = blend(share)
        colour = (red / 255, green / 255, blue / 255)
        axes.barh(line + 0.5, width(text) + 0.2, 0.84, at - 0.1, color=colour)
        ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 130 else INK
    axes.text(at, line + 0.5, text, fontsize=10, family="DejaVu Sans Mono", color=ink, va="center_baseline",
              parse_math=False, clip_on=False)  # fmt: skip
