"""The reference: one page for each folder of the package, filled from docstrings by mkdocstrings."""

from __future__ import annotations

import importlib
from pathlib import Path

from pages import fields

PACKAGE = Path(__file__).parents[2] / "src" / "regard"
FOLDERS = (
    "pattern", "attention", "recurrence", "sharing", "parallel", "layers", "models", "course", "cost", "data",
    "train", "recipes", "probe", "zoo", "lessons",
)  # fmt: skip


def pages() -> dict[str, str]:
    """One page per folder that exists, and their index."""
    out, lines = {}, []
    for folder in FOLDERS:
        if not (PACKAGE / folder / "__init__.py").exists():
            continue
        module = importlib.import_module(f"regard.{folder}")
        out[f"reference/{folder}.md"] = (
            f"# regard.{folder}\n\n::: regard.{folder}\n    options:\n      show_root_heading: false\n      "
            "show_root_toc_entry: false\n"
        ) + fields.section(folder)
        said = (module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
        lines.append(f"- [`regard.{folder}`]({folder}.md) — {said}")
    out["reference/index.md"] = (
        "# Reference\n\nImports point one way: each folder may use those above it.\n\n"
        + "\n".join(lines)
        + "\n"
    )
    return out
