"""Keys and values that stay on the rank that made them, while others are written on other ranks."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.pattern import Pattern

SPARE = 32  # rows of room beyond what is held, and an eighth of it


class HeldKeys:
    """What one rank holds of the past of one layer; keys that nobody can see any more are let go.

    >>> from regard.pattern import Strided
    >>> held = HeldKeys(Strided(back=2))
    >>> for at in range(0, 1000, 2):  # the odd ones lie on another rank
    ...     held.keep(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4), torch.tensor([at]), at)
    >>> held.positions[-2:].tolist(), len(held.positions) < 40
    ([996, 998], True)
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern, self.count = pattern, 0
        self._room: tuple[Tensor, Tensor] | None = None  # B G R D and B G R E
        self._at = torch.zeros(0, dtype=torch.long)

    @property
    def positions(self) -> Tensor:
        """Where the keys stand in the sequence: int64 (M,), ascending."""
        return self._at[: self.count]

    @property
    def nbytes(self) -> int:
        """The bytes of the keys and values held."""
        return 0 if self._room is None else sum(x[:, :, : self.count].nbytes for x in self._room)

    def keep(self, key: Tensor, value: Tensor, positions: Tensor, following: int) -> None:
        """Take in keys (B,G,N,D) and values (B,G,N,E) for queries from position `following` on.

        They stand behind all that are held.
        """
        rows = self._useful(positions, following)
        if len(rows) < len(positions):
            here = rows.to(key.device)
            key, value, positions = key.index_select(2, here), value.index_select(2, here), positions[rows]
        stop = self.count + len(rows)
        if self._room is None or stop > len(self._at):
            self._let_go(following)
            stop = self.count + len(rows)
            if self._room is None or 8 * stop > 7 * len(self._at):
                self._grow((key, value), stop + stop // 8 + SPARE)
        assert self._room is not None
        for x, new in zip(self._room, (key, value), strict=True):
            x[:, :, self.count : stop] = new.detach()
        self._at[self.count : stop] = positions
        self.count = stop

    def seen(self, at: int) -> tuple[Tensor, Tensor, Tensor]:
        """The keys, values and positions that the query at this position may look at."""
        assert self._room is not None
        key, value = (x[:, :, : self.count] for x in self._room)
        allowed = self.pattern.allows(torch.tensor(at), self.positions).expand(self.count)
        if bool(allowed.all()):
            return key, value, self.positions
        rows = allowed.nonzero()[:, 0]
        here = rows.to(key.device)
        return key.index_select(2, here), value.index_select(2, here), self.positions[rows]

    def _useful(self, at: Tensor, following: int) -> Tensor:
        """The indices of those positions that some query from `following` on may see, or a few more."""
        bound = self.pattern.kept()
        if bound is None or bound.other:
            return torch.arange(len(at))
        return ((at < bound.first) | (at > following - bound.recent)).nonzero()[:, 0]

    def _let_go(self, following: int) -> None:
        rows = self._useful(self.positions, following)
        if self._room is None or len(rows) == self.count:
            return
        for x in self._room:
            x[:, :, : len(rows)] = x.index_select(2, rows.to(x.device))
        self._at[: len(rows)] = self.positions[rows]
        self.count = len(rows)

    def _grow(self, like: tuple[Tensor, Tensor], size: int) -> None:
        room = tuple(x.new_empty(*x.shape[:2], size, x.shape[3]) for x in like)
        at = torch.zeros(size, dtype=torch.long)
        if self._room is not None:
            for new, old in zip(room, self._room, strict=True):
                new[:, :, : self.count] = old[:, :, : self.count]
            at[: self.count] = self.positions
        self._room, self._at = (room[0], room[1]), at
