"""Runs that are there: their models for use, their scores, and a list of them."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.data import Images, Pictures, load_tokenizer, split
from regard.data import load as load_data
from regard.data.tokenizers import Tokenizer
from regard.files import check_all, find_folder, read_sums, write_json
from regard.models import load
from regard.train.checkpoint import numbered, step_of
from regard.train.folder import BEFORE, CHECKPOINTS, MODEL, RECIPE, SUMMARY, TEST, check_recipe, read_recipe
from regard.train.recipe import Recipe
from regard.train.switches import chosen_device
from regard.train.task import Setting


@dataclass(frozen=True)
class Run:
    """A trained model and what using it takes: what its task says, and its tokenizer where it has one.

    `description["task"]` is what it was trained for: images, texts, language, completion or masked.
    """

    folder: Path
    model: nn.Module
    description: dict[str, Any]
    tokenizer: Tokenizer | None


def load_run(folder: str | Path, *, device: str | torch.device = "cpu") -> Run:
    """The best model of a run, ready for use; `folder` may also be a folder of such a model itself.

    Every file is checked against the checksums that training wrote beside it.
    """
    folder = Path(folder)
    inner = find_folder(folder / MODEL)
    inner = inner if inner.is_dir() else folder
    if not (inner / "model.safetensors").exists():
        if (folder / RECIPE).exists():
            raise ValueError(f"{folder} has no model yet: a run keeps one at its first validation")
        raise ValueError(f"{folder} holds no run: it has neither {RECIPE} nor a model")
    description, tokenizer = _use(inner)
    model = load(inner / "model.safetensors").to(device).eval()
    return Run(folder, model, description, tokenizer)


def held_out(run: Run, count: int | None = None, *, data_dir: str | Path | None = None) -> Pictures:
    """The pictures that the training of a run for images held out, or the first of them."""
    kind, name = run.description["task"], run.description["data"]
    if kind not in ("images", "completion"):
        raise ValueError(f"held-out pictures need a run for images or completion, got one for {kind}")
    share = run.description.get("validation")
    if share is None:  # a run of before this was written down
        share = read_recipe(run.folder).task.validation
    found = load_data(name, folder=data_dir)
    assert isinstance(found, Images)
    _, held = split(len(found.train), share, seed=0)
    return found.train.take(held[:count])


def _use(folder: Path) -> tuple[dict[str, Any], Tokenizer | None]:
    """What using a model takes besides its weights, every file of it checked."""
    sums = read_sums(folder)
    if sums is None:
        warnings.warn(f"{folder} was written without checksums: damage to it cannot be noticed", stacklevel=3)
    check_all(folder, [name for name in sums or () if name != "model.safetensors"])  # `load` checks that one
    try:
        description = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder / 'task.json'} cannot be read: {error}") from error
    return description, load_tokenizer(folder) if (folder / "tokenizer.json").exists() else None


@torch.no_grad()
def evaluate(
    folder: str | Path,
    *,
    test: bool = False,
    data_dir: str | Path | None = None,
    device: str | torch.device | None = None,
) -> dict[str, float]:
    """The scores of a run's best model, in float32: on its validation part or, recorded, on the test part."""
    folder, place = Path(folder), chosen_device(device)
    run, recipe = load_run(folder, device=place), read_recipe(folder)
    check_recipe(folder, recipe)  # another one may mean other data, or another cut of them
    if run.description["task"] == "masked":
        raise ValueError(
            f"{folder} is a pretraining: its head was not kept; evaluate what was trained from it"
        )
    value = recipe.task
    if hasattr(value, "start"):
        value = replace(value, start=str(folder / MODEL))  # its tokenizer, not one trained anew
    data = None if data_dir is None else Path(data_dir)
    task = value.build(Setting(place, recipe.seed, data, recipe.checks.overfit))
    scores = task.test(run.model) if test else task.validate(run.model)
    if test:
        write_json(folder / TEST, scores)
    return scores


@dataclass(frozen=True)
class Entry:
    """One row in the table of runs."""

    folder: str
    recipe: str
    state: str
    steps: int
    minutes: float | None
    validation: dict[str, float]
    test: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return asdict(self)


def list_runs(parent: str | Path) -> list[Entry]:
    """All runs in the folders below, by name; what cannot be read is said so and passed over by nobody."""
    parent = Path(parent)
    if not parent.is_dir():
        raise ValueError(f"{parent} is no folder; runs are in the folder given to `regard train --out`")
    places = [path.parent for path in sorted(parent.glob(f"**/{RECIPE}")) if path.parent.name != BEFORE]
    return [_entry(place) for place in places]


def _entry(folder: Path) -> Entry:
    try:
        recipe: Recipe | None = read_recipe(folder)
    except ValueError:
        recipe = None
    summary, best = _json(folder / SUMMARY), _json(find_folder(folder / MODEL) / "task.json")
    there = numbered(folder / CHECKPOINTS)
    steps = step_of(there[0]) if there else 0
    state = "finished" if summary else "stopped" if there else "no checkpoint"
    seconds = summary.get("seconds", {}).get("training")
    return Entry(
        str(folder),
        "unreadable recipe" if recipe is None else recipe.name,
        state,
        int(summary.get("steps", steps)),
        None if seconds is None else seconds / 60,
        best.get("scores", {}),
        tested(folder, best),
    )


def tested(folder: Path, description: dict[str, Any]) -> dict[str, float]:
    """The scores on the test part that a run recorded; those of old of a corpus were its validation again."""
    return {} if description.get("task") in ("language", "masked") else _json(folder / TEST)


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
