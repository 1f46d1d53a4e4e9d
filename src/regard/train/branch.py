"""A new run that begins with a checkpoint of another: `--from RUN:STEP` with any change of its recipe."""

import json
from pathlib import Path

from regard.files import check_all, digest, files_in, placed, read_sums, remove, seal, write
from regard.train.beginning import STARTED
from regard.train.checkpoint import STATE, numbered, read, step_of
from regard.train.environment import ENVIRONMENT
from regard.train.folder import BEFORE, BEST, CHECKPOINTS, MODEL, RECIPE, SUMMARY, copy_files, read_recipe
from regard.train.recipe import Recipe
from regard.train.recipe_data import to_data
from regard.values import Json, own_in


def located(origin: str | Path) -> tuple[Path, Path]:
    """The run and its checkpoint that `RUN`, `RUN:STEP` or a checkpoint's own folder means."""
    path, step = Path(origin), None
    if path.parent.name == CHECKPOINTS and path in numbered(path.parent):
        return path.parent.parent, path
    if not path.exists() and ":" in str(origin):
        before, _, after = str(origin).rpartition(":")
        path, step = Path(before), after
    there = numbered(path / CHECKPOINTS)
    if not there:
        raise ValueError(f"--from must name a run with a checkpoint, such as runs/first:400, got {origin}")
    if step is None:
        return path, there[0]
    for found in there:
        if str(step_of(found)) == step.lstrip("0"):
            return path, found
    listed = ", ".join(str(step_of(one)) for one in reversed(there))
    raise ValueError(f"{path} has no checkpoint of step {step}; it has those of {listed}")


def branch(origin: str | Path, folder: Path, recipe: Recipe) -> Json:
    """Make that checkpoint the first of a new run, and give what the run's history tells of it.

    Weights, optimiser and step are taken over, the best model is not: the new run chooses among its own.
    """
    run, path = located(origin)
    sums = read_sums(path) or {}
    names = [name for name in files_in(path) if name != STATE and not name.startswith(f"{BEST}/")]
    try:
        check_all(path, [name for name in sums if not name.startswith(f"{BEST}/")])
    except ValueError as error:
        raise ValueError(f"{error}; name an older checkpoint as {run}:STEP") from error
    found, old = read(path), read_recipe(run, own_in(recipe))
    if recipe.steps is not None and recipe.steps <= found.step:
        raise ValueError(f"steps must be more than the {found.step} of {path}, got steps={recipe.steps}")
    origin_of = {"run": str(run.resolve()), "step": found.step, "state": digest(path / STATE)}
    state = found.state | {
        "checksums": True,
        "from": origin_of,
        "fresh": sorted({*_fresh(old, recipe), *found.state.get("fresh", ())}),
        "recipe": to_data(recipe),
        "best": None,
        "validated": -1,
        "data": None,  # whatever the new run reads
        "rows": 0,
    }
    if isinstance(recipe.before, Recipe):
        _take_over(run / BEFORE, folder / BEFORE)
    elif recipe.before is not None and (run / STARTED).is_dir():  # its tokenizer
        remove(folder / STARTED)
        copy_files(run / STARTED, folder / STARTED, files_in(run / STARTED))
    with placed(folder / CHECKPOINTS / path.name) as fresh:
        copy_files(path, fresh, names)
        write(fresh / STATE, json.dumps(state, indent=1).encode())
        seal(fresh, {name: sums[name] for name in names if name in sums})
    return origin_of


def _fresh(old: Recipe, new: Recipe) -> list[str]:
    """What of a checkpoint the new run cannot use, and begins afresh."""
    parts = []
    if type(old.optimizer) is not type(new.optimizer):
        parts.append("optimizer")
    if old.checks.ema is None and new.checks.ema is not None:
        parts.append("averages")
    return parts


def _take_over(before: Path, target: Path) -> None:
    """The model of the first stage, as the second one wants it; not how it came about."""
    remove(target)
    kept = [name for name in files_in(before) if name.split("/")[0] in (MODEL, RECIPE, SUMMARY, ENVIRONMENT)]
    copy_files(before, target, kept)
