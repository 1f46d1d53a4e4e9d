"""How a run starts: its folder is opened for this process alone, and what comes before it is trained."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import clear_frames

import torch

from regard.data.functions import functions_in
from regard.files import check_all, made, remove, tidy, write_json
from regard.train import saving
from regard.train.beginning import STARTED, keep, opened
from regard.train.beginning import said as begun
from regard.train.branch import branch, located
from regard.train.changes import recipe_digest
from regard.train.checkpoint import numbered, read
from regard.train.data_notes import DATA, note_data
from regard.train.devices import chosen_device
from regard.train.distributed import Team, join, lost
from regard.train.environment import ENVIRONMENT, add_start, environment
from regard.train.finding import find_recipe
from regard.train.folder import BEFORE, CHECKPOINTS, MODEL, RECIPE, SUMMARY, goes_on
from regard.train.lock import held
from regard.train.loop import Result, Training
from regard.train.metrics import damaged_rows, read_rows
from regard.train.progress import progress
from regard.train.recipe import LIMITS, Recipe, Start
from regard.train.recipe_data import to_data
from regard.train.stopping import Stopped, out_of_memory
from regard.train.switches import switched
from regard.train.task import TaskSetting
from regard.train.threads import chosen_threads
from regard.trust import roots_of, vouch
from regard.values import Json, own_in


@dataclass(frozen=True)
class Where:
    """Where a run is, on what and with whom it is trained, and whether it says so."""

    folder: Path
    device: torch.device
    team: Team
    data_dir: Path | None
    quiet: bool
    said: tuple[str, ...] = ()  # on the machine, before anything is trained


def train(
    recipe: Recipe | str | Path,
    folder: str | Path,
    *,
    device: str | torch.device | None = None,
    resume: bool | str = False,
    origin: str | Path | None = None,
    data_dir: str | Path | None = None,
    quiet: bool = False,
) -> Result:
    """Train by a recipe in a folder of its own; with `resume`, go on from its last checkpoint.

    A recipe is a value, `my_recipe.py`, `module:function` or a run's recipe.json.
    `resume="auto"` goes on where there is a run and begins one where there is none. `origin`, such as
    `runs/first:400`, begins the new run with a checkpoint of another one.
    """
    if resume not in (False, True, "auto"):
        raise ValueError(f"resume must be False, True or 'auto', got {resume=}")
    if origin is not None and resume is True:
        raise ValueError("resume goes on with a run and origin begins a new one: give one of them")
    if not isinstance(recipe, Recipe):
        recipe = find_recipe(recipe)
    place, data = chosen_device(device), None if data_dir is None else Path(data_dir)
    team = join(place, recipe.execution.sharding, recipe.execution.parallel.context)
    where = Where(Path(folder), place, team, data, quiet or not team.leads)
    try:
        with _let_go(team), _threads(recipe, where, resume) as where:
            return _run(recipe, where, resume, origin)
    except RuntimeError as error:
        # On a CPU, torch has no type for it.
        if isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error):
            raise out_of_memory(place, recipe.batch, recipe.execution.accumulate) from error
        if team.world > 1 and lost(error):
            first = str(error).splitlines()[0]
            raise Stopped(
                f"process {team.rank} of {team.world} lost the others ({first}); start all of them again "
                f"with --resume --out {folder} to go on from the last checkpoint"
            ) from error
        raise
    finally:
        team.leave()


@contextmanager
def _threads(recipe: Recipe, where: Where, resume: bool | str) -> Iterator[Where]:
    """The run with the threads that suit it; a GPU and several processes leave torch's number."""
    if where.device.type != "cpu" or where.team.world > 1:
        yield where
        return
    free = not recipe.execution.deterministic
    with chosen_threads(where.folder, goes_on=resume is not False, free=free) as said:
        yield replace(where, said=tuple(said))


@contextmanager
def _let_go(team: Team) -> Iterator[None]:
    """Let go of what a failed run holds of torch's engine while its group is there.

    Where the engine goes last, it ends the group while it holds Python, and waits for a thread of the group
    that waits for Python.
    """
    try:
        yield
    except BaseException as error:
        if team.world > 1:
            clear_frames(error.__traceback__)
        raise


def _run(recipe: Recipe, where: Where, resume: bool | str, origin: str | Path | None = None) -> Result:
    """One stage in its folder, which is this process's alone until the end."""
    team = replace(
        where.team,
        sharding=recipe.execution.sharding,
        context=recipe.execution.parallel.context,
        sequences=None,
    )
    with ExitStack() as stack:
        team.together(lambda: _check_parts(recipe, team.world))
        team.together(lambda: _check_sharding(recipe, team))
        on, more, said = team.led(lambda: _opened(stack, recipe, where, resume, origin))
        said = [*where.said, *said]
        task = recipe.task
        branched = "from" in more
        with nullcontext() if on and not branched else _or_nothing(where, branched):
            begin = None
            if isinstance(recipe.before, Start):
                begin = opened(recipe.before, where.folder, CHECKPOINTS)
            elif recipe.before is not None:
                said += _first(recipe.before, where, on)
                task = replace(task, start=str(where.folder / BEFORE / MODEL))
            stack.enter_context(switched(recipe.execution, where.device))
            bar = progress(recipe.name, quiet=where.quiet)
            stack.callback(bar.close)
            setting = TaskSetting(where.device, recipe.seed, where.data_dir, recipe.checks.overfit, begin)
            run = Training(replace(recipe, before=None, task=task), recipe, where.folder, setting, team, bar)
            if run.taken is not None:
                taken = run.taken
                team.led(lambda: keep(begin, taken, where.folder))  # type: ignore[arg-type]
                bar.say(begun(taken))
            if on:
                saving.restore(run)
            team.led(lambda: note_data(where.folder, run.task))
            if branched and run.over():
                limit = ", ".join(f"{name}={one}" for name in LIMITS if (one := getattr(recipe, name)))
                raise ValueError(f"nothing is left to train: {limit} is over after step {run.done:,}")
        if on:
            said += team.led(lambda: _noted(recipe, where, over=run.over(), **more))
        for line in said if team.leads else ():
            bar.warn(line)
        return run.run()


