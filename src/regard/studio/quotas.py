"""How often and how much: wrong tokens from one address, and bytes that visitors leave on this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from regard.studio import limits

MANY = 4_096  # visitors that are remembered; beyond that the first of them is forgotten


class Tally:
    """What each visitor used up in the last `seconds`, up to `most`.

    >>> tally = Tally(60, most=2)
    >>> tally.add("a"), tally.add("a"), tally.full("a"), tally.full("b")
    (None, None, True, False)
    """

    def __init__(self, seconds: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self.most, self.clock = seconds, most, clock
        self.used: dict[str, list[tuple[float, int]]] = {}
        self.lock = threading.Lock()

    def add(self, visitor: str, amount: int = 1) -> None:
        """So much more."""
        with self.lock:
            self.used[visitor] = [*self._recent(visitor), (self.clock(), amount)]
            if len(self.used) > MANY:
                self.used.pop(next(iter(self.used)))

    def full(self, visitor: str, amount: int = 1) -> bool:
        """Whether so much more would be too much."""
        with self.lock:
            return sum(count for _, count in self._recent(visitor)) + amount > self.most

    def _recent(self, visitor: str) -> list[tuple[float, int]]:
        since = self.clock() - self.seconds
        return [one for one in self.used.get(visitor, ()) if one[0] > since]


class Uploads:
    """The folder of uploads: each visitor may bring so much in a while, and the oldest files make room."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.brought = Tally(60 * limits.MINUTES, limits.VISITOR)

    def refused(self, visitor: str, length: str | None) -> tuple[int, str] | None:
        """Status and text for an upload that is not taken; None where it is, with room made for it."""
        if length is None:
            return 411, "an upload must say how long it is"
        if self.brought.full(visitor, int(length)):
            return 429, f"at most {limits.VISITOR:,} bytes may be uploaded in {limits.MINUTES} minutes"
        self.brought.add(visitor, int(length))
        self.clear(int(length))
        return None

    def clear(self, needed: int) -> None:
        """Remove what is old, then the oldest until there is room for so many bytes."""
        files = sorted(self._files())
        kept = sum(size for _, size, _ in files)
        for when, size, path in files:
            if kept + needed <= limits.STORED and when > time.time() - 3600 * limits.HOURS:
                return
            path.unlink(missing_ok=True)
            kept -= size

    def _files(self) -> list[tuple[float, int, Path]]:
        """(when it was written, bytes, path) of each file that is still there."""
        found = []
        for path in self.folder.rglob("*"):
            try:
                about = path.stat()
            except FileNotFoundError:  # somebody else removed it
                continue
            if path.is_file():
                found.append((about.st_mtime, about.st_size, path))
        return found
