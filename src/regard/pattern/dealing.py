"""Which positions of a sequence each rank holds: equal stretches, a zigzag, or stretches of equal work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from regard.errors import check_int
from regard.pattern import counting
from regard.pattern.intervals import Intervals, between
from regard.pattern.runs import Runs
from regard.pattern.work import Work

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
    def of_pairs(cls, tails: Tails, n: int, ranks: int) -> Deal:
        """Stretches of about equally many pairs, in order: unequal lengths."""
        (whole,), grain = tails.of([0]), max(1, n // (GRAINS * ranks))
        wanted = [whole * (ranks - rank) for rank in range(1, ranks)]
        low, high = [0] * len(wanted), [n // grain] * len(wanted)  # each bound lies between, in grains
        while low != high:  # all of them are looked for at once, so that all rows are counted together
            middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
            found = tails.of([at * grain for at in middle])
            for i, (at, tail) in enumerate(zip(middle, found, strict=True)):
                if low[i] < high[i]:
                    low[i], high[i] = (at + 1, high[i]) if tail * ranks > wanted[i] else (low[i], at)
        bounds = [min(n, at * grain) for at in low]
        return cls("pairs", ranks, (0, *bounds, n), tuple(range(ranks)))

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

    def pairs(self, tails: Tails) -> list[int]:
        """How many pairs each rank has to compute, over all the patterns."""
        found = tails.of(self.bounds)
        out = [0] * self.ranks
        for (from_first, from_last), holder in zip(pairwise(found), self.holders, strict=True):
            out[holder] += from_first - from_last
        return out


class Tails:
    """How many pairs the queries from some row on have, each row asked about once."""

    def __init__(self, patterns: Sequence[Pattern], n: int) -> None:
        self.patterns, self.n = patterns, n
        self.known = {n: 0}
        self.below: torch.Tensor | None = None  # of patterns that are counted by looking, at once
        if not all(atom.gives("spans") for one in patterns for atom in one.atoms()):
            rows = sum((one.row_pairs(n) for one in patterns), torch.zeros(n, dtype=torch.long))
            self.below = rows.flip(0).cumsum(0).flip(0)

    def of(self, rows: Sequence[int]) -> list[int]:
        """The numbers for some rows."""
        new = [row for row in dict.fromkeys(rows) if row not in self.known]
        if self.below is not None:
            self.known |= dict(zip(new, self.below[new].tolist(), strict=True))
        elif new:
            found = [counting.tails(one, new, self.n, Work.patient()) for one in self.patterns]
            self.known |= {row: sum(parts) for row, *parts in zip(new, *found, strict=True)}
        return [self.known[row] for row in rows]


def imbalance(counts: Sequence[int]) -> float:
    """The most of a rank, in times the mean; 1 where there is nothing to do."""
    total = sum(counts)
    return max(counts) * len(counts) / total if total else 1.0


def dealt(
    patterns: Sequence[Pattern],
    n: int,
    ranks: int,
    deal: str | Sequence[int] | Deal = "auto",
    tails: Tails | None = None,
) -> Deal:
    """How n positions are dealt to ranks for these patterns, which share one sequence.

    "even": equal stretches. "zigzag": two stretches a rank, one early and one late. "pairs": stretches of
    equally many pairs, so of unequal lengths. "auto": even where that is balanced, else a zigzag if that is
    better. Or the length of each rank's stretch. What is counted meanwhile can be kept in `tails`.
    """
    ranks = check_int("ranks", ranks, 1, MOST_RANKS)
    if isinstance(deal, str):
        if deal not in DEALS:
            raise ValueError(f"deal must be one of {', '.join(DEALS)} or a length for each rank, got {deal=}")
        tails = Tails(patterns, n) if tails is None else tails
        if deal == "pairs":
            return Deal.of_pairs(tails, n, ranks)
        even = Deal.even(n, ranks)
        if deal == "even" or ranks == 1:
            return even
        zigzag = Deal.zigzag(n, ranks)
        if deal == "zigzag":
            return zigzag
        tails.of(zigzag.bounds)  # and so of those of equal stretches, which are among them
        uneven = imbalance(even.pairs(tails))
        return zigzag if uneven > UNEVEN and imbalance(zigzag.pairs(tails)) < uneven else even
    found = deal if isinstance(deal, Deal) else Deal.of_lengths(deal)
    if (found.n, found.ranks) != (n, ranks):
        lengths = [sum(b - a for a, b in found.stretches(rank)) for rank in range(min(found.ranks, 8))]
        raise ValueError(
            f"deal must give n={n} positions to ranks={ranks}, got {found.n} positions for {found.ranks}: "
            f"{lengths}{'…' if found.ranks > 8 else ''}"
        )
    return found
