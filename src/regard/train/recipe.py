"""A recipe: everything that decides a run, as one frozen value that can be written down and read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regard.errors import check_int
from regard.train.checks import check_choice, check_rates, check_shares
from regard.train.optimizers import AdamW, Choice
from regard.train.schedules import Cosine, Schedule

PRECISIONS = ("auto", "float32", "bfloat16")
COMPILES = ("auto", "none", "compile", "graph")
SHARDINGS = ("replicate", "shard")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to train, on what, how and for how long: one of `steps`, `epochs` and `minutes`.

    `batch` counts examples over all processes and all `accumulate` parts of a step. "auto" means bfloat16
    on a GPU and float32 elsewhere, and one CUDA graph per step on a single GPU. `ema` is the decay of the
    averaged weights that are validated and kept. `before` is trained first, and its model starts this one.
    """

    name: str
    task: Any
    batch: int
    steps: int | None = None
    epochs: float | None = None
    minutes: float | None = None
    optimizer: Choice = AdamW()  # noqa: RUF009 - a frozen value
    schedule: Schedule = Cosine()  # noqa: RUF009 - a frozen value
    accumulate: int = 1
    clip: float | None = 1.0
    ema: float | None = None
    seed: int = 0
    precision: str = "auto"
    compile: str = "auto"
    tf32: bool = False
    deterministic: bool = False
    sharding: str = "replicate"
    validate_every: int | None = None
    save_every: int = 500
    read_every: int = 20
    keep: int = 2
    overfit: int | None = None
    before: Recipe | None = None

    def __post_init__(self) -> None:
        for name, least in (("batch", 1), ("accumulate", 1), ("save_every", 1), ("read_every", 1)):
            check_int(name, getattr(self, name), least)
        check_int("keep", self.keep, 1)
        check_int("seed", self.seed, 0)
        for name in ("steps", "validate_every", "overfit"):
            if getattr(self, name) is not None:
                check_int(name, getattr(self, name), 1)
        limits = {name: getattr(self, name) for name in ("steps", "epochs", "minutes")}
        given = {name: value for name, value in limits.items() if value is not None}
        if len(given) != 1:
            shown = ", ".join(f"{name}={value}" for name, value in limits.items())
            raise ValueError(f"exactly one of steps, epochs and minutes must be given, got {shown}")
        check_rates(**given)
        if 0 in given.values():
            raise ValueError(f"a run must not be empty, got {given}")
        if self.clip is not None:
            check_rates(clip=self.clip)
        if self.ema is not None:
            check_shares(ema=self.ema)
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("compile", self.compile, COMPILES)
        check_choice("sharding", self.sharding, SHARDINGS)
        if self.batch % self.accumulate:
            raise ValueError(
                f"accumulate must divide batch, got batch={self.batch}, accumulate={self.accumulate}"
            )

    def steps_for(self, examples: int) -> int | None:
        """How many steps the run has, or None where time decides.

        >>> Recipe(name="x", task=None, batch=32, epochs=2).steps_for(100)
        7
        """
        if self.epochs is not None:
            return max(1, -(-round(self.epochs * examples) // self.batch))
        return self.steps
