"""The colours of everything that is drawn, each of them once, and the same as variables of a page.

What must be told apart differs in grey too, so that a photocopy and a colour-blind reader see it.
"""

from __future__ import annotations

from collections.abc import Mapping

Colour = tuple[int, int, int]

INK, QUIET, RULE = "#1a1f2b", "#5a6374", "#8a93a3"  # words, lesser words, the lines of a plot
GOOD, BAD = "#1b6e3c", "#a92a1e"
WHITE = "#ffffff"
# In grey these are 23 %, 93 % and 68 %.
SEEN, UNSEEN, MARK = "#1f3a6e", "#e9edf2", "#f5a623"
HEAT: tuple[Colour, ...] = ((46, 15, 94), (122, 28, 109), (197, 54, 84), (242, 120, 48), (253, 226, 120))
FOR: Colour = (235, 120, 10)
AGAINST: Colour = (38, 104, 220)
NEITHER: Colour = (124, 126, 130)  # between the two signs
PALE_FOR: Colour = (254, 236, 214)
PALE_AGAINST: Colour = (222, 233, 253)

# Curves on white paper, and those that a page shows on white and on dark; dashes tell them apart once more.
SERIES = ("#1f3a6e", "#d9822b", "#2a9d8f", "#8a3ffc", "#c1121f", "#6c757d")
STYLES = ("-o", "--s", "-.^", ":D", "-v", "--x")
BLUE, ORANGE, GREY = "#3f7fd0", "#d9480f", "#7a8496"
ON_ANY = ((BLUE, ""), (ORANGE, "9 5"), ("#2e9e6b", "2 4"), ("#a35fc9", "12 4 2 4"), ("#c23b5a", "5 3"))

# Grounds of cells that stay apart for readers who confuse red and green, and under black words.
GROUNDS = ("#8ecae6", "#ffb703", "#a7c957", "#f4a6c0", "#cdb4db", "#fb8500", "#90e0c5", "#e9d8a6", "#b5b5d8")

# The names that style sheets use, on light paper and on dark.
LIGHT = {
    "ink": INK, "quiet": QUIET, "paper": "#fbfbf9", "card": WHITE, "line": "#dfe3ea", "accent": SEEN,
    "good": GOOD, "bad": BAD, "seen": SEEN, "unseen": UNSEEN, "now": MARK,
    "for": "{} {} {}".format(*FOR), "against": "{} {} {}".format(*AGAINST), "strong": ".75",
    "heat": ", ".join(f"rgb{colour}" for colour in HEAT), "neither": "{} {} {}".format(*NEITHER),
}  # fmt: skip
DARK = {
    "ink": "#e8eaf0", "quiet": "#a8b0c0", "paper": "#151922", "card": "#1c212b", "line": "#353d4c",
    "accent": "#9db7ee", "good": "#7fd6a0", "bad": "#ff9d8f", "seen": "#8fb0f5", "unseen": "#2a3140",
    "for": "200 92 0", "against": "40 98 214", "strong": ".9",
}  # fmt: skip


def variables(where: str, colours: Mapping[str, str]) -> str:
    """A rule of a style sheet that gives colours their names.

    >>> variables(":root", {"ink": INK})
    ':root { --ink: #1a1f2b }'
    """
    return f"{where} {{ {'; '.join(f'--{name}: {value}' for name, value in colours.items())} }}"


def themed(svg: str, *further: str) -> str:
    """An SVG whose words, and whose `further` colours, are those of the page that it stands on.

    >>> themed('<path fill="#1a1f2b" stroke="#e9edf2"/>', UNSEEN)
    '<path fill="currentColor" stroke="var(--unseen)"/>'
    """
    names = {SEEN: "var(--seen)", UNSEEN: "var(--unseen)", WHITE: "var(--paper)"}
    for colour, name in {INK: "currentColor", QUIET: "var(--quiet)"}.items():
        svg = svg.replace(colour, name)
    for colour in further:
        svg = svg.replace(colour, names[colour])
    return svg
