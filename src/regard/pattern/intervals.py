"""Sets of positions as sorted intervals that neither touch nor overlap: union, intersection, difference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor


class Intervals(NamedTuple):
    """The positions lo ≤ x < hi of each, int64, in ascending order.

    >>> some = merged(torch.tensor([5, 0, 2]), torch.tensor([9, 2, 3]))
    >>> some.lo.tolist(), some.hi.tolist(), some.size
    ([0, 5], [3, 9], 7)
    """

    lo: Tensor
    hi: Tensor

    @property
    def size(self) -> int:
        """How many positions there are."""
        return int((self.hi - self.lo).sum())

    def positions(self) -> Tensor:
        """All of them, int64, ascending."""
        length = self.hi - self.lo
        which = torch.repeat_interleave(length)
        before = length.cumsum(0) - length
        return torch.arange(len(which)) + (self.lo - before)[which]

    def moved(self, by: int) -> Intervals:
        """All of them so far to the right."""
        return Intervals(self.lo + by, self.hi + by)

    def __and__(self, that: Intervals) -> Intervals:
        """What both have."""
        first = torch.searchsorted(that.hi, self.lo, right=True)  # the first of `that` that ends behind
        last = torch.searchsorted(that.lo, self.hi)  # and the first that begins too late
        times = (last - first).clamp(min=0)
        mine = torch.repeat_interleave(times)
        theirs = torch.arange(len(mine)) - (times.cumsum(0) - times - first)[mine]
        return Intervals(
            torch.maximum(self.lo[mine], that.lo[theirs]), torch.minimum(self.hi[mine], that.hi[theirs])
        )

    def __sub__(self, that: Intervals) -> Intervals:
        """What `that` does not have."""
        if not len(self.lo):
            return self
        start = torch.minimum(self.lo[:1], that.lo[:1]) if len(that.lo) else self.lo[:1]
        gaps = Intervals(torch.cat([start, that.hi]), torch.cat([that.lo, self.hi[-1:]]))
        real = gaps.hi > gaps.lo
        return self & Intervals(gaps.lo[real], gaps.hi[real])

    def below(self, x: Tensor) -> Tensor:
        """How many of the positions lie below each x."""
        length = self.hi - self.lo
        before = torch.cat([length.new_zeros(1), length.cumsum(0)])
        at = torch.searchsorted(self.lo, x)  # so many begin below x; the last may end above
        over = torch.where(at > 0, (self.hi[(at - 1).clamp(min=0)] - x).clamp(min=0), 0) if len(length) else 0
        return before[at] - over


NOTHING = Intervals(torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long))


def merged(lo: Tensor, hi: Tensor) -> Intervals:
    """The union of any intervals; empty ones are left out."""
    real = hi > lo
    lo, hi = lo[real], hi[real]
    if not len(lo):
        return NOTHING
    if bool((lo[1:] < lo[:-1]).any()):  # what is in order already needs one look
        lo, order = lo.sort()
        hi = hi[order]
    hi = hi.cummax(0).values
    new = torch.ones(len(lo), dtype=torch.bool)
    new[1:] = lo[1:] > hi[:-1]
    first = new.nonzero()[:, 0]
    last = torch.cat([first[1:] - 1, first.new_tensor([len(lo) - 1])])
    return Intervals(lo[first], hi[last])


def between(*bounds: tuple[int, int]) -> Intervals:
    """The union of intervals given as numbers.

    >>> between((3, 7), (0, 2), (7, 7)).positions().tolist()
    [0, 1, 3, 4, 5, 6]
    """
    both = torch.tensor(bounds, dtype=torch.long).view(-1, 2)
    return merged(both[:, 0], both[:, 1])


def stacked(parts: Sequence[Intervals], places: Sequence[int], apart: int) -> Intervals:
    """Several sets as one, each moved on by its place times `apart`; those of one place are united.

    >>> some = stacked([between((0, 2)), between((1, 3))], [1, 1], 10)
    >>> [x.positions().tolist() for x in unstacked(some, 2, 10)]
    [[], [0, 1, 2]]
    """
    moved = [one.moved(place * apart) for one, place in zip(parts, places, strict=True)]
    return merged(*(torch.cat([NOTHING[i], *(one[i] for one in moved)]) for i in (0, 1)))


def unstacked(found: Intervals, count: int, apart: int) -> list[Intervals]:
    """The sets of all places of what `stacked` made."""
    cuts = torch.searchsorted(found.lo, torch.arange(count + 1) * apart).tolist()
    return [
        Intervals(found.lo[a:b], found.hi[a:b]).moved(-place * apart)
        for place, (a, b) in enumerate(pairwise(cuts))
    ]
