"""An exchange as an SVG picture: a row for each rank over all positions, its pairs and what it receives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from regard.paper.ink import INK, MARK, QUIET, SEEN, UNSEEN, themed
from regard.paper.quantities import about
from regard.paper.svg import document, drawing, element, line, words
from regard.pattern.picture import shorten, ticks

if TYPE_CHECKING:
    from regard.pattern.exchange import Exchange  # for its type alone: an exchange shows itself through this

WIDE, LEFT, TOP = 512, 64, 96  # of the strip of positions, in pixels
ROW, GAP = 20, 4
MOST = 32  # ranks that have a row; of more, the first and the last are shown
BARS = 90  # of the columns beside


def svg(plan: Exchange, each: int) -> str:
    """The picture as a file of its own, with title and caption."""
    parts, height = _strips(plan, each)
    title = f"{plan.pattern} on {plan.ranks:,} ranks"
    parts.insert(0, words(24, 34, shorten(title), font_size=16, font_weight=600, fill=INK))
    caption = [f"n = {plan.n:,}, dealt {plan.deal.name}", *plan.summary(each).split("; ")]
    y = TOP + height + 34
    for i, text in enumerate(caption):
        y += 20
        parts.append(words(24, y, text, font_size=13, font_weight=None if i else 600, fill=INK))
    wide = max(LEFT + WIDE + 2 * BARS + 72, 24 + 6.9 * max(map(len, (shorten(title), *caption))))
    return document(parts, (0, 0, round(wide), round(y + 20)), _name(plan))


def inside(plan: Exchange, each: int) -> str:
    """The same for a page whose colours it takes, without the words that stand there as text."""
    parts, height = _strips(plan, each)
    wide = LEFT + WIDE + 2 * BARS + 72
    picture = drawing(parts, (0, TOP - 50, wide, height + 90), _name(plan), style=f"max-width:{wide}px")
    return themed(picture, SEEN, UNSEEN)


def _name(plan: Exchange) -> str:
    return f"{plan.pattern}: what {plan.ranks:,} ranks exchange at n = {plan.n:,}"


def _strips(plan: Exchange, each: int) -> tuple[list[str], float]:
    """The rows between their axes and above the legend, and how high they are."""
    shown = list(range(plan.ranks))
    if plan.ranks > MOST:
        shown[MOST // 2 : plan.ranks - MOST // 2] = [-1]
    out = [words(LEFT, TOP - 26, "position →", font_size=12, fill=INK)]
    for at, name in ticks(0, max(1, plan.n)).items():
        x = LEFT + (at / max(1, plan.n)) * WIDE
        out.append(words(x, TOP - 9, name, text_anchor="middle", font_size=11, fill=QUIET))
        out.append(line(f"M{x:.1f} {TOP - 5}v4", QUIET))
    columns = ((plan.pairs, "pairs"), ([keys * each for keys in plan.received_keys], "bytes received"))
    starts = [LEFT + WIDE + 24 + i * (BARS + 24) for i in range(2)]
    for x, (_, name) in zip(starts, columns, strict=True):
        out.append(words(x, TOP - 9, name, font_size=12, fill=INK))
    y = float(TOP)
    for rank in shown:
        if rank < 0:
            out.append(words(LEFT, y + 14, f"… {plan.ranks - MOST:,} ranks more …", font_size=11, fill=QUIET))
            y += ROW + GAP
            continue
        out.append(words(LEFT - 8, y + 14, f"rank {rank}", text_anchor="end", font_size=11, fill=QUIET))
        out.append(element("rect", x=LEFT, y=y, width=WIDE, height=ROW, fill=UNSEEN))
        out += _strip(plan, rank, y)
        for x, (values, _) in zip(starts, columns, strict=True):
            share = values[rank] / max(1, *values)
            out.append(element("rect", x=x, y=y, width=max(share * BARS, 0.5), height=ROW, fill=UNSEEN))
            told = about(values[rank], x == starts[1]) or f"{values[rank]:,}"
            out.append(words(x + 4, y + 14, told, font_size=11, fill=INK))
        y += ROW + GAP
    height = y - TOP
    return out + _legend(TOP + height + 22), height


def _strip(plan: Exchange, rank: int, y: float) -> list[str]:
    """What a rank receives and, above it, what it holds; what is there at all takes a pixel."""
    edges = torch.tensor([i * plan.n // WIDE for i in range(WIDE + 1)])
    few = plan.n < WIDE
    out = []
    for keys, fill in ((plan.needed[rank].intervals(), MARK), (plan.deal.intervals(rank), SEEN)):
        if few:
            scale = WIDE / max(1, plan.n)
            spots = [
                (lo * scale, (hi - lo) * scale) for lo, hi in zip(*(x.tolist() for x in keys), strict=True)
            ]
        else:
            full = (keys.below(edges).diff() > 0).int()
            turn = torch.cat([full.new_zeros(1), full, full.new_zeros(1)]).diff()
            begin, end = ((turn == sign).nonzero()[:, 0].tolist() for sign in (1, -1))
            spots = [(a, b - a) for a, b in zip(begin, end, strict=True)]
        path = "".join(f"M{LEFT + x:.5g} {y + ROW / 2:.5g}h{width:.5g}" for x, width in spots)
        if path:
            out.append(line(path, fill, stroke_width=ROW))
    return out


def _legend(y: float) -> list[str]:
    """What the colours mean."""
    out, x = [], float(LEFT)
    for fill, word, room in ((SEEN, "its own", 80), (MARK, "received", 90), (UNSEEN, "not needed", 90)):
        out.append(element("rect", x=x, y=y - 10, width=12, height=12, fill=fill))
        out.append(words(x + 18, y, word, font_size=12, fill=QUIET))
        x += room
    return out
