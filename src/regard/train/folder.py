"""A run's folder: what is in it, how it begins, and how its best model is kept for use."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from torch import nn

from regard.models import save
from regard.models.parts import fields_of
from regard.train.checkpoint import numbered, write_json
from regard.train.recipe import Recipe
from regard.train.task import Task
from regard.train.written import from_data, to_data

RECIPE, BEST, SUMMARY, ENVIRONMENT = "recipe.json", "best.json", "summary.json", "environment.json"
CHECKPOINTS, MODEL = "checkpoints", "model"


def begin(folder: Path, recipe: Recipe, resume: bool) -> None:
    """Make the folder of a new run, or check that a run to go on with is this one."""
    there = (folder / RECIPE).exists()
    if resume:
        if not there:
            raise ValueError(f"there is no run to resume in {folder}: it has no {RECIPE}")
        if differing := differences(read_recipe(folder), recipe):
            raise ValueError(f"{folder} holds a run with another recipe: {', '.join(differing)} differ")
        return
    if there and numbered(folder / CHECKPOINTS):
        raise ValueError(
            f"{folder} holds a run already; add --resume to go on with it, or choose another --out"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_json(to_data(recipe), folder / RECIPE)


def read_recipe(folder: Path) -> Recipe:
    """The recipe of a run."""
    path = folder / RECIPE
    try:
        found = from_data(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise ValueError(f"{folder} holds no run: it has no {RECIPE}") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, Recipe):
        raise ValueError(f"{path} holds a {type(found).__name__} instead of a recipe")
    return found


def differences(a: Any, b: Any, path: str = "") -> list[str]:
    """The fields in which two values of a recipe differ.

    >>> one = Recipe(name="x", task=None, batch=1, steps=1)
    >>> differences(one, Recipe(name="x", task=None, batch=2, steps=1))
    ['batch']
    """
    if a == b:
        return []
    if type(a) is not type(b) or not hasattr(a, "__dataclass_fields__"):
        return [path]
    return [
        name
        for field in fields(a)
        for name in differences(
            getattr(a, field.name), getattr(b, field.name), f"{path}.{field.name}".lstrip(".")
        )
    ]


def keep_model(folder: Path, task: Task, model: nn.Module, step: int, scores: dict[str, float]) -> None:
    """Put the model that validated best into `model/`, with all that using it takes."""
    target = folder / MODEL
    target.mkdir(exist_ok=True)
    usable = task.export(model)
    save(usable, target / "model.safetensors")
    config = {"model": type(usable).__name__, "config": fields_of(usable.config)}
    write_json(config, target / "config.json")
    task.save(target)
    write_json({**task.describe(), "step": step, "scores": scores}, target / "task.json")
    write_json({"step": step, "scores": scores}, folder / BEST)
