"""The fields of every part that a recipe may hold, as tables with type, default and meaning."""

from __future__ import annotations

from regard.paper.tables import markdown, plain
from regard.train.explaining import explain_kind
from regard.train.recipe_data import KINDS

HEAD = ("field", "type", "default", "meaning")


def section(folder: str) -> str:
    """The tables of the classes of one folder, or nothing."""
    tables = [
        f"### {name}\n\n{table(kind)}\n"
        for name, kind in sorted(KINDS.items())
        if isinstance(kind, type) and kind.__module__.startswith(f"regard.{folder}.") and explain_kind(kind)
    ]
    if not tables:
        return ""
    said = "What may stand in a recipe, with every field: `regard recipe --explain NAME` prints the same."
    return "\n".join(["\n## Fields\n", f"{said}\n", *tables])


def table(kind: type) -> str:
    """One class as a table in Markdown."""
    rows = [
        (
            f"`{one.path}`",
            plain(one.type),
            "must be given" if one.default is None else plain(one.default),
            plain(one.meaning),
        )
        for one in explain_kind(kind)
    ]
    return markdown(HEAD, rows)
