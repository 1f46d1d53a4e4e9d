"""The runs of the tour: trained anew or taken up again, in folders that only a tour may clear."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from regard import recipes
from regard.train import Recipe, Result, Run, load_run, override, read_recipe, train
from regard.train.folder import RECIPE, SUMMARY
from regard.train.metrics import Row, read_rows

MARK = "tour.json"  # says that a folder is a tour's, so that its old runs may go


@dataclass(frozen=True)
class Trained:
    """A finished run: its recipe and the command that repeats it, its result, its record, its model."""

    recipe: Recipe
    command: str
    result: Result
    rows: list[Row]
    run: Run
    reused: bool

    @property
    def seconds(self) -> float:
        """All that the run took."""
        return sum(self.result.seconds.values())


@dataclass(frozen=True)
class TourRuns:
    """Where and how the tour trains."""

    out: Path
    reuse: bool = False
    steps: int | None = None
    quiet: bool = False

    def claim(self) -> None:
        """Mark the folder as a tour's, unless it holds runs that no tour made."""
        runs = self.out / "runs"
        if not (self.out / MARK).exists() and runs.exists() and any(runs.iterdir()):
            raise ValueError(f"{runs} holds runs that no tour made; choose another --out")
        runs.mkdir(parents=True, exist_ok=True)
        (self.out / MARK).write_text('{"made by": "regard tour"}\n', encoding="utf-8")

    def train(self, name: str) -> Trained:
        """Train by a recipe, or reuse what an earlier tour finished, if asked to."""
        changed = [] if self.steps is None else [f"steps={self.steps}"]
        recipe, folder = override(recipes.get(name), changed), self.out / "runs" / name
        done = self.reuse and (folder / SUMMARY).exists() and read_recipe(folder) == recipe
        if done:
            result = Result(**json.loads((folder / SUMMARY).read_text(encoding="utf-8")))
        else:
            going = self.reuse and (folder / RECIPE).exists()
            if not going:
                _clear(folder)
            result = train(recipe, folder, device="cpu", resume=going, quiet=self.quiet)
        command = " ".join(["regard train", name, *(f"--set {one}" for one in changed)])
        return Trained(recipe, command, result, read_rows(folder), load_run(folder), done)


def _clear(folder: Path) -> None:
    """Take an old run away, in one step: killed halfway, nothing half cleared looks like a run."""
    for rest in folder.parent.glob(".old-*"):
        shutil.rmtree(rest, ignore_errors=True)
    if folder.exists():
        old = folder.with_name(f".old-{uuid4().hex}")
        folder.rename(old)
        shutil.rmtree(old, ignore_errors=True)
