"""What a run needs in order to go on, written as a checkpoint and taken up again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from regard.files import tidy
from regard.train.changes import changed
from regard.train.checkpoint import (
    Checkpoint,
    Tensors,
    fault_of,
    numbered,
    read,
    set_aside,
    write_checkpoint,
)
from regard.train.data_notes import what_changed
from regard.train.folder import CHECKPOINTS, best_from, best_into, read_recipe
from regard.train.metrics import damaged_rows, read_rows, rows_until
from regard.train.recipe import Recipe
from regard.train.recipe_data import from_data, to_data
from regard.train.shards import fill, write_shards
from regard.train.stopping import Stopped, how_to_go_on
from regard.values import Json, own_in

if TYPE_CHECKING:  # the loop calls these functions, which read what it holds
    from regard.train.loop import Training


def save(run: Training, last: bool = False) -> None:
    """Write a checkpoint; a full disk costs this one and not the run."""
    if run.saved == (run.done, run.validated):
        return
    run.read()
    run.clock.turn("validation")
    try:
        _write(run)
        run.saved = (run.done, run.validated)
    except OSError as error:
        if last:
            then = f"make room, then {how_to_go_on(run.folder)}"
            raise Stopped(f"the last checkpoint could not be written: {error}; {then}") from error
        run.bar.say(f"step {run.done:,}: no checkpoint, the one before stays: {error}")
    run.clock.turn("training")


def _write(run: Training) -> None:
    """The leader alone, or every process its own shards and the leader the rest."""
    folder, tensors, state, more = run.folder / CHECKPOINTS, _tensors(run), _state(run), []
    if run.team.shards:
        more.append(write_shards(run.team, folder, run.done, tensors))
        tensors = {}
    if run.best is not None:
        more.append(lambda path: best_into(run.folder, path))

    def write() -> None:
        assert run.metrics is not None
        run.metrics.flush(hard=True)  # the rows up to here come before the checkpoint that relies on them
        write_checkpoint(folder, run.done, tensors, state, keep=run.recipe.checks.keep, more=more)
        tidy(run.folder)

    run.team.led(write)


def _state(run: Training) -> Json:
    return {
        "seconds": {name: value for name, value in run.clock.seconds.items() if name != "setup"},
        "pace": {"step": run.pace.step, "used": run.pace.used},
        "best": run.best,
        "validated": run.validated,
        "looks": run.looks,
        "start": run.watch.start,
        "world": run.team.world,
        "rows": 0 if run.metrics is None else run.metrics.count,
        "recipe": to_data(run.known),
        "data": run.task.fingerprint,
    }


def _tensors(run: Training) -> Tensors:
    found = {"model": dict(run.model.state_dict()), "optimizer": run.optimizer.state()}
    return found if run.averages is None else {**found, "averages": run.averages.tensors}


def restore(run: Training) -> None:
    """Take up the newest good checkpoint; where there never was one, begin at the beginning."""
    faults: list[tuple[Path, str]] = []
    for path in run.team.led(lambda: numbered(run.folder / CHECKPOINTS)):
        told = run.team.gathered(fault_of(path, run.team.rank, run.team.world))
        fault = next((one for one in told if one is not None), None)
        if fault is None:
            found = read(path)
            _take_up(run, found)
            run.team.led(lambda found=found: _as_it_was(run, found, faults))  # type: ignore[misc]
            run.bar.say(f"going on after step {run.done:,}")
            return
        faults.append((path, fault))
    if not faults:
        run.bar.say(f"{run.folder} has no checkpoint yet: it begins at the beginning")
    else:
        listed = "; ".join(fault for _, fault in faults)
        raise Stopped(
            f"no checkpoint of {run.folder} can be used: {listed}; nothing was changed: put back what is "
            f"damaged, or begin again with another --out"
        )


def _take_up(run: Training, found: Checkpoint) -> None:
    """Weights, optimiser and numbers, from a checkpoint of this recipe and these data."""
    state, own = found.state, own_in(run.known)
    old = from_data(state["recipe"], own) if "recipe" in state else read_recipe(run.folder, own)
    for line in changed(run.folder, old, run.known):
        run.bar.say(line)
    if state.get("data") not in (None, run.task.fingerprint):
        name = run.task.describe()["data"]
        raise ValueError(
            f"the data set {name} is not what this run was trained on until step {found.step:,}"
            f"{what_changed(run.folder, run.task)}: put it "
            f"back as it was, or begin a new run with it: regard train --from {run.folder} --out ANOTHER"
        )
    fresh = state.get("fresh", [])
    wanted = _tensors(run) | {"optimizer": run.optimizer.empty_state()}
    filled = fill({part: values for part, values in wanted.items() if part not in fresh}, found, run.team)
    run.optimizer.load(filled.get("optimizer", {}))
    if "averages" in fresh and run.averages is not None:
        run.averages.begin_again()
    run.done, run.validated = found.step, state.get("validated", _validated(found.step, old))
    run.saved, run.looks = (run.done, run.validated), state.get("looks", False)
    run.pace.mark(**state["pace"])
    run.best, run.watch.start = state["best"], state["start"]
    run.clock.seconds.update(state["seconds"])


def _validated(step: int, recipe: Recipe) -> int:
    """The last validation of a checkpoint that does not tell: those of old were written after it."""
    every = recipe.checks.validate_every
    return step if every is not None and step % every == 0 else step - 1


def _as_it_was(run: Training, found: Checkpoint, faults: list[tuple[Path, str]]) -> None:
    """Put the folder as it was when the checkpoint was written, and say what is not as it should be."""
    for path, fault in faults:
        run.bar.warn(f"passed over, and kept as {set_aside(path).name}: {fault}")
    if not found.state.get("checksums"):
        run.bar.warn(f"{found.path} was written without checksums: damage to it cannot be noticed")
    best_from(found.path, run.folder)
    for line in damaged_rows(run.folder):
        run.bar.warn(f"metrics.jsonl: line {line} is damaged and left out")
    missing = found.state.get("rows", 0) - len(rows_until(read_rows(run.folder), run.done, run.validated))
    if missing > 0:
        run.bar.warn(f"metrics.jsonl: {missing} row(s) of the first {run.done:,} steps are gone")
