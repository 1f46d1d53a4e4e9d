"""Curves as SVG in the page's own colours: a dash and a colour for each, and marks with numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from regard.paper.ink import ON_ANY
from regard.paper.quantities import RAISED, binary
from regard.paper.svg import Value, drawing, element, line, words

WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 520, 320, 72, 18, 12, 52
RULE = "var(--line)"


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, by powers if `log`; `base` says which powers are marked."""

    name: str
    low: float
    high: float
    log: bool = False
    base: int = 10

    def share(self, value: float) -> float:
        """How far along the axis a value lies, kept within it."""
        if self.log:
            value, low, high = (math.log(max(x, 1e-300)) for x in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5

    def ticks(self) -> list[float]:
        """At most nine round values."""
        if not self.log:
            step = 10 ** math.floor(math.log10((self.high - self.low) / 4))
            step *= next(f for f in (1, 2, 5, 10) if (self.high - self.low) / (step * f) <= 8)
            first = math.ceil(self.low / step - 1e-9)
            return [step * i for i in range(first, math.floor(self.high / step + 1e-9) + 1)]
        first = math.ceil(math.log(self.low, self.base) - 1e-9)
        last = math.floor(math.log(self.high, self.base) + 1e-9)
        if self.base == 10 and last - first < 1:  # within one power, or just over it
            near = (f * 10.0**i for i in (first - 1, first, last) for f in (1, 2, 5))
            return sorted({value for value in near if self.low <= value <= self.high})
        every = max(1, -(-(last - first + 1) // 7))
        return [float(self.base) ** i for i in range(first, last + 1, every)]

    def label(self, value: float) -> str:
        """A tick's text: 4k for powers of two, 10⁶ for powers of ten."""
        if self.log and self.base == 2:
            return binary(value)
        if self.log and self.base == 10 and not 1e-2 <= value < 1e4:
            exponent = math.floor(math.log10(value) + 1e-9)
            power = str(exponent).translate(RAISED)
            front = round(value / 10.0**exponent)
            return f"10{power}" if front == 1 else f"{front}·10{power}"
        return f"{value:g}".replace("-", "−")


def curves(
    x: Axis,
    y: Axis,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    marks: Sequence[tuple[float, float]] = (),
    title: str = "",
) -> str:
    """The picture below its legend; marks are numbered from 1.

    >>> "<polyline" in curves(Axis("n", 1, 8), Axis("cost", 1, 64), {"square": [(1, 1), (8, 64)]})
    True
    """

    def at(px: float, py: float) -> tuple[float, float]:
        return LEFT + x.share(px) * (WIDE - LEFT - RIGHT), HIGH - BOTTOM - y.share(py) * (HIGH - TOP - BOTTOM)

    parts = []
    for value in y.ticks():
        v = at(x.low, value)[1]
        parts += [
            line(f"M{LEFT} {v:.1f}H{WIDE - RIGHT}", RULE),
            _label(LEFT - 8, v + 4, y.label(value), "end"),
        ]
    for value in x.ticks():
        u = at(value, y.low)[0]
        parts += [
            line(f"M{u:.1f} {TOP}V{HIGH - BOTTOM}", RULE),
            _label(u, HIGH - BOTTOM + 20, x.label(value)),
        ]
    middle = (HIGH - BOTTOM) / 2
    parts.append(_label((LEFT + WIDE) / 2, HIGH - 10, x.name))
    parts.append(element("g", _label(16, middle, y.name), transform=f"rotate(-90 16 {middle:g})"))
    for i, points in enumerate(lines.values()):
        path = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in points)
        shape = {"points": path, "fill": "none", "stroke_linejoin": "round"}
        parts.append(element("polyline", stroke_width=2.4, **shape, **_pen(i)))
    for number, point in enumerate(marks, 1):
        u, v = at(*point)
        parts.append(element("circle", cx=u, cy=v, r=9, fill="var(--paper)", stroke="currentColor"))
        parts.append(
            words(u, v + 4, number, class_="mark", text_anchor="middle", font_size=11, fill="currentColor")
        )
    return f'<div class="curves">{_legend(lines)}{drawing(parts, (0, 0, WIDE, HIGH), title)}</div>'


def _label(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return words(x, y, text, text_anchor=anchor, font_size=13, fill="var(--quiet)")


def _pen(i: int) -> dict[str, Value]:
    colour, dash = ON_ANY[i % len(ON_ANY)]
    return {"stroke": colour, "stroke_dasharray": dash or None}


def _legend(names: Iterable[str]) -> str:
    """Names beside a piece of their line, as text that wraps on a narrow page."""
    out = []
    for i, name in enumerate(names):
        sample = element("svg", element("path", d="M0 6h34", stroke_width=3, **_pen(i)), viewBox="0 0 34 12")
        out.append(f"<span>{sample} {escape(name)}</span>")
    return f'<div class="legend">{"".join(out)}</div>'
