"""A run's folder: what is in it, how it begins and goes on, and how its best model is kept for use."""

import json
import os
import shutil
from pathlib import Path

from torch import nn

from regard.data.functions import functions_in
from regard.files import SUMS, Sums, placed, read_sums, seal, sync, write_json
from regard.models import save
from regard.models.files import architecture
from regard.train.changes import changed, differences, recipe_digest
from regard.train.checkpoint import numbered, read
from regard.train.environment import history
from regard.train.recipe import Recipe
from regard.train.recipe_data import from_data
from regard.train.task import Task
from regard.trust import Untrusted, granted
from regard.values import Kinds, names_in, own_in

RECIPE, SUMMARY, TEST = "recipe.json", "summary.json", "test.json"
CHECKPOINTS, MODEL, BEST, BEFORE = "checkpoints", "model", "best", "before"


def goes_on(folder: Path, recipe: Recipe, resume: bool | str) -> bool:
    """Whether a run goes on in this folder or a new one begins; a ValueError where what was asked cannot be.

    With `resume="auto"` it goes on where there is one.
    """
    there = (folder / RECIPE).exists()
    if resume is True and not there:
        raise ValueError(f"there is no run to resume in {folder}: it has no {RECIPE}")
    if there and resume:
        old = read_recipe(folder, own_in(recipe))
        changed(folder, old, recipe)
        check_recipe(folder, old)
        return True
    if there and numbered(folder / CHECKPOINTS):
        raise ValueError(
            f"{folder} holds a run already; add --resume to go on with it, or choose another --out"
        )
    return False


def check_recipe(folder: Path, recipe: Recipe) -> None:
    """Raise where recipe.json is neither what a start of this run wrote nor what a checkpoint was made by."""
    try:
        known = {entry["recipe"] for entry in history(folder) if "recipe" in entry}
    except ValueError:
        return  # the history is damaged, which is said when it begins anew
    if not known or recipe_digest(_json(folder / RECIPE)) in known:
        return
    made_by, own = [], own_in(recipe)
    for path in numbered(folder / CHECKPOINTS):
        try:
            made_by.append(from_data(read(path).state["recipe"], own))
        except (ValueError, KeyError):
            continue
    if recipe in made_by:
        return
    which = f" ({', '.join(differences(made_by[0], recipe))})" if made_by else ""
    raise ValueError(
        f"{folder / RECIPE} was changed since the run was started{which}: put it back as it was, "
        f"or begin a new run from a checkpoint: regard train --from {folder} --set … --out ANOTHER"
    )


def read_recipe(folder: Path, own: Kinds | None = None, *, trust: bool = False) -> Recipe:
    """The recipe of a run.

    Code of one's own that it names is that of `own`, or imported from where this user ran it before; with
    `trust`, from wherever it is.
    """
    path = folder / RECIPE
    try:
        return recipe_in(path, own, trust=trust)
    except FileNotFoundError as error:
        raise ValueError(f"{folder} holds no run: it has no {RECIPE}") from error
    except Untrusted:
        raise
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def recipe_in(path: Path, own: Kinds | None = None, *, trust: bool = False) -> Recipe:
    """The recipe in a JSON file of a run, or in a copy of one."""
    data, there = _json(path), dict(own or {})
    names = (names_in(data) | functions_in(data)) - there.keys()
    there |= granted(names, path, roots=code_of(path.parent), trust=trust) if names else {}
    return from_data(data, there)


def code_of(folder: Path) -> dict[str, str]:
    """Where the modules of one's own were when the run was started last: a hint, and no permission."""
    try:
        found = [entry["code"] for entry in history(folder) if isinstance(entry.get("code"), dict)]
    except ValueError:
        return {}
    return {str(top): str(root) for top, root in found[-1].items()} if found else {}


def _json(path: Path) -> object:
    return json.loads(path.read_text(encoding="utf-8"))


def keep_model(folder: Path, task: Task, model: nn.Module, step: int, scores: dict[str, float]) -> None:
    """Put the model that validated best into `model/` with all that using it takes, whole or not at all."""
    with placed(folder / MODEL) as fresh:
        usable = task.export(model)
        save(usable, fresh / "model.safetensors")
        write_json(fresh / "config.json", architecture(usable))
        task.save(fresh)
        write_json(fresh / "task.json", {**task.describe(), "step": step, "scores": scores})
        seal(fresh)
    (folder / TEST).unlink(missing_ok=True)  # it was the score of a model that is no longer here


def best_into(folder: Path, checkpoint: Path) -> Sums:
    """Put the best model so far into a checkpoint, and give its checksums."""
    sums = read_sums(folder / MODEL)
    if sums is None:  # a run that was begun before models had checksums
        return {}
    copy_files(folder / MODEL, checkpoint / BEST, [*sums, SUMS])
    return {f"{BEST}/{name}": found for name, found in sums.items()}


def best_from(checkpoint: Path, folder: Path) -> None:
    """Put the best model of a checkpoint in its place: what is there may be of steps that come again."""
    sums = read_sums(checkpoint / BEST)
    if sums is None:
        return
    with placed(folder / MODEL) as fresh:
        copy_files(checkpoint / BEST, fresh, [*sums, SUMS])


def copy_files(source: Path, target: Path, names: list[str]) -> None:
    """Copy files into a new folder and onto the disk; never by links, which would be damaged together."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
        with (target / name).open("rb+") as file:
            os.fsync(file.fileno())
    sync(target)
