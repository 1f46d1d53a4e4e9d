"""SVG from its parts: elements with their attributes, words that are escaped, and the drawing around them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

FONT = "system-ui, Segoe UI, Helvetica, Arial, sans-serif"
SPACE = "http://www.w3.org/2000/svg"
Value = str | float | None


def element(name: str, *inner: str, **attributes: Value) -> str:
    """One element; `class_` is its class, other underscores are hyphens, and None is left out.

    >>> element("rect", x=0.5, width=10.0, stroke_width=None, class_="cell")
    '<rect x="0.5" width="10" class="cell"/>'
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{shown}>{''.join(inner)}</{name}>" if inner else f"<{name}{shown}/>"


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.6g}"


def words(x: float, y: float, text: object, **attributes: Value) -> str:
    """A line of text.

    >>> words(0, 12, "a < b", fill="red")
    '<text x="0" y="12" fill="red">a &lt; b</text>'
    """
    return element("text", escape(str(text)), x=x, y=y, **attributes)


def line(path: str, stroke: str, **attributes: Value) -> str:
    """A path that is drawn and not filled."""
    return element("path", d=path, fill="none", stroke=stroke, **attributes)


def drawing(
    parts: Iterable[str], box: tuple[float, float, float, float], title: str, **attributes: Value
) -> str:
    """The whole picture: the part `box` (left, top, width, height) of the plane, with a title read aloud."""
    view = " ".join(f"{side:.6g}" for side in box)
    inner = [element("title", escape(title)), *parts]
    return element("svg", "\n".join(inner), viewBox=view, role="img", **attributes)


def document(parts: Iterable[str], box: tuple[float, float, float, float], title: str) -> str:
    """A picture that is a file of its own, on white paper."""
    left, top, wide, high = box
    paper = element("rect", x=left, y=top, width=wide, height=high, rx=8, fill="#ffffff")
    size: dict[str, Value] = {"width": round(wide), "height": round(high)}
    return drawing([paper, *parts], box, title, xmlns=SPACE, font_family=FONT, **size) + "\n"
