"""Archives opened with suspicion: only plain files, only below their own folder, nothing beyond a size."""

import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

# The largest set is half of this when unpacked; an archive that swells further is a trap.
LARGEST = 2 * 2**30

BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError)


def extract(archive: Path, into: Path, root: str, wanted: str) -> int:
    """Unpack the files of an archive whose path below its folder `root` matches `wanted`; how many they are.

    Raises ValueError for an archive that is cut off, that holds a path outside of it, or that swells.
    """
    count, room = 0, LARGEST
    try:
        for name, size, file in _members(archive):
            parts = _safe(name, archive).parts
            inner = "/".join(parts[1:])
            if parts[:1] != (root,) or not re.fullmatch(wanted, inner):
                continue
            room -= size
            if room < 0:
                raise ValueError(f"{archive} unpacks to more than {LARGEST:,} bytes; download it again")
            path = into / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as out:
                shutil.copyfileobj(file, out)
            if path.stat().st_size != size:
                raise ValueError(f"{archive} ends in the middle of {name}; download it again")
            count += 1
    except (*BROKEN, OSError) as error:
        raise ValueError(f"{archive} cannot be unpacked: {error}; download it again") from error
    return count


def _members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Name, size and content of every plain file; anything else but a folder is refused."""
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                if not entry.is_dir():
                    with packed.open(entry) as file:
                        yield entry.filename, entry.file_size, file
        return
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            if member.isdir():
                continue
            content = tar.extractfile(member) if member.isreg() else None
            if content is None:
                raise ValueError(f"{archive} holds {member.name}, a link or device, where only files belong")
            yield member.name, member.size, content


def _safe(name: str, archive: Path) -> PurePosixPath:
    """The path of a member, if it stays inside on every system."""
    path = PurePosixPath(name.removeprefix("./"))
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or "\0" in name:
        raise ValueError(f"{archive} holds the path {name!r}, which leads outside of it; it was not unpacked")
    return path
