"""Examples of docstrings as code: `>>>` at the start of a line would be a quotation in Markdown."""

from __future__ import annotations

from typing import Any

import griffe


class Doctests(griffe.Extension):  # type: ignore[misc]
    """Puts fences around every example of a docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of one object before it is shown."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with each example, up to the next empty line, between fences."""
    out: list[str] = []
    inside = False
    for line in text.split("\n"):
        if not inside and line.lstrip().startswith(">>>"):
            out += ["", "```pycon"]
            inside = True
        if inside and not line.strip():
            out.append("```")
            inside = False
        out.append(line)
    return "\n".join([*out, "```"] if inside else out)
