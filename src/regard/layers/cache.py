"""Keys and values of the past, of which only those are held that the pattern can still reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.errors import check_int
from regard.pattern import Pattern


@dataclass(frozen=True, eq=False)
class Placed(Pattern):
    """A pattern on rows that stand at positions of their own, one per key; queries are the last rows."""

    pattern: Pattern
    positions: Tensor  # M, on the device of the attention

    def allows(self, q: Any, k: Any) -> Any:
        """Whether the pattern allows the pair at the rows' positions."""
        return self.pattern.allows(self.positions[q], self.positions[k])

    def atoms(self) -> list[Any]:
        """None, because nothing here depends on how many rows there are."""
        return []


@dataclass(frozen=True)
class Seen:
    """What the newest queries attend to; `positions` (M,) is None where the keys stand at 0 … M − 1."""

    key: Tensor
    value: Tensor
    segments: Tensor | None
    pattern: Pattern
    positions: Tensor | None


class LayerCache:
    """The past of one attention layer.

    >>> from regard.pattern import Strided
    >>> cache = LayerCache(Strided(back=2), capacity=100)
    >>> for _ in range(10):
    ...     seen = cache.extend(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))
    >>> cache.length, cache.held
    (10, 3)
    """

    def __init__(self, pattern: Pattern, capacity: int) -> None:
        check_int("capacity", capacity, 1)
        self.pattern, self.capacity = pattern, capacity
        self.length = 0
        totals = [atom.total for atom in pattern.atoms() if atom.total is not None]
        self.total = min(totals, default=None)  # no position past it has a meaning
        self.keep = None if pattern.keys_kept() is None else _Keep(pattern, self.total)
        self.key: Tensor | None = None  # B G M D, M the keys held; the whole capacity where none is dropped
        self.value: Tensor | None = None
        self.segments: Tensor | None = None
        self.positions = torch.arange(0)  # of the keys held, on the CPU

    @property
    def bounded(self) -> bool:
        """Whether the pattern lets old keys go."""
        return self.keep is not None

    @property
    def held(self) -> int:
        """How many keys are held."""
        return self.length if self.keep is None else len(self.positions)

    @property
    def nbytes(self) -> int:
        """The bytes of the keys and values held."""
        if self.key is None or self.value is None:
            return 0
        row = sum(x[:, :, :1].nbytes for x in (self.key, self.value))
        return row * self.held

    def extend(self, key: Tensor, value: Tensor, segments: Tensor | None = None) -> Seen:
        """Take in the next keys (B,G,N,D), values and segments (B,N); give what their queries may need."""
        stop = self.length + key.shape[2]
        most = self.capacity if self.total is None else min(self.capacity, self.total)
        if stop > most:
            raise ValueError(f"the cache of {self.pattern} ends at {most} positions, got {stop}")
        if self.length and (segments is None) != (self.segments is None):
            raise ValueError("segments must be given at every step of a cache or at none")
        if self.segments is not None and segments is not None:
            segments = torch.cat([self.segments, segments], dim=1)
        if self.keep is None:
            seen = self._fill(key, value, segments, stop)
        else:
            seen = self._select(key, value, segments, stop, self.keep)
        self.length = stop
        return seen

    def _fill(self, key: Tensor, value: Tensor, segments: Tensor | None, stop: int) -> Seen:
        if self.key is None or self.value is None:
            self.key = key.new_empty(*key.shape[:2], self.capacity, key.shape[3])
            self.value = value.new_empty(*value.shape[:2], self.capacity, value.shape[3])
        self.key[:, :, self.length : stop] = key
        self.value[:, :, self.length : stop] = value
        self.segments = segments
        return Seen(self.key[:, :, :stop], self.value[:, :, :stop], segments, self.pattern, None)

    def _select(self, key: Tensor, value: Tensor, segments: Tensor | None, stop: int, keep: _Keep) -> Seen:
        positions = torch.cat([self.positions, torch.arange(self.length, stop)])
        if self.key is not None and self.value is not None:
            key = torch.cat([self.key, key], dim=2)
            value = torch.cat([self.value, value], dim=2)
        natural = self.total is None and len(positions) == stop  # nothing is missing, no geometry to outgrow
        at = None if natural else positions.to(key.device)
        seen = Seen(key, value, segments, self.pattern if at is None else Placed(self.pattern, at), at)
        alive = keep(positions, stop).nonzero()[:, 0]
        where = alive.to(key.device)
        self.key, self.value = key.index_select(2, where), value.index_select(2, where)
        self.segments = None if segments is None else segments.index_select(1, where)
        self.positions = positions[alive]
        return seen


class Cache:
    """The past of a whole model, one `LayerCache` per pattern.

    >>> from regard.pattern import Causal, Strided
    >>> cache = Cache([Strided(back=3), Causal()], capacity=64)
    >>> [layer.bounded for layer in cache.layers]
    [True, False]
    """

    def __init__(self, patterns: Sequence[Pattern], capacity: int) -> None:
        self.layers = [LayerCache(pattern, capacity) for pattern in patterns]

    @property
    def length(self) -> int:
        """How many positions went in."""
        return self.layers[0].length if self.layers else 0

    @property
    def nbytes(self) -> int:
        """The bytes of all keys and values held."""
        return sum(layer.nbytes for layer in self.layers)


class _Keep:
    """Which positions the query at `stop` − 1 or a later one may see: `keys_kept` of them at most."""

    def __init__(self, pattern: Pattern, total: int | None) -> None:
        kept = pattern.kept()
        self.recent, self.first = (0, 0) if kept is None else (kept.recent, kept.first)
        self.last_seen: Tensor | None = None
        if kept is None or kept.other:
            # Neither the latest nor the first: a geometry, whose length is fixed, so its table is small.
            assert total is not None
            queries = torch.arange(total)
            self.last_seen = torch.stack(
                [((queries + 1) * pattern.allows(queries, k)).amax() - 1 for k in queries]
            )

    def __call__(self, positions: Tensor, stop: int) -> Tensor:
        if self.last_seen is not None:
            return self.last_seen[positions] >= stop - 1
        return (positions < self.first) | (positions >= stop - self.recent)
