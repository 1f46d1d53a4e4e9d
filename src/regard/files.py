"""Files that are whole, on the disk and known by their checksum: written in one step, checked when read.

What is being made has another name until it is done. A process that dies leaves the old, or the new, or
something under such a name, which `leftovers` finds.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

SUMS = "checksums.json"
UNFINISHED = re.compile(r"\.(.+)\.[0-9a-f]{32}")
Sums = dict[str, str]  # the path of a file inside a folder -> its SHA-256 in hex digits


def unfinished(path: Path) -> Path:
    """Another name beside a path, for what is not done yet.

    >>> bool(UNFINISHED.fullmatch(unfinished(Path("model")).name))
    True
    """
    return path.with_name(f".{path.name}.{uuid4().hex}")


def leftovers(folder: Path) -> list[Path]:
    """What processes that died left unfinished in a folder."""
    return sorted(path for path in folder.glob(".*") if UNFINISHED.fullmatch(path.name))


def remove(path: Path) -> None:
    """Remove a file or a folder with all it holds; that it cannot be removed is no fault."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write(path: Path, data: bytes) -> None:
    """Put a file in place in one step and on the disk, so that a crash leaves the old one or the new one."""
    name = unfinished(path)
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        name.replace(path)
        sync(path.parent)
    except OSError as error:
        name.unlink(missing_ok=True)
        raise Unwritten(error, path, len(data)) from error
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """JSON for people and machines, whole or not at all."""
    write(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def write_all(handle: int, data: bytes) -> None:
    """Write every byte to an open file: the system may take a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def sync(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where the system can open a folder."""
    try:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except PermissionError:  # Windows
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Unwritten(OSError):  # noqa: N818 - it says what became of a file
    """That something could not be written: where, how many bytes it takes, what room there is, and why."""

    def __init__(self, cause: OSError, path: Path, size: int) -> None:
        self.why: str = cause.why if isinstance(cause, Unwritten) else cause.strerror or str(cause)
        try:
            room = f" and {shutil.disk_usage(path.parent).free:,} are free"
        except OSError:
            room = ""
        takes = f"it takes {size:,} bytes{room}"
        super().__init__(cause.errno, f"{path} could not be written, {takes}: {self.why}")

    def __str__(self) -> str:
        return str(self.strerror)


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_in(folder: Path) -> list[str]:
    """The files of a folder and the folders in it, but for its checksums."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if name != SUMS)


def seal(folder: Path, known: Sums | None = None) -> None:
    """Write down the checksums of all files of a folder; those that are known are not read again."""
    known = {} if known is None else known
    sums = {name: known[name] if name in known else digest(folder / name) for name in files_in(folder)}
    write_json(folder / SUMS, sums)


def read_sums(folder: Path) -> Sums | None:
    """The checksums of a folder, or None where it has none."""
    try:
        found = json.loads((folder / SUMS).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder / SUMS} cannot be read: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError(f"{folder / SUMS} is damaged: it must hold a checksum for every file")
    return found


def check(path: Path) -> None:
    """Raise unless a file is what the checksums beside it say; where there are none, nothing is known."""
    sums = read_sums(path.parent)
    if sums is not None and path.name in sums:
        _compare(path, sums[path.name])


def check_all(folder: Path, names: Iterable[str] | None = None) -> bool:
    """Raise unless the files of a folder, or those named, are all there and right; False without checksums.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     write(folder / "a", b"1")
    ...     seal(folder)
    ...     check_all(folder)
    True
    """
    sums = read_sums(folder)
    if sums is None:
        return False
    for name in sums if names is None else names:
        _compare(folder / name, sums[name])
    return True


def _compare(path: Path, wanted: str) -> None:
    try:
        found = digest(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    if found != wanted:
        raise ValueError(f"{path} is damaged: it is not what {SUMS} beside it says")


def place(fresh: Path, path: Path) -> None:
    """Give a sealed folder its name, in place of an older one; a kill in between leaves one to `recover`."""
    old = unfinished(path)
    sync(fresh)
    if path.exists():
        path.rename(old)
    try:
        fresh.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
    sync(path.parent)
    remove(old)


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """A new folder that `place` gives this name when the block, which seals it, ends well; else it goes."""
    fresh = unfinished(path)
    try:
        fresh.mkdir(parents=True)
        yield fresh
        place(fresh, path)
    except BaseException:
        remove(fresh)
        raise


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """A folder, with those above it; what was made for it goes again where it ends up empty."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for path in new:
            with suppress(OSError):  # there is something in it
                path.rmdir()


def find_folder(path: Path) -> Path:
    """Where a folder that `place` puts in place is: under its name, or where a kill left it."""
    if path.exists():
        return path
    left = [one for one in leftovers(path.parent) if one.name.startswith(f".{path.name}.") and _whole(one)]
    return max(left, key=lambda one: (one / SUMS).stat().st_mtime, default=path)


def _whole(folder: Path) -> bool:
    try:
        return check_all(folder)
    except ValueError:
        return False


def tidy(folder: Path) -> None:
    """Give folders back their names that a kill caught without one, and remove what is unfinished."""
    for left in leftovers(folder):
        match = UNFINISHED.fullmatch(left.name)
        path = folder / (match[1] if match else "")
        if left.is_dir() and not path.exists() and (whole := find_folder(path)).exists():
            whole.rename(path)
    for left in leftovers(folder):
        remove(left)
