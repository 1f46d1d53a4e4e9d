"""A run that begins with the weights of another model: `--start RUN`, `zoo:NAME` or a folder of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from regard.data import load_tokenizer
from regard.data.tokenizers import Tokenizer
from regard.files import write_json
from regard.models.weights import listed
from regard.train.checkpoint import numbered
from regard.train.recipe import Recipe, Start
from regard.train.tasks.pretrained import is_foreign, read_bert
from regard.values import Json

if TYPE_CHECKING:  # a task is built from what begins it
    from regard.train.task import Task

STARTED = "start"  # what a run keeps of its start: the tokenizer, and what was taken
ZOO = "zoo:"


@dataclass(frozen=True)
class Begin:
    """What a run begins with: a model, unless it goes on from a checkpoint, its tokenizer and its classes."""

    name: str
    model: nn.Module | None = None
    tokenizer: Tokenizer | None = None
    classes: tuple[str, ...] | None = None


def with_start(recipe: Recipe, name: str, *, trust: bool = False) -> Recipe:
    """The recipe, begun with that model in place of what it would begin with.

    >>> with_start(Recipe(name="x", task=None, batch=8, steps=1), "zoo:digits-vit").before
    Start(model='zoo:digits-vit')
    """
    if not name.startswith(ZOO):
        folder = Path(name).expanduser()
        if not folder.is_dir():
            raise ValueError(f"--start must be a run's folder, zoo:NAME or a folder of a model, got {name!r}")
        name = str(folder.resolve())  # so that it is found from elsewhere too
    if trust:
        from regard.train.runs.opening import open_run  # see `opened`

        open_run(name, trust=True)  # from now on its code is known
    return replace(recipe, before=Start(model=name))


def opened(start: Start, folder: Path, checkpoints: str) -> Begin:
    """The model to begin with, or where the run in `folder` has a checkpoint, what going on takes."""
    # Runs import tasks, which are built from what is opened here.
    from regard.train.runs.opening import open_run

    kept = folder / STARTED
    if numbered(folder / checkpoints):
        there = (kept / "tokenizer.json").exists()
        return Begin(start.model, tokenizer=load_tokenizer(kept) if there else None)
    if not start.model.startswith(ZOO) and is_foreign(Path(start.model)):
        model, tokenizer = read_bert(Path(start.model))
        return Begin(start.model, model, tokenizer)
    run = open_run(start.model)
    classes = run.description.get("classes")
    return Begin(start.model, run.model, run.tokenizer, None if classes is None else tuple(classes))


@torch.no_grad()
def take(begin: Begin, model: nn.Module, task: Task) -> Json:
    """Copy every tensor that fits by name and shape, but no head of other classes; give what came of it."""
    assert begin.model is not None
    there, here = begin.model.state_dict(), model.state_dict()
    classes = task.describe().get("classes")
    own: set[str] = set()
    if classes is not None and begin.classes is not None and tuple(classes) != begin.classes:
        own = head_of(model, len(classes))
    taken = [
        name for name in here if name in there and there[name].shape == here[name].shape and name not in own
    ]
    if not any(here[name].ndim > 1 for name in taken):
        raise ValueError(
            f"{begin.name} holds a {type(begin.model).__name__}, of which nothing fits this "
            f"{type(model).__name__}: {misfit(begin.model, model)}"
        )
    for name in taken:
        here[name].copy_(there[name])
    fresh = [name for name in here if name not in taken]
    return {"model": begin.name, "taken": taken, "new": fresh, "left": [n for n in there if n not in taken]}


def head_of(model: nn.Module, classes: int) -> set[str]:
    """The tensors of the last layer, where it has a row for each class."""
    state = model.state_dict()
    if not state:
        return set()
    layer = next(reversed(state)).rpartition(".")[0]
    inside = {name for name in state if name.rpartition(".")[0] == layer}
    return inside if all(state[name].shape[:1] == (classes,) for name in inside) else set()


def misfit(source: nn.Module, model: nn.Module) -> str:
    """The first reason why two models share no weight."""
    there, here = source.state_dict(), model.state_dict()
    for name, tensor in here.items():
        if name in there and tensor.ndim > 1 and there[name].shape != tensor.shape:
            return f"{name} is {tuple(there[name].shape)} there and {tuple(tensor.shape)} here"
    return "no weights of one name"


def said(found: Json) -> str:
    """What was taken and what is new, on one line.

    >>> said({"model": "zoo:a", "taken": ["w", "b"], "new": ["head.weight"], "left": []})
    'started from zoo:a: 2 of 3 tensors taken; new: head.weight'
    """
    taken, fresh = found["taken"], found["new"]
    new = f"; new: {listed(fresh, 4)}" if fresh else "; nothing is new"
    return f"started from {found['model']}: {len(taken)} of {len(taken) + len(fresh)} tensors taken{new}"


def keep(begin: Begin, found: Json, folder: Path) -> None:
    """Note in the run what was taken, and keep the tokenizer, without which it could not go on."""
    (folder / STARTED).mkdir(exist_ok=True)
    if begin.tokenizer is not None:
        begin.tokenizer.save(folder / STARTED)
    write_json(folder / STARTED / "start.json", found)
