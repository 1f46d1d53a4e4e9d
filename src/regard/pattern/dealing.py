"""Which positions of a sequence each rank holds: equal stretches, a zigzag, or stretches of equal work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from regard.errors import check_int
from regard.pattern.intervals import Intervals, between
from regard.pattern.runs import Runs

if TYPE_CHECKING:
    from regard.pattern.base import Pattern  # for its type alone: a pattern is dealt out by its exchange

DEALS = ("auto", "even", "zigzag", "pairs")
UNEVEN = 1.1  # times the mean, the most pairs of a rank up to which equal stretches are good enough
GRAINS = 256  # of a rank's share: how finely stretches of equal work are cut
MOST_RANKS = 1 << 16


@dataclass(frozen=True)
class Deal:
    """The stretches of positions between `bounds`, and the rank that holds each of them.

    >>> [str(Deal.even(10, 3).held(rank)) for rank in range(3)]
    ['0…2', '3…5', '6…9']
    >>> [str(Deal.zigzag(8, 2).held(rank)) for rank in range(2)]
    ['0…1; 6…7', '2…5']
    """

    name: str
    ranks: int
    bounds: tuple[int, ...]
    holders: tuple[int, ...]

    @property
    def n(self) -> int:
        """How many positions there are."""
        return self.bounds[-1]

    @classmethod
    def even(cls, n: int, ranks: int) -> Deal:
        """Stretches that differ by one position at most, in order."""
        return cls("even", ranks, tuple(i * n // ranks for i in range(ranks + 1)), tuple(range(ranks)))

    @classmethod
    def zigzag(cls, n: int, ranks: int) -> Deal:
        """Twice as many stretches, the first and the last for rank 0: what looks back is balanced."""
        bounds = tuple(i * n // (2 * ranks) for i in range(2 * ranks + 1))
        return cls("zigzag", ranks, bounds, (*range(ranks), *range(ranks - 1, -1, -1)))

    @classmethod
    def of_lengths(cls, lengths: Sequence[int], name: str = "given") -> Deal:
        """A stretch of each length, in order; a rank may have none."""
        bounds = [0]
        for i, length in enumerate(lengths):
            bounds.append(bounds[-1] + check_int(f"deal[{i}]", length, 0))
        return cls(name, len(lengths), tuple(bounds), tuple(range(len(lengths))))

    @classmethod
    def of_pairs(cls, patterns: Sequence[Pattern], n: int, ranks: int) -> Deal:
        """Stretches of about equally many pairs, in order: unequal lengths."""
        from_row = _Tails(patterns, n)
        whole, grain = from_row(0), max(1, n // (GRAINS * ranks))
        bounds = [0]
        for rank in range(1, ranks):
            low, high = bounds[-1] // grain, n // grain  # the wanted row lies between, in grains
            wanted = whole * (ranks - rank)
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if from_row(middle * grain) * ranks > wanted else (low, middle)
            bounds.append(min(n, low * grain))
        return cls("pairs", ranks, (*bounds, n), tuple(range(ranks)))

    def stretches(self, rank: int) -> list[tuple[int, int]]:
        """Where the stretches of a rank begin and end, in order."""
        whose = zip(pairwise(self.bounds), self.holders, strict=True)
        return [stretch for stretch, holder in whose if holder == rank]

    def held(self, rank: int) -> Runs:
        """The positions of a rank."""
        return Runs.of(self.intervals(rank))

    def intervals(self, rank: int) -> Intervals:
        """The same as intervals."""
        return between(*self.stretches(rank))

    def pairs(self, patterns: Sequence[Pattern]) -> list[int]:
        """How many pairs each rank has to compute, over all the patterns."""
        from_row = _Tails(patterns, self.n)
        out = [0] * self.ranks
        for (first, last), holder in zip(pairwise(self.bounds), self.holders, strict=True):
            out[holder] += from_row(first) - from_row(last)
        return out


class _Tails:
    """How many pairs the queries from some row on have, each row asked about once."""

    def __init__(self, patterns: Sequence[Pattern], n: int) -> None:
        self.patterns, self.n = patterns, n
        self.known = {n: 0}
        self.below: torch.Tensor | None = None  # of patterns that are counted by looking, at once
        if not all(atom.gives("spans") for one in patterns for atom in one.atoms()):
            rows = sum((one.row_pairs(n) for one in patterns), torch.zeros(n, dtype=torch.long))
            self.below = rows.flip(0).cumsum(0).flip(0)

    def __call__(self, row: int) -> int:
        if row not in self.known:
            if self.below is not None:
                self.known[row] = int(self.below[row])
            else:
                self.known[row] = sum(one.pairs(self.n - row, self.n) for one in self.patterns)
        return self.known[row]


def imbalance(counts: Sequence[int]) -> float:
    """The most of a rank, in times the mean; 1 where there is nothing to do."""
    total = sum(counts)
    return max(counts) * len(counts) / total if total else 1.0


def dealt(patterns: Sequence[Pattern], n: int, ranks: int, deal: str | Sequence[int] | Deal = "auto") -> Deal:
    """How n positions are dealt to ranks for these patterns, which share one sequence.

    "even": equal stretches. "zigzag": two stretches a rank, one early and one late. "pairs": stretches of
    equally many pairs, so of unequal lengths. "auto": even where that is balanced, else a zigzag if that is
    better. Or the length of each rank's stretch.
    """
    ranks = check_int("ranks", ranks, 1, MOST_RANKS)
    if isinstance(deal, str):
        if deal not in DEALS:
            raise ValueError(f"deal must be one of {', '.join(DEALS)} or a length for each rank, got {deal=}")
        if deal == "pairs":
            return Deal.of_pairs(patterns, n, ranks)
        even = Deal.even(n, ranks)
        if deal == "even" or ranks == 1:
            return even
        zigzag = Deal.zigzag(n, ranks)
        if deal == "zigzag":
            return zigzag
        uneven = imbalance(even.pairs(patterns))
        return zigzag if uneven > UNEVEN and imbalance(zigzag.pairs(patterns)) < uneven else even
    found = deal if isinstance(deal, Deal) else Deal.of_lengths(deal)
    if (found.n, found.ranks) != (n, ranks):
        lengths = [sum(b - a for a, b in found.stretches(rank)) for rank in range(min(found.ranks, 8))]
        raise ValueError(
            f"deal must give n={n} positions to ranks={ranks}, got {found.n} positions for {found.ranks}: "
            f"{lengths}{'…' if found.ranks > 8 else ''}"
        )
    return found
