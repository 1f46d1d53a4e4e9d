"""What a run says of itself: as it begins, on its way, and at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.paper.commands import command
from regard.paper.quantities import duration, rate
from regard.train.data_notes import told_parts
from regard.train.devices import device_name

if TYPE_CHECKING:  # the loop calls these functions, which read what it holds
    from regard.train.loop import Result, Training

COMPILING = "compiling the step, a minute or more before training begins; --set compile=none does without"


def opening(run: Training) -> str:
    """What is trained, on what, and where."""
    where = "CPU" if run.device.type == "cpu" else device_name(run.device)
    team = "" if run.team.world == 1 else f", {run.team.world} processes"
    team += "" if run.team.context == 1 else f", each sequence on {run.team.context} of them"
    parts = told_parts(run.task.describe())
    return (
        f"{run.recipe.name}: {run.parameters:,} parameters, {run.task.examples:,} examples, "
        f"batch {run.recipe.batch:,}, on {where}{team}, in {run.folder}"
    ) + (f"\n{parts}" if parts else "")


def parts(run: Training, loss: float) -> dict[str, str]:
    """How far a run is and how well it does, by name."""
    left = run.pace.left(run.done)
    found = {"step": f"{run.done:,}", "loss": f"{loss:.4f}"}
    if run.best is not None:
        name, score = next(iter(run.best["scores"].items()))
        found[f"best {name}"] = f"{score:.4f}"
    found["at"] = rate(run.speed * run.task.per_example, run.task.unit)
    if run.peak is not None and run.flops is not None:
        # The exact operations per second over what the devices can do.
        found["of peak"] = f"{run.flops * run.speed / (run.peak * run.team.world):.0%}"
    return found if left is None else {**found, "left": duration(left)}


def closing(run: Training, result: Result) -> str:
    """What a run came to, and what to do next."""
    scores = "  ".join(f"{name} {value:.4f}" for name, value in result.scores.items())
    times = ", ".join(f"{name} {duration(value)}" for name, value in result.seconds.items())
    speed = rate(result.examples_per_second * run.task.per_example, run.task.unit)
    return "\n".join(
        [
            f"best at step {result.best_step:,} of {result.steps:,}: {scores}",
            f"{times}; {speed}",
            *(f"next: {one}" for one in following(run)),
        ]
    )


def following(run: Training) -> list[str]:
    """What to do with a trained model, as commands that work as they stand."""
    folder = str(run.folder)
    verb, *rest = run.task.trial() or ("",)
    tried = [command(verb, folder, *rest)] if verb else []
    return [*tried, command("eval", folder, *(["--test"] if run.task.has_test else []))]
