"""What was prepared once: files in the user's cache, mapped into memory, whole and known by their checksums.

While it is made it lies beside its name, with a note of how far it came; a process that was killed is taken
up there by the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor

from regard.files import check_all, leftovers, read_sums, remove, seal, sync, write_json
from regard.values import Json

try:
    import fcntl
except ImportError:  # Windows
    fcntl: ModuleType | None = None  # type: ignore[no-redef]

VARIABLE = "REGARD_CACHE"
META, NOTE = "meta.json", "progress.json"
VERSION = 1  # of what is written; another one is prepared anew
SETTLE = 1 << 26  # bytes of text between two notes of how far it is
READ_WHOLE = 2**28  # bytes up to which checksums are compared whenever a set is opened


def cache_folder() -> Path:
    """Where prepared data go: $REGARD_CACHE, or the user's cache."""
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~")).expanduser() / "regard"
    base = "~/Library/Caches" if sys.platform == "darwin" else os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "regard"


@dataclass(frozen=True)
class Prepared:
    """A folder of prepared files, and what is known of them."""

    folder: Path
    meta: Json

    def tensor(self, name: str, dtype: torch.dtype, *shape: int) -> Tensor:
        """A file as a tensor that is read from the disk when it is used, and never changed."""
        count = 1
        for side in shape:
            count *= side
        if not count:
            return torch.empty(shape, dtype=dtype)
        return torch.from_file(str(self.folder / name), shared=False, size=count, dtype=dtype).view(shape)

    @property
    def digest(self) -> str:
        """One checksum for all of it."""
        sums = {name: found for name, found in (read_sums(self.folder) or {}).items() if name != META}
        return key_of(sums, self.meta.get("classes"))


def key_of(*parts: object) -> str:
    """A name for what parts that JSON can hold decide."""
    data = json.dumps([VERSION, *parts], sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


def prepared(key: str, fill: Callable[[Path], Json]) -> Prepared:
    """What is prepared under this key; `fill` writes it into a folder, which may hold its own beginning."""
    final = cache_folder() / "prepared" / key[:32]
    found = _opened(final)
    if found is not None:
        return found
    final.parent.mkdir(parents=True, exist_ok=True)
    with _alone(final.with_suffix(".lock")):
        found = _opened(final)  # another process may have been faster
        if found is None:
            part = final.with_suffix(".part")
            part.mkdir(exist_ok=True)
            meta = fill(part)
            for path in (part / NOTE, *leftovers(part)):  # of processes that were killed here
                path.unlink(missing_ok=True)
            sizes = {path.name: path.stat().st_size for path in sorted(part.iterdir())}
            write_json(part / META, meta | {"sizes": sizes})
            seal(part)
            sync(part)
            part.rename(final)
            sync(final.parent)
            found = _opened(final)
            assert found is not None
    return found


def _opened(final: Path) -> Prepared | None:
    """What is there, if it is as it was written; damaged files are removed, to be prepared again."""
    try:
        meta = json.loads((final / META).read_bytes())
        sizes = {name: (final / name).stat().st_size for name in meta["sizes"]}
        small = [name for name in (*sizes, META) if sizes.get(name, 0) <= READ_WHOLE]
        if sizes == meta["sizes"] and check_all(final, small):
            return Prepared(final, meta)
    except FileNotFoundError:
        if not final.exists():
            return None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    remove(final)
    return None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time; others wait. The system frees the lock of a process that dies."""
    with path.open("a") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read_note(folder: Path) -> Json | None:
    """How far a process came that was killed here, or None."""
    try:
        found = json.loads((folder / NOTE).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


class PreparationBar:
    """A line on the terminal that says how far a long preparation is; nothing elsewhere."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        self.title, self.total, self.unit = title, total, unit
        self.begin = self.last = time.monotonic()
        self.shown = False

    def at(self, done: int) -> None:
        """So much is done."""
        now = time.monotonic()
        if now - self.last < 0.5 or not sys.stderr.isatty():
            return
        self.last, self.shown = now, True
        share = done / max(1, self.total)
        bar = "#" * int(24 * share) + "." * (24 - int(24 * share))
        line = f"\rpreparing {self.title} [{bar}] {done:,} of {self.total:,} {self.unit}"
        print(line, end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """The end: the line goes."""
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Appending:
    """Files that grow together, and can be cut back to a length that is known to be on the disk."""

    def __init__(self, folder: Path, lengths: dict[str, int]) -> None:
        self.folder, self.files = folder, {}
        for name, length in lengths.items():
            path = folder / name
            if not path.exists() or path.stat().st_size < length:
                path.touch()
            file = path.open("rb+")
            file.truncate(length)
            file.seek(length)
            self.files[name] = file

    def add(self, name: str, data: bytes) -> None:
        """More of one of them."""
        self.files[name].write(data)

    def length(self, name: str) -> int:
        """How many bytes one of them has."""
        return self.files[name].tell()

    def cut(self, name: str, length: int) -> None:
        """Take back what one of them has beyond this length."""
        self.files[name].truncate(length)
        self.files[name].seek(length)

    def settled(self, note: Json) -> None:
        """All that was added is on the disk, then the note that says so."""
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())
        write_json(
            self.folder / NOTE, note | {"lengths": {name: file.tell() for name, file in self.files.items()}}
        )

    def close(self) -> None:
        """No more is added."""
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()


def beginning(folder: Path, names: tuple[str, ...]) -> tuple[Json, Appending]:
    """The note of a preparation that was cut off, or an empty one, and its files cut back to it."""
    note = read_note(folder) or {}
    lengths = note.get("lengths", {})
    try:
        whole = all((folder / name).stat().st_size >= lengths[name] for name in names)
    except (OSError, KeyError, TypeError):
        whole = False
    if not whole:
        note, lengths = {}, dict.fromkeys(names, 0)
    return note, Appending(folder, lengths)
