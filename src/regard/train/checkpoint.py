"""Checkpoints that are whole or absent, every file known by its checksum: made under another name, forced to
the disk, then renamed.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from torch import Tensor

from regard.errors import need
from regard.files import Sums, Unwritten, check_all, placed, read_sums, remove, seal, tidy, unfinished, write
from regard.models.files import read_tensors, untied
from regard.values import Json

PREFIX, ASIDE = "step-", "damaged-"
STATE = "state.json"
Tensors = dict[str, dict[str, Tensor]]  # a file's name without ending -> its tensors
More = Callable[[Path], Sums]  # adds files to a folder and gives the checksums that it knows


@dataclass(frozen=True)
class Checkpoint:
    """Where a checkpoint is, and the numbers in its state.json."""

    path: Path
    state: Json

    @property
    def step(self) -> int:
        """How many steps were done."""
        return int(self.state["step"])

    def tensors(self) -> Tensors:
        """The tensors of each file."""
        return {file.stem: read_tensors(file)[0] for file in sorted(self.path.glob("*.safetensors"))}


def write_checkpoint(
    folder: Path, step: int, tensors: Tensors, state: Json, *, keep: int, more: Sequence[More] = ()
) -> Path:
    """Write a checkpoint, drop all but the last `keep`, and give its path; `more` adds files of its own.

    Where writing fails, a full disk for one, nothing is left of the attempt and older ones stay.
    """
    path = folder / f"{PREFIX}{step:06}"
    try:
        with placed(path) as fresh:
            sums: Sums = {}
            for name, values in tensors.items():
                data = need("safetensors.torch", "files").save(untied(values))
                write(fresh / f"{name}.safetensors", data)
                sums[f"{name}.safetensors"] = sha256(data).hexdigest()
            for add in more:
                sums |= add(fresh)
            write(fresh / STATE, json.dumps({"step": step, "checksums": True, **state}, indent=1).encode())
            seal(fresh, sums)
    except OSError as error:
        size = sum(x.numel() * x.element_size() for values in tensors.values() for x in values.values())
        raise Unwritten(error, path, size) from error
    for old in numbered(folder)[keep:]:
        # Under another name first: half of a checkpoint must not look like one.
        remove(old.rename(unfinished(old)))
    tidy(folder)
    return path


def numbered(folder: Path) -> list[Path]:
    """The checkpoints of a run, the newest first."""
    found = [path for path in folder.glob(f"{PREFIX}*") if path.name.removeprefix(PREFIX).isdigit()]
    return sorted(found, key=step_of, reverse=True)


def step_of(path: Path) -> int:
    """The step that a checkpoint's name says.

    >>> step_of(Path("runs/first/checkpoints/step-000400"))
    400
    """
    return int(path.name.removeprefix(PREFIX))


def read(path: Path) -> Checkpoint:
    """A checkpoint's state, or a ValueError that says what is wrong with it."""
    try:
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        int(state["step"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path / STATE} cannot be read: {error}") from error
    if state.get("checksums") and read_sums(path) is None:
        raise ValueError(f"{path} is damaged: its checksums are gone")
    return Checkpoint(path, state)


def fault_of(path: Path, share: int = 0, of: int = 1) -> str | None:
    """What is wrong with a checkpoint, or None; several processes may look at a share of its files each."""
    try:
        found, sums = read(path), read_sums(path)
        if sums is None:  # one of old: that it can be read is all that can be known
            found.tensors()
        else:
            check_all(path, sorted(sums)[share::of])
    except ValueError as error:
        return str(error)
    return None


def set_aside(path: Path) -> Path:
    """Give a damaged checkpoint a name under which it neither is taken up nor counts as one to keep."""
    number = 1
    while (other := path.with_name(f"{ASIDE}{path.name}-{number}")).exists():
        number += 1
    return path.rename(other)
