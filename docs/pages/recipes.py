"""The recipes page: what each run is, from its own docstring, and what was measured, from the model cards."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

import regard.recipes

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benchmarks" / "results" / "runs"


def pages() -> dict[str, str]:
    """The page under its path."""
    parts = [
        "# Recipes and results\n\nA recipe is a function that returns everything a run needs. `regard train "
        "NAME` runs it, `--set key=value` changes "
        "a field, `--resume` continues it exactly. What each recipe says about itself, its command, hardware "
        "and expected score, is below."
    ]
    for name in regard.recipes.names():
        module = importlib.import_module(f"regard.recipes.{name.replace('-', '_')}")
        text = inspect.getdoc(module) or ""
        parts.append(f"## {name}\n\n```text\n{text.strip()}\n```{measured(name)}")
    return {"recipes.md": "\n\n".join(parts) + "\n"}


def measured(name: str) -> str:
    """The measured result of a recipe, where a result file is kept."""
    path = RUNS / f"{name}.json"
    if not path.exists():
        return ""
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = "\n".join(
        f"| {key} | {value} |" for key, value in found.items() if isinstance(value, str | int | float)
    )
    return f"\n\nMeasured:\n\n| | |\n|---|---|\n{rows}"
