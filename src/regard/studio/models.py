"""The models that the studio can show: those of the zoo, and the runs that were named when it started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from regard import zoo
from regard.studio import listed
from regard.train import Run, open_run
from regard.train.runs.images import ImageRun
from regard.train.runs.language import LanguageRun
from regard.train.runs.texts import TextRun

MAKE: dict[type[Run], str] = {ImageRun: "digits-vit", LanguageRun: "play-gpt", TextRun: "verdicts-encoder"}
WORDS: dict[type[Run], str] = {ImageRun: "images", LanguageRun: "dialogues", TextRun: "sentiment"}
ZOO = "zoo:"

Kind = TypeVar("Kind", bound=Run)


@dataclass(frozen=True)
class Models:
    """Runs by name, and what could not be opened and why."""

    runs: dict[str, Run]
    faults: tuple[str, ...] = field(default=())

    def names(self, kind: type[Run]) -> list[str]:
        """The models of one kind."""
        own = [name for name, run in self.runs.items() if isinstance(run, kind)]
        return [*own, *(name for name, word in listed_kinds().items() if word == WORDS.get(kind))]

    def open(self, name: str, kind: type[Kind]) -> Kind:
        """One of them, or a ValueError that names those there are."""
        run = self.runs.get(name) if isinstance(name, str) else None
        if run is None and isinstance(name, str) and name in listed_kinds():
            run = listed.opened(name)
        if not isinstance(run, kind):
            there = self.names(kind)
            raise ValueError(f"no model for {WORDS[kind]} is called {str(name)[:60]!r}; there are: {there}")
        return run

    def first(self, kind: type[Run], wanted: str) -> str:
        """What a room shows first: a run that was named, else the wanted one of the zoo, else any."""
        names = self.names(kind)
        if not names[0].startswith(ZOO):
            return names[0]
        return wanted if wanted in names else names[0]

    def missing(self, kind: type[Run]) -> str:
        """One line for a room without a model: what there is, and how to make one."""
        others = ", ".join(self.runs) if self.runs else "none at all"
        make = MAKE[kind]
        return (
            f"No model for {WORDS[kind]} is here (there are: {others}). Make one in about a minute with "
            f"regard train {make} --out runs/{make}, then regard studio --run runs/{make}"
        )


def gather(folders: Sequence[str | Path] = ()) -> Models:
    """The runs in these folders, which must open, and all of the zoo that can be opened."""
    runs: dict[str, Run] = {name: open_run(folder) for name, folder in named(folders).items()}
    faults = []
    for name in zoo.names():
        try:
            runs[f"{ZOO}{name}"] = zoo.load(name)
        except (ValueError, ImportError) as error:
            faults.append(str(error))
    return Models(runs, tuple(faults))


FOLDERS: list[str] = []  # the runs that were named when the studio started; a worker is told them


@lru_cache(maxsize=1)
def here() -> Models:
    """The models of this process, opened when first asked for."""
    return gather(FOLDERS)


def listed_kinds() -> dict[str, str]:
    """What the runs of the folder of runs are for, by name; they are opened when a room asks for them."""
    found = {name: listed.entry(folder)[1] for name, folder in listed.folders().items()}
    return {name: word for name, word in found.items() if word}


def kind(run: Run) -> str:
    """What a run is for, in one word: images, dialogues, sentiment, or another kind of work."""
    return next((word for known, word in WORDS.items() if isinstance(run, known)), "other")


def named(folders: Sequence[str | Path]) -> dict[str, Path]:
    """The folders by the names that visitors know.

    >>> list(named(["runs/a", "runs/b", "old/a"]))
    ['a', 'b', 'a-2']
    """
    out: dict[str, Path] = {}
    for folder in folders:
        out[_free(Path(folder).name, out)] = Path(folder)
    return out


def _free(name: str, taken: dict[str, Path]) -> str:
    """The name, or the name with a number where another run has it."""
    if name not in taken:
        return name
    return next(f"{name}-{i}" for i in range(2, len(taken) + 3) if f"{name}-{i}" not in taken)
