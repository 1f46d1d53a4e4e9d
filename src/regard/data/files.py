"""Files that are whole or not there: checked when read, and put in place in one step when written."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from regard.files import made, remove, sync, unfinished


@dataclass(frozen=True)
class Known:
    """A file as its publisher made it: its name, its checksum as `kind:hex digits`, its bytes where known."""

    name: str
    checksum: str
    size: int | None = None


def read_known(folder: Path, known: Known) -> bytearray:
    """The bytes of a published file, or a ValueError that says what is wrong with our copy and what to do."""
    path = folder / known.name
    data = read(path)
    if known.size is not None and len(data) != known.size:
        wrong = f"has {len(data):,} bytes where the official file has {known.size:,}"
    elif not matches(data, known.checksum):
        wrong = f"does not have the official checksum {known.checksum}"
    else:
        return data
    raise ValueError(f"{path} {wrong}: it is damaged; {advice(folder)}")


def advice(folder: Path) -> str:
    """What to do about a damaged set."""
    return f"remove {folder} and load the set again to download it"


def read(path: Path) -> bytearray:
    """A whole file in one read, writable so that a tensor can share its memory."""
    try:
        with path.open("rb") as file:
            data = bytearray(os.fstat(file.fileno()).st_size)
            del data[file.readinto(data) :]
            return data
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error


def matches(data: bytes | bytearray, checksum: str) -> bool:
    """Whether bytes have a checksum, written `md5:…` or `sha256:…`.

    >>> matches(b"abc", "md5:900150983cd24fb0d6963f7d28e17f72")
    True
    """
    kind, _, digits = checksum.partition(":")
    assert kind in ("md5", "sha256")
    return hashlib.new(kind, data, usedforsecurity=False).hexdigest() == digits


def unzipped(data: bytes | bytearray, path: Path) -> bytearray:
    """What a gzip file holds."""
    try:
        return bytearray(gzip.decompress(data))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is no whole gzip file: {error}; {advice(path.parent)}") from error


@contextmanager
def new_folder(final: Path) -> Iterator[Path]:
    """A temporary folder that takes its `final` name when the block ends well, and vanishes when it does not.

    The folders above that had to be made vanish with it. A folder of that name which appeared in the meantime
    is kept: another process was faster.
    """
    with made(final.parent):
        folder = unfinished(final)
        folder.mkdir()
        try:
            yield folder
            _settle(folder)
            try:
                folder.rename(final)
            except OSError:
                if not final.is_dir():
                    raise
            sync(final.parent)
        finally:
            remove(folder)


def _settle(folder: Path) -> None:
    """Wait until everything in a folder is on the disk."""
    if hasattr(os, "sync"):  # one call, where fsync of a hundred thousand small files would take minutes
        os.sync()
        return
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
