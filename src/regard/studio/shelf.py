"""The models that the studio can show: those of the zoo, and the runs that were named when it started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard import zoo
from regard.train import Run

MAKE = {"images": "digits-vit", "language": "play-gpt", "texts": "verdicts-encoder"}
WORDS = {"images": "images", "language": "dialogues", "texts": "sentiment"}


@dataclass(frozen=True)
class Shelf:
    """Runs by name, and what could not be opened and why."""

    runs: dict[str, Run]
    faults: tuple[str, ...] = field(default=())

    def names(self, task: str) -> list[str]:
        """The models for one task: "images", "language" or "texts"."""
        return [name for name, run in self.runs.items() if run.description.get("task") == task]

    def open(self, name: str, task: str) -> Run:
        """One of them, or a ValueError that names those there are."""
        there = self.names(task)
        if name not in there:
            raise ValueError(f"no model for {WORDS[task]} is called {str(name)[:60]!r}; there are: {there}")
        return self.runs[name]

    def missing(self, task: str) -> str:
        """One line for a room without a model: what there is, and how to make one."""
        others = ", ".join(self.runs) if self.runs else "none at all"
        return (
            f"No model for {WORDS[task]} is here (there are: {others}). Make one in about a minute with "
            f"regard train {MAKE[task]} --out runs/{MAKE[task]}, then regard studio --run runs/{MAKE[task]}"
        )


def gather(folders: Sequence[str | Path] = ()) -> Shelf:
    """The runs in these folders, which must open, and all of the zoo that can be opened.

    >>> gather().names("painting")
    []
    """
    runs: dict[str, Run] = {}
    faults = []
    for folder in folders:
        runs[_free(Path(folder).name, runs)] = zoo.open_run(folder)
    for name in zoo.names():
        try:
            runs[f"zoo:{name}"] = zoo.load(name)
        except (ValueError, ImportError) as error:
            faults.append(str(error))
    return Shelf(runs, tuple(faults))


def _free(name: str, taken: dict[str, Run]) -> str:
    """The name, or the name with a number where another run has it."""
    if name not in taken:
        return name
    return next(f"{name}-{i}" for i in range(2, len(taken) + 3) if f"{name}-{i}" not in taken)