def _check_parts(recipe: Recipe, world: int) -> None:
    context, parts = recipe.execution.parallel.context, recipe.execution.accumulate
    if world % context:
        raise ValueError(
            f"the number of processes must be divisible by parallel.context, got processes={world}, "
            f"parallel.context={context}; start torchrun --nproc-per-node {context} -m regard train …, or "
            "--set parallel.context=1"
        )
    if recipe.batch % (parts * world // context):
        shared = "processes" if context == 1 else "processes / parallel.context"
        more = "" if context == 1 else f", parallel.context={context}"
        raise ValueError(
            f"batch must be divisible by accumulate × {shared}, got batch={recipe.batch}, "
            f"accumulate={parts}, processes={world}{more}"
        )


def _check_sharding(recipe: Recipe, team: Team) -> None:
    if recipe.execution.sharding == "shard-data" and 1 == team.groups < team.world:
        raise ValueError(
            "sharding=shard-data shards the weights over groups that share the batch, and there is one "
            f"group: got processes={team.world}, parallel.context={team.context}; use --set sharding=shard"
        )


def _opened(
    stack: ExitStack, recipe: Recipe, where: Where, resume: bool | str, origin: str | Path | None
) -> tuple[bool, Json, list[str]]:
    """Make and lock the folder; whether there is something to go on from, where that is from, what to say."""
    folder = where.folder
    if resume is True and not folder.is_dir():
        raise ValueError(f"there is no run to resume in {folder}: it has no {RECIPE}")
    stack.enter_context(made(folder))
    stack.enter_context(held(folder))
    _tidied(folder)
    if goes_on(folder, recipe, resume):
        return True, {}, []
    first = None if origin is None else located(origin)[1].name
    if any(path.name != first for path in numbered(folder / CHECKPOINTS)):
        raise ValueError(f"{folder} holds checkpoints without a {RECIPE}; choose another --out")
    if origin is not None:
        return True, {"from": branch(origin, folder, recipe)}, []
    return False, {}, _noted(recipe, where)


@contextmanager
def _or_nothing(where: Where, branched: bool) -> Iterator[None]:
    """Where a run cannot begin, for want of its data say, take back what was written for it and no more."""
    try:
        yield
    except BaseException:
        for name in (CHECKPOINTS, BEFORE) if branched and where.team.leads else ():
            remove(where.folder / name)
        more = (CHECKPOINTS, MODEL, BEFORE, SUMMARY)  # of a first stage that came further, or an older run
        if where.team.leads and not any((where.folder / name).exists() for name in more):
            remove(where.folder / STARTED)
            for name in (RECIPE, ENVIRONMENT, DATA):
                (where.folder / name).unlink(missing_ok=True)
        raise


def _tidied(folder: Path) -> None:
    tidy(folder)
    tidy(folder / CHECKPOINTS)


def _noted(recipe: Recipe, where: Where, over: bool = False, **more: object) -> list[str]:
    """Write this start into the run's history and then its recipe; give what the history has to say."""
    data = to_data(recipe)
    own = {*own_in(recipe), *functions_in(data)}
    for name in own:  # whoever trains with it runs it anyway
        vouch(name)
    code = {"code": roots_of(own)} if own else {}
    entry = environment(where.device, where.team.world) | {"recipe": recipe_digest(data), **code, **more}
    said = add_start(where.folder, entry)
    write_json(where.folder / RECIPE, data)
    if not over:
        (where.folder / SUMMARY).unlink(missing_ok=True)  # a run that goes on has not ended
    return said


def _first(recipe: Recipe, where: Where, on: bool) -> list[str]:
    """Train what comes first, unless that is done; then say what of it is not as it was left."""
    first = where.folder / BEFORE

    def looked_at() -> list[str] | None:
        if not (first / SUMMARY).exists():
            return None
        with held(first):  # what a kill at its very end left there goes
            _tidied(first)
            check_all(first / MODEL)
        damaged = damaged_rows(first)
        said = [f"{BEFORE}/metrics.jsonl: line {line} is damaged" for line in damaged]
        for path in numbered(first / CHECKPOINTS)[:1]:
            with suppress(ValueError):  # a stage that has ended needs its checkpoints no more
                missing = read(path).state.get("rows", 0) - len(read_rows(first)) - len(damaged)
                said += [f"{BEFORE}/metrics.jsonl: {missing} row(s) are gone"] if missing > 0 else []
        return said

    said = where.team.led(looked_at)
    if said is None:
        _run(recipe, replace(where, folder=first, said=()), "auto" if on else False)
    return said or []
