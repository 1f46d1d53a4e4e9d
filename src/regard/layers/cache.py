"""Keys and values of the past in slots of fixed memory: as many as the pattern can still reach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import check_int
from regard.layers.slots import Layout, layout_of
from regard.pattern import Pattern

SHORTEST = 64  # slots that an unbounded cache starts with; it doubles when they are full


@dataclass(frozen=True)
class CachedKeys:
    """What the newest queries attend to; `positions` (M,) is None where the keys stand at 0 … M − 1.

    A position of −1 is a slot that holds nothing yet.
    """

    key: Tensor
    value: Tensor
    segments: Tensor | None
    positions: Tensor | None = None
    queries: Tensor | None = None  # N, where positions are given: those of the newest
    own: Tensor | None = None  # B N, the segments of the newest


class LayerPast(ABC):
    """The past of one layer, of whatever kind, up to `capacity` positions."""

    def __init__(self, capacity: int) -> None:
        check_int("capacity", capacity, 1)
        self.capacity, self.length, self.segmented = capacity, 0, False

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The bytes of what is held."""

    def admit(self, count: int, segments: Tensor | None, layer: object) -> int:
        """Where so many further positions of a layer end, or a ValueError where they cannot be taken in."""
        stop = self.length + count
        if stop > self.capacity:
            raise ValueError(f"the cache of {layer} ends at {self.capacity} positions, got {stop}")
        if self.length and self.segmented != (segments is not None):
            raise ValueError("segments must be given at every step of a cache or at none")
        self.segmented = segments is not None
        return stop


class LayerCache(LayerPast):
    """The past of one attention layer: a new key is written over one that nobody can see any more.

    >>> from regard.pattern import Strided
    >>> cache = LayerCache(Strided(back=2), capacity=100)
    >>> for _ in range(10):
    ...     seen = cache.extend(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))
    >>> cache.length, cache.held, cache.key.shape
    (10, 3, torch.Size([1, 1, 3, 4]))
    """

    def __init__(self, pattern: Pattern, capacity: int, layout: Layout | None = None) -> None:
        super().__init__(capacity)
        self.pattern = pattern
        self.bounded = pattern.keys_kept() is not None  # the pattern lets old keys go
        totals = [atom.total for atom in pattern.atoms() if atom.total is not None]
        self.total = min(totals, default=None)  # no position past it has a meaning
        self.capacity = min(capacity, *totals) if totals else capacity
        self.layout = layout or layout_of(pattern, capacity if self.bounded else self._room(1))
        self.key: Tensor | None = None  # B G S D, S the slots
        self.value: Tensor | None = None
        self.segments: Tensor | None = None

    @property
    def held(self) -> int:
        """How many keys are held."""
        return int((self._held() >= 0).sum()) if self.length else 0

    @property
    def nbytes(self) -> int:
        """The bytes of the keys and values held."""
        if self.key is None or self.value is None:
            return 0
        return sum(x[:, :, :1].nbytes for x in (self.key, self.value)) * self.held

    def extend(self, key: Tensor, value: Tensor, segments: Tensor | None = None) -> CachedKeys:
        """Take in the next keys (B,G,N,D), values and segments (B,N); give what their queries may need."""
        start, stop = self.length, self.admit(key.shape[2], segments, self.pattern)
        slots = self._reserve(key, value, segments, stop)
        new = (key, value, segments)
        seen = None if key.shape[2] == 1 else self._before(slots, new)
        self.length = stop
        self._write(slots, new, start)
        if seen is not None:
            return seen
        if self.layout.plain and stop <= self.layout.size:
            return _seen([None if x is None else _rows(x, stop) for x in slots])
        return _seen(slots, self._held(), torch.tensor([start]), segments)

    def _held(self) -> Tensor:
        return self.layout.held(torch.tensor([self.length - 1]))[0]  # S

    def _room(self, stop: int) -> int:
        # In powers of two, so that a cache of unknown length is copied a handful of times.
        return min(self.capacity, max(SHORTEST, 1 << (stop - 1).bit_length()))

    def _reserve(self, key: Tensor, value: Tensor, segments: Tensor | None, stop: int) -> list[Tensor | None]:
        grows = not self.bounded and stop > self.layout.size
        if self.key is None or grows:
            old = (self.key, self.value, self.segments)
            if grows:
                self.layout = layout_of(self.pattern, self._room(stop))
            S = self.layout.size
            made = [
                None if x is None else x.new_zeros(*x.shape[: x.ndim // 2], S, *x.shape[x.ndim // 2 + 1 :])
                for x in (key, value, segments)
            ]
            for new, was in zip(made, old, strict=True):
                if new is not None and was is not None:
                    _rows(new, self.length).copy_(_rows(was, self.length))
            self.key, self.value, self.segments = made
        return [self.key, self.value, self.segments]

    def _before(self, slots: list[Tensor | None], new: tuple[Tensor | None, ...]) -> CachedKeys:
        """Several queries: the early ones may see what the later keys are about to replace."""
        if self.length == 0 and self.total is None:
            return _seen(list(new))
        assert new[0] is not None
        queries = torch.arange(self.length, self.length + new[0].shape[2])
        if self.length == 0:
            return _seen(list(new), queries, queries, new[2])
        both = [
            None if a is None or b is None else torch.cat([a, b], dim=a.ndim // 2)
            for a, b in zip(slots, new, strict=True)
        ]
        return _seen(both, torch.cat([self._held(), queries]), queries, new[2])

    def _write(self, slots: list[Tensor | None], new: tuple[Tensor | None, ...], start: int) -> None:
        held = self._held()
        into = (held >= start).nonzero()[:, 0]  # each slot at most once: the last that falls into it
        source = held[into] - start
        for x, fresh in zip(slots, new, strict=True):
            if x is not None and fresh is not None:
                axis = x.ndim // 2  # B G S D, or B S
                chosen = fresh.index_select(axis, source.to(x.device))
                x.index_copy_(axis, into.to(x.device), chosen)


class Cache:
    """The past of a whole model, layer by layer.

    >>> from regard.pattern import Strided
    >>> cache = Cache([LayerCache(Strided(back=back), capacity=64) for back in (1, 3)])
    >>> cache.length, cache.nbytes
    (0, 0)
    """

    def __init__(self, layers: Sequence[LayerPast]) -> None:
        self.layers = list(layers)

    @property
    def length(self) -> int:
        """How many positions went in."""
        return self.layers[0].length if self.layers else 0

    @property
    def nbytes(self) -> int:
        """The bytes of all keys, values and states held."""
        return sum(layer.nbytes for layer in self.layers)


def _rows(x: Tensor, stop: int) -> Tensor:
    return x.narrow(x.ndim // 2, 0, stop)


def _seen(
    parts: list[Tensor | None],
    positions: Tensor | None = None,
    queries: Tensor | None = None,
    own: Tensor | None = None,
) -> CachedKeys:
    key, value, segments = parts
    assert key is not None
    assert value is not None
    if positions is None or queries is None:
        return CachedKeys(key, value, segments)
    return CachedKeys(key, value, segments, positions.to(key.device), queries.to(key.device), own)
