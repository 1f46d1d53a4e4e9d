"""The recipes page: what each run is, from its own docstring, and what was measured, from the model cards."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path

import regard.recipes
from pages.results import Found, device, percent, safe, times

NAMED = {"accuracy": "accuracy, %", "perplexity": "perplexity", "loss": "loss"}
SHOWN: dict[str, Callable[[float], str]] = {
    "accuracy": percent,
    "perplexity": lambda value: f"{value:.1f}",
    "loss": lambda value: f"{value:.4f}",
}
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
    rows = [
        ("command", f"`{found['command']}`"),
        ("parameters", f"{found['parameters']:,}"),
        *scores(found),
        ("training (+ set-up), s", times(found)),
        ("on", device(found)),
        *([("note", found["note"])] if "note" in found else []),
    ]
    listed = "\n".join(f"| {key} | {safe(value)} |" for key, value in rows)
    return f"\n\n| measured | |\n|---|---|\n{listed}"


def scores(found: Found) -> list[tuple[str, str]]:
    """What its runs reached, of the test part where there is one."""
    runs = found["runs"]
    out = []
    for part in ("test", "validation"):
        kept = [run[part] for run in runs if isinstance(run.get(part), dict)]
        for name, show in SHOWN.items():
            values = [show(one[name]) for one in kept if name in one]
            if values:
                out.append((f"{part}: {NAMED[name]}", ", ".join(values)))
    return out
