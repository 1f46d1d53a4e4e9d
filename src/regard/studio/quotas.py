"""How often and how much: wrong tokens, and bytes that are sent, from one address."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

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
