"""The past of a layer whose sequence lies on several ranks: what this rank made of it."""

from __future__ import annotations

from regard.layers.cache import LayerPast
from regard.parallel import HeldKeys
from regard.pattern import Pattern


class RankPast(LayerPast):
    """Keys and values that stay on this rank, in one layer; `regard.parallel.Turn` asks for them."""

    def __init__(self, pattern: Pattern, capacity: int) -> None:
        super().__init__(capacity)
        self.keys = HeldKeys(pattern)

    @property
    def nbytes(self) -> int:
        """The bytes of the keys and values held here."""
        return self.keys.nbytes
