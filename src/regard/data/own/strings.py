"""Many texts in one file, each read when it is asked for."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

from torch import Tensor


class StoredStrings(Sequence[str]):
    """The texts at some places (N,) of a file of UTF-8, mapped into memory; `digest` stands for them all.

    A slice shares the file.
    """

    def __init__(self, path: Path, begins: Tensor, ends: Tensor, digest: str = "", first: int = 0) -> None:
        self.path, self.begins, self.ends = path, begins, ends
        self.digest, self.first = digest, first
        self._data: mmap.mmap | bytes | None = None

    @property
    def key(self) -> list[object]:
        """What decides on the texts: the file's content, and which of its texts these are."""
        return [self.digest, self.first, len(self)]

    def __len__(self) -> int:
        return len(self.begins)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> StoredStrings: ...

    def __getitem__(self, at: int | slice) -> str | StoredStrings:
        if isinstance(at, slice):
            first, _, step = at.indices(len(self))
            if step != 1:
                raise ValueError(f"texts on the disk are cut into stretches, got a step of {step}")
            return StoredStrings(self.path, self.begins[at], self.ends[at], self.digest, self.first + first)
        return self._mapped()[int(self.begins[at]) : int(self.ends[at])].decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        data = self._mapped()
        for begins, ends in zip(self.begins.split(4096), self.ends.split(4096), strict=True):
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
                yield data[begin:end].decode("utf-8")

    def _mapped(self) -> mmap.mmap | bytes:
        if self._data is None:
            with self.path.open("rb") as file:
                empty = self.path.stat().st_size == 0  # which no system maps
                self._data = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._data
