"""Checkpoints that are whole or absent: written under another name, forced to the disk, then renamed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from torch import Tensor

from regard.errors import need
from regard.models.files import read_tensors

PREFIX = "step-"
Tensors = dict[str, dict[str, Tensor]]  # a file's name without ending -> its tensors


@dataclass(frozen=True)
class Checkpoint:
    """What was read: the tensors of each file, and the numbers in state.json."""

    path: Path
    tensors: Tensors
    state: dict[str, Any]

    @property
    def step(self) -> int:
        """How many steps were done."""
        return int(self.state["step"])


def write(
    folder: Path,
    step: int,
    tensors: Tensors,
    state: dict[str, Any],
    *,
    keep: int,
    more: Callable[[Path], None] | None = None,
) -> Path:
    """Write a checkpoint, drop all but the last `keep`, and give its path; `more` adds files of its own.

    Where writing fails, a full disk for one, nothing is left of the attempt and older ones stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, temporary = folder / f"{PREFIX}{step:06}", folder / f".{uuid4().hex}"
    try:
        temporary.mkdir()
        for name, values in tensors.items():
            whole = {key: value.detach().cpu().contiguous() for key, value in values.items()}
            write_whole(need("safetensors.torch", "files").save(whole), temporary / f"{name}.safetensors")
        if more is not None:
            more(temporary)
        write_whole(json.dumps({"step": step, **state}, indent=1).encode(), temporary / "state.json")
        _sync_folder(temporary)
        if path.exists():  # a run that went on from an older checkpoint comes by again
            path.rename(folder / f".{uuid4().hex}")
        temporary.rename(path)
        _sync_folder(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    for old in numbered(folder)[keep:]:
        shutil.rmtree(old, ignore_errors=True)
    for rest in folder.glob(".*"):  # what a crash while writing left behind
        shutil.rmtree(rest, ignore_errors=True)
    return path


def numbered(folder: Path) -> list[Path]:
    """The checkpoints of a run, the newest first."""
    found = [path for path in folder.glob(f"{PREFIX}*") if path.name.removeprefix(PREFIX).isdigit()]
    return sorted(found, key=lambda path: int(path.name.removeprefix(PREFIX)), reverse=True)


def read(path: Path) -> Checkpoint:
    """Read one checkpoint, or raise a ValueError that says what is wrong with it."""
    try:
        state = json.loads((path / "state.json").read_text(encoding="utf-8"))
        int(state["step"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path / 'state.json'} cannot be read: {error}") from error
    tensors = {file.stem: read_tensors(file)[0] for file in sorted(path.glob("*.safetensors"))}
    return Checkpoint(path, tensors, state)


def last_good(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that can be read, and what is wrong with those that cannot."""
    faults: list[str] = []
    for path in numbered(folder):
        try:
            return read(path), faults
        except ValueError as error:
            faults.append(str(error))
    return None, faults


def write_whole(data: bytes, path: Path) -> None:
    """Put a file in place in one step, and only when the disk has all of it."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(value: Any, path: Path) -> None:
    """JSON for people and machines, whole or not at all."""
    write_whole((json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(), path)


def _sync_folder(folder: Path) -> None:
    """Make names in a folder survive a power cut, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
