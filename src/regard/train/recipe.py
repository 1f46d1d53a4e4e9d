"""A recipe: everything that decides a run, as one frozen value that can be written down and read back."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from regard.errors import check_choice, check_int, check_rates, check_shares
from regard.train.mesh import SHARDINGS
from regard.train.optimizers import AdamW, Choice
from regard.train.schedules import Cosine, Schedule

PRECISIONS = ("auto", "float32", "bfloat16")
SHORT = {"bf16": "bfloat16", "fp32": "float32"}
COMPILES = ("auto", "none", "compile", "graph")
LIMITS = ("steps", "epochs", "minutes")


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """How several processes share the work: `context` of them share each sequence, the rest the batch."""

    context: int = 1

    def __post_init__(self) -> None:
        check_int("parallel.context", self.context, 1)


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a step is carried out: in `accumulate` parts, on what numbers, compiled how, over processes how.

    "auto" means bfloat16 on a GPU and float32 elsewhere, and one CUDA graph per step on a single GPU. A
    gradient longer than `clip` is cut to that length.
    """

    accumulate: int = 1
    clip: float | None = 1.0
    precision: str = "auto"
    compile: str = "auto"
    tf32: bool = False
    deterministic: bool = False
    sharding: str = "replicate"
    parallel: Parallelism = Parallelism()

    def __post_init__(self) -> None:
        if not isinstance(self.parallel, Parallelism):
            raise ValueError(f"parallel must be of Parallelism, got {self.parallel!r}")
        check_int("accumulate", self.accumulate, 1)
        if self.clip is not None:
            check_rates(clip=self.clip)
        # One value has one name, so that recipes which mean the same are equal.
        object.__setattr__(self, "precision", SHORT.get(self.precision, self.precision))
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("compile", self.compile, COMPILES)
        check_choice("sharding", self.sharding, SHARDINGS)
        for name in ("tf32", "deterministic"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(self, name)!r}")


@dataclass(frozen=True, kw_only=True)
class Checks:
    """What is looked at and kept on the way: steps between validations, checkpoints and readings of losses.

    `keep` is how many checkpoints stay, `ema` the decay of the averaged weights that are validated and kept.
    With `overfit`, training is tried on so many examples alone, until they are known by heart. `validations`
    of them come at least, evenly over the run, however short it is.
    """

    validate_every: int | None = None
    validations: int | None = None
    save_every: int = 500
    read_every: int = 20
    keep: int = 2
    ema: float | None = None
    overfit: int | None = None

    def __post_init__(self) -> None:
        for name in ("save_every", "read_every", "keep"):
            check_int(name, getattr(self, name), 1)
        for name in ("validate_every", "validations", "overfit"):
            if getattr(self, name) is not None:
                check_int(name, getattr(self, name), 1)
        if self.ema is not None:
            check_shares(ema=self.ema)


@dataclass(frozen=True, kw_only=True)
class Start:
    """Another model whose weights are the first ones: a run's folder, `zoo:NAME`, or a folder of a model."""

    model: str

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model:
            raise ValueError(f"model must be a run's folder, zoo:NAME or a folder, got model={self.model!r}")


KINDS_OF_PARTS: dict[str, tuple[type, ...]] = {
    "optimizer": get_args(Choice),
    "schedule": get_args(Schedule),
    "execution": (Execution,),
    "checks": (Checks,),
}
# Where a field is that is changed by its own name: `--set keep=3`.
PART_OF = {field.name: "execution" for field in fields(Execution)} | {
    field.name: "checks" for field in fields(Checks)
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to train, on what, how and for how long: one of `steps`, `epochs` and `minutes`.

    `batch` counts examples over all processes and all parts of a step. `before` is trained first, and its
    model starts this one; or it is a `Start`, a model that is there.
    """

    name: str
    task: Any
    batch: int
    steps: int | None = None
    epochs: float | None = None
    minutes: float | None = None
    optimizer: Choice = AdamW()  # noqa: RUF009 - a frozen value
    schedule: Schedule = Cosine()  # noqa: RUF009 - a frozen value
    execution: Execution = Execution()
    checks: Checks = Checks()
    seed: int = 0
    before: Recipe | Start | None = None

    def __post_init__(self) -> None:
        for name, kinds in KINDS_OF_PARTS.items():
            if not isinstance(part := getattr(self, name), kinds):
                named = " or ".join(kind.__name__ for kind in kinds)
                raise ValueError(f"{name} must be of {named}, got {part!r}")
        check_int("batch", self.batch, 1)
        check_int("seed", self.seed, 0)
        if self.steps is not None:
            check_int("steps", self.steps, 1)
        limits = {name: getattr(self, name) for name in LIMITS}
        given = {name: value for name, value in limits.items() if value is not None}
        if len(given) != 1:
            shown = ", ".join(f"{name}={value}" for name, value in limits.items())
            raise ValueError(f"exactly one of steps, epochs and minutes must be given, got {shown}")
        check_rates(**given)
        if 0 in given.values():
            raise ValueError(f"a run must not be empty, got {given}")
        if self.batch % self.execution.accumulate:
            parts = self.execution.accumulate
            raise ValueError(f"accumulate must divide batch, got batch={self.batch}, accumulate={parts}")

    def steps_for(self, examples: int) -> int | None:
        """How many steps the run has, or None where time decides.

        >>> Recipe(name="x", task=None, batch=32, epochs=2).steps_for(100)
        7
        """
        if self.epochs is not None:
            return max(1, -(-round(self.epochs * examples) // self.batch))
        return self.steps

    def but(self, **changes: object) -> Recipe:
        """The recipe with some fields changed, those of `execution` and `checks` by their own names.

        >>> Recipe(name="x", task=None, batch=32, steps=9).but(batch=64, keep=3).checks.keep
        3
        """
        parts = {}
        for part in ("execution", "checks"):
            own = {name: changes.pop(name) for name in list(changes) if PART_OF.get(name) == part}
            parts[part] = replace(changes.pop(part, getattr(self, part)), **own)  # type: ignore[type-var]
        return replace(self, **parts, **changes)  # type: ignore[arg-type]
