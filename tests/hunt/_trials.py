"""Small runs of every kind in processes of their own, with accidents: what the hunts of training share."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.train import work
from tests.train.forks import Fork, fork, group

Accident = tuple[int | None, int, float]
NEVER: Accident = (None, 10**9, 0.0)
QUICK = {"validate_every": 4, "save_every": 3, "read_every": 2}
SHARDED = {"sharding": "shard", "ema": 0.9, "steps": 6, "validate_every": 3, "save_every": 2, "read_every": 2}


@dataclass(frozen=True)
class Kind:
    """A small recipe: its function in `small`, what is changed, in how many processes it is trained."""

    recipe: str
    changes: dict[str, Any]
    world: int = 1
    worlds: tuple[int, ...] = ()  # other numbers of processes that may go on with it

    def start(
        self, log: Path, then: Callable[..., None], *words: Any, world: int | None = None
    ) -> list[Fork]:
        """Its processes, each of which calls `then` with the recipe and the other words."""
        world = self.world if world is None else world
        call = (then, self.recipe, self.changes, *words)
        return [fork(log, *call)] if world == 1 else group(log, world, *call)


KINDS = {
    "images": Kind("images", QUICK | {"steps": 12, "keep": 1}),
    "windows": Kind("language", QUICK | {"steps": 10}),
    "dialogues": Kind("words", QUICK | {"steps": 9}),
    "texts": Kind("texts", QUICK | {"steps": 9, "ema": 0.9}),
    "masked": Kind("masked", QUICK | {"steps": 9}),
    "completion": Kind("completion", QUICK | {"steps": 9, "keep": 3}),
    "course": Kind("course", QUICK | {"steps": 9}),
    "two stages": Kind("two_stages", QUICK | {"steps": 6}),
    "shards, Muon": Kind("muon", SHARDED, 2, (1, 3)),
    "shards, AdamW": Kind("changed", SHARDED, 2, (1, 3)),
}


@contextmanager
def quick_disk() -> Iterator[Path]:
    """A folder in memory where there is one: a disk that is asked to wait for each file is slow."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(dir=place, prefix="regard-hunt-") as folder:
        yield Path(folder)


def copy(source: Path, target: Path) -> Path:
    """A folder with its links among themselves as they were."""
    if shutil.which("cp") is None:
        return shutil.copytree(source, target)
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
    return target


@dataclass(frozen=True)
class Whole:
    """The run that nobody disturbs, and how many events on files each of its processes has."""

    folder: Path
    events: list[int]


def undisturbed(folder: Path, kind: str) -> Whole:
    """That run of a kind."""
    whole = folder / f"whole {kind}"
    ends = finished(KINDS[kind].start(folder / f"log {kind}", train, str(whole), NEVER))
    for code, text in ends:
        assert code == 0, text
    return Whole(whole, [int(text.rpartition("events: ")[2]) for _, text in ends])


def train(recipe: str, changes: dict[str, Any], folder: str, accident: Accident) -> None:
    """Begin a run or go on with it; (rank, number, share) kills that process at a number of its events."""
    rank, number, share = accident
    if rank in (None, int(os.environ.get("RANK", "0"))):
        left = die_at(folder, number, share)
        work.run(recipe, folder, "auto", changes)
        print(f"events: {number - left[0]}")
    else:
        work.run(recipe, folder, "auto", changes)


def stop(recipe: str, changes: dict[str, Any], folder: str, after: int) -> None:
    """Train so many steps and end without a word."""
    work.dying(after, recipe, folder, False, changes)


def finished(forks: list[Fork], patience: float = 120) -> list[tuple[int, str]]:
    """How all of them ended; what still runs after so many seconds ended badly."""
    out = []
    for one in forks:
        try:
            out.append(one.ended(patience))
        except AssertionError as error:
            out.append((1, str(error)))
    return out


def die_at(folder: str, number: int, share: float) -> list[int]:
    """End this process at its so many-th event on files of a folder: before it, or with a share written.

    What comes back counts how many are left until then.

    Events are those that the system sees: a file or folder is opened, made, written, forced to the disk,
    renamed, linked, cut or removed.
    """
    left = [number]

    def event() -> bool:
        left[0] -= 1
        return left[0] == 0

    def hook(name: str, words: tuple[Any, ...]) -> None:
        if name in AUDITED and any(_inside(word, folder) for word in words[:2]) and event():
            os.kill(os.getpid(), signal.SIGKILL)

    write, fsync = os.write, os.fsync

    def dying_write(handle: int, data: Any) -> int:
        if event():
            write(handle, bytes(data)[: int(share * len(data))])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(handle, data)

    def dying_fsync(handle: int) -> None:
        if event():
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(handle)

    os.write, os.fsync = dying_write, dying_fsync
    sys.addaudithook(hook)
    return left


AUDITED = ("open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.truncate")


def _inside(word: Any, folder: str) -> bool:
    return isinstance(word, str | os.PathLike) and os.fspath(word).startswith(folder)


def chance(*key: Any) -> random.Random:
    """Luck that is the same for the same key."""
    return random.Random(repr(key))
