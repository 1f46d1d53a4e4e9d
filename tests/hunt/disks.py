"""Disks that are full: a run says which file found no room and how much it takes, and goes on once there is
room, to the bit as if there had always been.

Four kinds: writes that fail once some bytes were written, some writes in a row that fail, the first of them
half way, a limit on the size of a file, and, for root on Linux, a real file system of some kilobytes.
"""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from regard.files import remove
from tests.hunt._trials import KINDS, NEVER, Whole, chance, finished, quick_disk, train, undisturbed
from tests.hunt.found import Found
from tests.train import work
from tests.train.same import difference

USED = ("images", "windows", "texts", "two stages", "shards, AdamW")


def hunt(times: int, seed: int) -> Found:
    """Fill the disk of `times` runs."""
    found, whole = Found(), {}
    ways = ["bytes", "a while", "file size", *(["small disk"] if _can_mount() else [])]
    with quick_disk() as folder:
        for number in range(times):
            way, kind = ways[number % len(ways)], USED[(seed + number // len(ways)) % len(USED)]
            if kind not in whole:
                whole[kind] = undisturbed(folder, kind)
            place = folder / str(number)
            place.mkdir()
            try:
                found.add(f"{way}: {_one(place, kind, whole[kind], way, chance(seed, number))}")
            except AssertionError as error:
                found.add(f"{way}: wrong", f"{kind}: {error}")
            remove(place)
    return found


def _one(place: Path, kind: str, whole: Whole, way: str, luck: Random) -> str:
    """One run on a disk of some size, which then grows."""
    size = sum(path.stat().st_size for path in whole.folder.rglob("*") if path.is_file())
    run, disk = place / "run", None
    if way == "small disk":
        # Pages of the file system: a few files fit, or nearly all.
        disk, run = place / "disk", place / "disk" / "run"
        disk.mkdir()
        _mount(disk, f"size={luck.randint(16, 2 * size // 1024)}k")
        limit: tuple[str, int] = ("none", 0)
    elif way == "bytes":
        limit = way, luck.randint(0, 3 * size)
    elif way == "a while":
        limit = way, luck.randint(0, 60)  # about as many writes as a run has
    else:
        most = max(path.stat().st_size for path in whole.folder.rglob("*.safetensors"))
        limit = way, luck.randint(4096, most)  # with room for what is printed, which is in a file too
    try:
        ends = finished(KINDS[kind].start(place / "log", limited, str(run), limit))
        text = "\n".join(text for _, text in ends)
        assert all(code in (0, 2) for code, _ in ends), f"{limit}: ended with {ends}"
        full = any(code == 2 for code, _ in ends)
        if full:
            assert "could not be written, it takes" in text or "No space left" in text, f"{limit}: {text}"
            assert str(run) in text, f"{limit}: no path is named: {text}"
        if disk is not None:
            _mount(disk, "remount,size=256m")
        ends = finished(KINDS[kind].start(place / "then", train, str(run), NEVER))
        assert all(code == 0 for code, _ in ends), f"{limit}: did not go on: {text} {ends}"
        wrong = difference(whole.folder, run)
        assert wrong is None, f"{limit}: {wrong}; {text}"
    finally:
        if disk is not None:
            subprocess.run(["umount", str(disk)], check=True)
    return "stopped and gone on" if full else "waited for room" if "could not be" in text else "had room"


def limited(recipe: str, changes: dict[str, Any], folder: str, limit: tuple[str, int]) -> None:
    """Train where not more than so many bytes can be written, in all or to one file."""
    way, size = limit
    if way == "file size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    elif way == "bytes":
        os.write = _full_after(size)
    elif way == "a while":
        os.write = _full_at(size, size + 1 + size % 7)
    work.run(recipe, folder, "auto", changes)


def _full_after(size: int) -> Callable[[int, Any], int]:
    write, left = os.write, [size]

    def full(handle: int, data: Any) -> int:
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = write(handle, bytes(data)[: left[0]])
        left[0] -= done
        return done

    return full


def _full_at(first: int, last: int) -> Callable[[int, Any], int]:
    write, done = os.write, [-1]

    def full(handle: int, data: Any) -> int:
        done[0] += 1
        if done[0] == first:
            return write(handle, bytes(data)[: (len(data) + 1) // 2])
        if first < done[0] <= last:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data)

    return full


def _can_mount() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0 and Path("/proc/mounts").exists() and _mounts()


def _mounts() -> bool:
    """Whether this system, a container perhaps, lets root mount."""
    with quick_disk() as folder:
        done = subprocess.run(_words(folder, "size=64k"), capture_output=True, check=False).returncode == 0
        if done:
            subprocess.run(["umount", str(folder)], check=True)
    return done


def _mount(folder: Path, options: str) -> None:
    subprocess.run(_words(folder, options), check=True)


def _words(folder: Path, options: str) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
