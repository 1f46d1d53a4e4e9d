"""The tour's first two parts: the patterns of the lectures, and what they cost on a long sequence."""

from __future__ import annotations

import re
from html import escape

from rich.columns import Columns
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from regard.paper.pages import table
from regard.paper.quantities import fine_percent
from regard.paper.tables import listed
from regard.pattern import Causal, Full, Pattern, Strided, Windowed
from regard.pattern.summary import summarise
from regard.tour.runs import TourRuns
from regard.tour.stop import Stop

SMALL, LONG = 16, 65_536

LECTURES: list[tuple[str, Pattern, str]] = [
    (
        "Autoregressive",
        Causal(),
        "A token sees itself and everything before it. Row i of the picture has i marks, counted from one, "
        "so there are 1 + 2 + … + n of them.",
    ),
    (
        "Strided",
        Strided(back=3),
        "A token sees itself and at most t = 3 tokens before it. Each of the n rows would have t + 1 marks, "
        "but the first t rows lack t, t − 1, …, 1 of them: n(t+1) − t(t+1)/2 in all.",
    ),
    (
        "Windowed",
        Windowed(size=4),
        "The sequence is cut into windows of w = 4, and a token sees itself and what precedes it in its "
        "window. Each window is a small triangle of w(w+1)/2 marks, and there are n/w of them; where w does "
        "not divide n, the r tokens left over make a smaller one.",
    ),
]


def drawings(_: TourRuns) -> Stop:
    """Three ways to look back, each drawn, counted and explained."""
    intro = (
        "Attention lets every position of a sequence, the query, look at other positions, the keys. "
        "A pattern says who may look at whom. Each pair that is allowed costs one dot product, so counting "
        "the marks of a picture is counting the work."
    )
    cards, panels, laws = [], [], Table("pattern", "pairs for n tokens", box=None, padding=(0, 2, 0, 0))
    data: dict[str, object] = {}
    for name, pattern, why in LECTURES:
        found = summarise(pattern, SMALL)
        data[found.pattern] = found.as_dict()
        tied = re.sub(
            r" ([=+−]) ", "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", why
        )  # no line ends inside a sum
        cards.append(
            f'<div class="card"><h3>{name}</h3>\n{pattern.svg(SMALL)}\n<p>{escape(tied)}</p>\n'
            f'<p class="formula">{escape(str(found.letters))}</p>\n'
            f"<pre>regard draw {escape(repr(found.pattern))} -n {SMALL}</pre></div>"
        )
        grid = Text(pattern.draw(SMALL).replace("#", "■").replace(".", "·"))
        panels.append(
            Panel(grid, title=found.pattern, subtitle=f"{found.pairs} of {found.dense}", expand=False)
        )
        laws.add_row(name.lower(), Text(str(found.letters)))
    html = f"<p>{intro}</p>\n" + '<div class="cards three">\n' + "\n".join(cards) + "\n</div>"
    return Stop(html, [intro, Columns(panels), laws], data)


def costs(_: TourRuns) -> Stop:
    """The same patterns on a long sequence, beside looking at everything."""
    intro = (
        f"At {LONG:,} tokens the difference is no longer one of taste: looking at everything grows with n², "
        "the strided and the windowed pattern with n. The last column is what a decoder must keep: how many "
        "keys any later token can still see."
    )
    found = [
        summarise(pattern, LONG)
        for pattern in (Full(), Causal(), Strided(3), Windowed(4), Strided(1023), Windowed(1024))
    ]
    rows = [
        (
            part.pattern,
            f"{part.pairs:,}",
            fine_percent(part.share or 0.0),
            f"{part.saving or 0:,.1f}×",
            "all" if part.keys_kept is None else f"{part.keys_kept:,}",
        )
        for part in found
    ]
    head = ["pattern", "pairs", "of n²", "fewer", "keys kept"]
    more = (
        "Patterns combine with &amp;, | and ~, and the result is drawn and counted in the same way. Try "
        '<code>regard count "strided(1023) | global(4) &amp; causal" -n 64k --formula</code>.'
    )
    html = f"<p>{intro}</p>\n{table(head, rows)}\n<p>{more}</p>"
    return Stop(html, [intro, listed(head, rows)], {one.pattern: one.as_dict() for one in found})
