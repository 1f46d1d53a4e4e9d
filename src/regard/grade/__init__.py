"""A student's own code, run in a sandbox, held against the definition, and told which known mistake it is."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import did_you_mean

if TYPE_CHECKING:
    from regard.grade.report import Report
    from regard.grade.sandbox import Sandbox
    from regard.grade.task import Assignment

# The file and the name in it of each task. Nothing is imported before it is asked for: the process that
# student code is forked from imports this package too, and must not hold the answers.
TASKS = {
    "attention-head": "attention:HEAD_TASK",
    "multi-headed-attention": "attention:MANY_TASK",
    "masks": "masks:MASK_TASK",
    "counting": "masks:COUNT_TASK",
    "scalar-rnn": "recurrences:SCALAR_TASK",
    "vector-rnn": "recurrences:VECTOR_TASK",
    "grid-rnn": "recurrences:GRID_TASK",
    "patch-embed": "patches:TASK",
    "transformer": "transformer:TASK",
    "vision-transformer": "vision:TASK",
    "dialogue-gpt": "dialogue:TASK",
    "generate": "generating:TASK",
    "heat-map": "heat:TASK",
    "bert-gru": "sentiment:TASK",
    "sinusoidal-positions": "sinusoids:POSITIONS_TASK",
    "linear-attention": "sums:LINEAR_TASK",
    "pooled-attention": "sums:POOLED_TASK",
    "conv-matrix": "convolutions:CONV_TASK",
    "locally-connected": "localities:LOCAL_TASK",
    "dialogue-loss": "losses:LOSS_TASK",
    "tokenizer": "tokens:TOKENIZER_TASK",
    "dialogue-dataset": "dialogues:DATASET_TASK",
}


def get_task(name: str) -> Assignment:
    """A task by its name, or one of one's own: a Python file with `TASK = function_task(…)` in it.

    >>> get_task("attention-head").points
    5
    """
    from regard.grade.task import Assignment

    if name.endswith(".py"):
        from regard.importing import import_file

        found = getattr(import_file(Path(name)), "TASK", None)
        if not isinstance(found, Assignment):
            raise ValueError(f"{name} must hold TASK = function_task(…), got {type(found).__name__}")
        return replace(found, digest=sha256(Path(name).read_bytes()).hexdigest())
    if name not in TASKS:
        raise ValueError(
            f"no task is called {name!r}{did_you_mean(name, TASKS) or ';'} tasks: {', '.join(TASKS)}"
        )
    module, inner = TASKS[name].split(":")
    task = getattr(import_module(f"regard.grade.tasks.{module}"), inner)
    assert isinstance(task, Assignment)
    return task


def grade(
    task: str | Assignment,
    source: str | Path,
    *,
    sandbox: Sandbox | None = None,
    seed: int = 0,
    unsafe: bool = False,
) -> Report:
    """The report on a solution of a task: a .py or .ipynb file as a Path, or source as text.

    >>> grade("counting", "def count_autoregressive(n): return n * n", unsafe=True).mistakes[0].name
    'count-square'
    """
    from regard.grade.grading import grade_one

    return grade_one(task, source, sandbox=sandbox, seed=seed, unsafe=unsafe)


def exercise(name: str) -> str:
    """The skeleton of a task: its text and signatures, and nothing solved."""
    return get_task(name).skeleton


__all__ = ["TASKS", "exercise", "get_task", "grade"]
