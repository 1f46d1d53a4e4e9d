"""Results kept for the next call, as many as fit so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class KeptByBytes(Generic[T]):
    """A cache whose entries together take at most `most` bytes; the latest stays, however large it is.

    >>> kept = KeptByBytes(most=10, size_of=len)
    >>> [kept.get(n, lambda n=n: "x" * n) for n in (4, 6)] and len(kept)
    2
    >>> kept.get(9, lambda: "x" * 9) and len(kept)
    1
    """

    def __init__(self, most: int, size_of: Callable[[T], int]) -> None:
        self.most, self.size_of = most, size_of
        self.entries: OrderedDict[Hashable, T] = OrderedDict()
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.entries)

    def clear(self) -> None:
        """Forget everything."""
        with self.lock:
            self.entries.clear()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is kept under the key, made where there is nothing."""
        with self.lock:
            if key in self.entries:
                self.entries.move_to_end(key)
                return self.entries[key]
        made = make()
        with self.lock:
            self.entries[key] = made
            self.entries.move_to_end(key)
            while len(self.entries) > 1 and sum(map(self.size_of, self.entries.values())) > self.most:
                self.entries.popitem(last=False)
        return made
