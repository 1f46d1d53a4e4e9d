"""A pattern to play with in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.errors import check_int, need
from regard.paper.widgets import widget_class

if TYPE_CHECKING:
    from anywidget import AnyWidget

    from regard.pattern.base import Pattern

LONGEST = 256  # positions that are drawn cell by cell


def widget(pattern: Pattern, n: int) -> AnyWidget:
    """A grid with a slider for its length and for each field; `.text` and `.n` follow what is set there."""
    check_int("n", n, 1, LONGEST)
    pattern.resolve(n)
    own = [type(atom).__name__ for atom in pattern.atoms() if not type(atom).__module__.startswith("regard.")]
    if own:
        raise ValueError(f"a widget draws the package's own patterns, got {own[0]}; see figure() and draw()")
    base = widget_class("widget_pattern.js")
    traits = need("traitlets", "notebook")
    kind = type(
        "PatternWidget",
        (base,),
        {"text": traits.Unicode().tag(sync=True), "n": traits.Int().tag(sync=True)},
    )
    made: AnyWidget = kind(text=str(pattern), n=n)
    return made
