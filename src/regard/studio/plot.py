"""Curves as SVG in the page's own colours: a dash and a colour for each, and marks with numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

# Apart in hue, in grey and in dash, on white and on dark paper alike.
LOOKS = (
    ("#2f6fd0", ""), ("#d9660f", "9 5"), ("#2e9e6b", "2 4"), ("#a35fc9", "12 4 2 4"), ("#c23b5a", "5 3"),
)  # fmt: skip
WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 520, 320, 72, 18, 12, 52


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
            for unit, name in ((1 << 20, "M"), (1 << 10, "k")):
                if value >= unit:
                    return f"{value / unit:g}{name}"
        if self.log and self.base == 10 and not 1e-2 <= value < 1e4:
            exponent = math.floor(math.log10(value) + 1e-9)
            power = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
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
    """The picture; marks are numbered from 1.

    >>> "<polyline" in curves(Axis("n", 1, 8), Axis("cost", 1, 64), {"square": [(1, 1), (8, 64)]})
    True
    """

    def at(px: float, py: float) -> tuple[float, float]:
        return LEFT + x.share(px) * (WIDE - LEFT - RIGHT), HIGH - BOTTOM - y.share(py) * (HIGH - TOP - BOTTOM)

    parts = [f"<title>{escape(title)}</title>"]
    for value in y.ticks():
        _, v = at(x.low, value)
        parts.append(f'<path d="M{LEFT} {v:.1f}H{WIDE - RIGHT}" stroke="var(--line)"/>')
        parts.append(_text(LEFT - 8, v + 4, y.label(value), "end"))
    for value in x.ticks():
        u, _ = at(value, y.low)
        parts.append(f'<path d="M{u:.1f} {TOP}V{HIGH - BOTTOM}" stroke="var(--line)"/>')
        parts.append(_text(u, HIGH - BOTTOM + 20, x.label(value), "middle"))
    parts.append(_text((LEFT + WIDE) / 2, HIGH - 10, x.name, "middle"))
    middle = (HIGH - BOTTOM) / 2
    parts.append(f'<g transform="rotate(-90 16 {middle})">{_text(16, middle, y.name, "middle")}</g>')
    for i, points in enumerate(lines.values()):
        colour, dash = LOOKS[i % len(LOOKS)]
        path = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.4" '
                     f'stroke-dasharray="{dash}" stroke-linejoin="round"/>')  # fmt: skip
    for number, point in enumerate(marks, 1):
        u, v = at(*point)
        parts.append(f'<circle cx="{u:.1f}" cy="{v:.1f}" r="9" fill="var(--paper)" stroke="currentColor"/>')
        parts.append(f'<text class="mark" x="{u:.1f}" y="{v + 4:.1f}" text-anchor="middle" font-size="11" '
                     f'fill="currentColor">{number}</text>')  # fmt: skip
    picture = f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img">{"".join(parts)}</svg>'
    return f'<div class="curves">{_legend(list(lines))}{picture}</div>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="13" fill="var(--quiet)">'
        f"{escape(text)}</text>"
    )


def _legend(names: list[str]) -> str:
    """Names beside a piece of their line, as text that wraps on a narrow page."""
    out = []
    for i, name in enumerate(names):
        colour, dash = LOOKS[i % len(LOOKS)]
        line = f'<path d="M0 6h34" stroke="{colour}" stroke-width="3" stroke-dasharray="{dash}"/>'
        out.append(f'<span><svg viewBox="0 0 34 12">{line}</svg> {escape(name)}</span>')
    return f'<div class="legend">{"".join(out)}</div>'
