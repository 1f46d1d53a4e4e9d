"""What one value tells the counters about itself: key spans per row, and what decoding must keep."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

Positions = TypeVar("Positions", int, Tensor)  # one position or many; what is told of them is as many bools


@dataclass(frozen=True)
class EveryStep:
    """The keys at distances divisible by `step`."""

    step: int


@dataclass(frozen=True)
class BlockTail:
    """The keys with `k % period >= first`."""

    period: int
    first: int


Thinning = EveryStep | BlockTail


@dataclass(frozen=True)
class Span:
    """Keys `lo <= k < hi` of each row, thinned to a residue class of the distance or of the key.

    `lo` and `hi` hold one number per row. With `step` only keys at distances divisible by it count;
    with `tail = (period, first)` only keys with `k % period >= first`. Never both.
    """

    lo: Tensor
    hi: Tensor
    step: int = 1
    tail: tuple[int, int] | None = None

    @property
    def thinning(self) -> Thinning | None:
        """Which keys of the span are left (None: all)."""
        if self.tail is not None:
            return BlockTail(*self.tail)
        return EveryStep(self.step) if self.step > 1 else None


@dataclass(frozen=True)
class CacheBound:
    """An upper bound on the keys a decoder must keep: the latest, the first, and any others."""

    recent: int = 0
    first: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """How many keys that is."""
        return self.recent + self.first + self.other

    def either(self, that: "CacheBound") -> "CacheBound":
        """Enough for both: the latest r contain the latest r' <= r, so those do not add up."""
        return CacheBound(max(self.recent, that.recent), max(self.first, that.first), self.other + that.other)


def bound_of_all(bounds: Iterable[CacheBound | None]) -> CacheBound | None:
    """Of an intersection: it lies inside each part, so the smallest bound holds."""
    known = [bound for bound in bounds if bound is not None]
    return min(known, key=lambda bound: bound.total, default=None)


def bound_of_any(bounds: Iterable[CacheBound | None]) -> CacheBound | None:
    """Of a union: enough for every part."""
    out = CacheBound()
    for bound in bounds:
        if bound is None:
            return None
        out = out.either(bound)
    return out
