"""Run folders as one result file: python benchmarks/collect.py runs/vit-0 runs/vit-1 runs/vit-2.

All runs must be of one recipe with the same changes; they may differ in their seed. The file is called
after the recipe, or `--name`, and holds what the site's results page and a model's card need.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import regard.recipes
from regard.data import Reviews, load, load_tokenizer
from regard.data.kinds import held_out
from regard.pattern import Pattern
from regard.train import read_recipe
from regard.train.changes import differences, value_at
from regard.train.environment import history
from regard.train.metrics import read_rows
from regard.train.tasks.rows import readable, rows_of

RESULTS = Path(__file__).parent / "results" / "runs"
UNITS = {"images": "images", "completion": "images", "texts": "texts", "language": "tokens"}


def collect(
    folders: Sequence[Path], *, name: str | None = None, note: str | None = None, data_dir: Path | None = None
) -> tuple[str, dict[str, Any]]:
    """The name of the result file, and what it holds."""
    recipes = [replace(read_recipe(folder), seed=0) for folder in folders]
    for folder, recipe in zip(folders, recipes, strict=True):
        if differing := differences(recipes[0], recipe):
            raise ValueError(f"{folder} is another run than {folders[0]}: {', '.join(differing)} differ")
    recipe = recipes[0]
    changes = _changes(recipe)
    if changes and name is None:
        raise ValueError(f"a changed recipe needs --name, got {', '.join(changes)}")
    found: dict[str, Any] = {"recipe": recipe.name}
    if changes:
        found["set"] = changes
    found["command"] = " ".join(["regard train", recipe.name, *(f"--set {quoted(one)}" for one in changes)])
    found["parameters"] = _json(folders[0] / "summary.json")["parameters"]
    runs = [_run(folder) for folder in folders]
    held = f"model chosen on the held-out {100 * recipe.task.validation:g} % of the training part"
    tested = "; test part used once, at the end" if all("test" in run for run in runs) else ""
    found["note"] = held + tested if note is None else note
    found["model"] = _json(folders[0] / "model" / "config.json")
    if _json(folders[0] / "model" / "task.json")["task"] == "texts":
        found["tokens_per_text"] = _tokens_per_text(folders[0], recipe.task, data_dir)
    found["runs"] = sorted(runs, key=lambda run: run["seed"])
    return recipe.name if name is None else name, found


def quoted(change: str) -> str:
    """A change as a shell reads it."""
    return f'"{change}"' if "'" in change else f"'{change}'"


def _run(folder: Path) -> dict[str, Any]:
    summary, (*_, facts) = _json(folder / "summary.json"), history(folder) or [{}]
    kind = _json(folder / "model" / "task.json")["task"]
    config = _json(folder / "model" / "config.json")["config"]
    each = config["context"] if kind == "language" else 1
    run = {
        "seed": read_recipe(folder).seed,
        "steps": summary["steps"],
        "best_step": summary["best_step"],
        "validation": summary["scores"],
    }
    if (folder / "test.json").exists() and kind != "language":  # a corpus has no third part
        run["test"] = _json(folder / "test.json")
    if (folder / "before" / "summary.json").exists():
        run["seconds_before"] = _json(folder / "before" / "summary.json")["seconds"]
    cpu = facts["device"] == "cpu"
    return run | {
        "seconds": summary["seconds"],
        f"{UNITS[kind]}_per_second": summary["examples_per_second"] * each,
        "device": f"{facts['threads']} CPU threads" if cpu else facts["device"],
        "torch": facts["torch"],
        "date": facts["date"],
        "validation_trace": trace(folder, next(iter(summary["scores"]))),
    }


def trace(folder: Path, score: str) -> list[dict[str, Any]]:
    """Every validation with the seconds of training before it and, of a language, what was said."""
    seconds, out = 0.0, []
    for row in read_rows(folder):
        seconds = row.get("seconds", seconds)
        if row["kind"] == "validation":
            said = {"sample": row["sample"]} if row.get("sample") and score == "loss" else {}  # of a language
            out.append({"step": row["step"], score: row[score], "seconds": seconds, **said})
    return out


def _changes(recipe: Any) -> list[str]:
    """What `--set` changed in a recipe, as it was written there; nothing for a recipe of one's own."""
    if recipe.name not in regard.recipes.names():
        return []
    own = replace(regard.recipes.get(recipe.name), seed=0)
    out = []
    for path in differences(own, recipe):
        value = value_at(recipe, path)
        if isinstance(value, tuple) and all(isinstance(one, Pattern) for one in value):
            value = ";".join(map(str, value))  # as `--set` reads several patterns
        if value is not None:  # of steps, epochs and minutes the one that was set unsets the others
            out.append(f"{path}={value}")
    return out


def _tokens_per_text(folder: Path, task: Any, data_dir: Path | None) -> int:
    """How many tokens the model reads of a held-out text, on average."""
    found, tokenizer = load(task.data, folder=data_dir), load_tokenizer(folder / "model")
    assert isinstance(found, Reviews)
    _, held = held_out(found, task.validation)
    told = _json(folder / "model" / "task.json")
    rows = rows_of(tokenizer, readable(found.train.take(held).texts), told["context"], told["keep"])
    return round(sum(map(len, rows)) / len(rows))


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path.parent} is no finished run: {path.name}: {error.strerror}") from error
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--name")
    parser.add_argument("--note")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    name, found = collect(given.folders, name=given.name, note=given.note, data_dir=given.data_dir)
    path = given.out / f"{name}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
