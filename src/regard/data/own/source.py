"""Where data of one's own lie and how they are to be read, as a value that a recipe can hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from regard.errors import check_choice, check_int

KINDS = ("images", "corpus", "reviews")
LARGEST = 1024  # pixels on a side: more is a photo that nobody meant to train on as it is
VALIDATION = 0.1  # of what is not the test part: what is held out unless --set validation says otherwise


@dataclass(frozen=True)
class Source:
    """A file or folder of one's own; what is None follows from what is found there.

    `kind` is images, corpus or reviews. `text` and `label` name columns of a table. Images are brought to
    `size` (rows, cols) and 1 or 3 `channels`. With `skip_bad`, what cannot be read is left out.

    >>> Source("photos", size=(32, 48)).named
    'photos'
    """

    path: str
    kind: str | None = None
    text: str | None = None
    label: str | None = None
    size: tuple[int, int] | None = None
    channels: int | None = None
    skip_bad: bool = False

    def __post_init__(self) -> None:
        if not self.path or "\0" in self.path:
            raise ValueError(f"path must name a file or folder, got path={self.path!r}")
        if self.kind is not None:
            check_choice("kind", self.kind, KINDS)
        if self.size is not None:
            sides = tuple(self.size)
            if len(sides) != 2:
                raise ValueError(f"size must be (rows, cols), got size={self.size!r}")
            for side in sides:
                check_int("size", side, 1, LARGEST)
            object.__setattr__(self, "size", sides)  # a list, as JSON gives, has no hash
        if self.channels not in (None, 1, 3):
            raise ValueError(f"channels must be 1 or 3, got channels={self.channels!r}")
        if not isinstance(self.skip_bad, bool):
            raise ValueError(f"skip_bad must be true or false, got skip_bad={self.skip_bad!r}")

    @property
    def root(self) -> Path:
        """The path itself."""
        return Path(self.path).expanduser()

    @property
    def named(self) -> str:
        """What people call it: the last part of its path."""
        return self.root.name or self.path

    def within(self, folder: str | Path) -> Source:
        """The same in another folder, where it is there and no longer at its path."""
        there = Path(folder).expanduser() / self.named
        return replace(self, path=str(there)) if there.exists() and not self.root.exists() else self

    def resolved(self) -> Source:
        """The same from wherever one looks."""
        return replace(self, path=str(self.root.resolve()))


def read_size(text: str) -> tuple[int, int]:
    """The rows and columns of `32x48`, or of `32` for a square.

    >>> read_size("32x48"), read_size("28")
    ((32, 48), (28, 28))
    """
    match = re.fullmatch(r"(\d{1,5})(?:[x×](\d{1,5}))?", text.strip().lower())
    if match is None:
        raise ValueError(f"size must be ROWSxCOLS such as 32x32, got size={text!r}")
    rows = int(match[1])
    return rows, rows if match[2] is None else int(match[2])
