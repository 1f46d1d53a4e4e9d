"""What one rank does by a plan: which rows it sends, what it receives, and which of its queries meet what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from regard.pattern import Exchange, Pattern
from regard.pattern.between import between, rows_that_see
from regard.pattern.intervals import Intervals
from regard.pattern.needs import needed
from regard.pattern.runs import Runs


@dataclass(frozen=True)
class KeyRow:
    """A row of keys that some queries meet, its own or received; the pattern is in their own numbers."""

    keys: slice  # of a rank's own keys, or of the received ones in ascending order
    pattern: Pattern
    apart: bool  # whether the queries are not the last keys of an unbroken row: distances differ


@dataclass(frozen=True)
class Part:
    """Queries of a rank that lie in a row, and what they meet at once and after the exchange."""

    rows: slice  # of the rank's queries
    own: KeyRow | None
    later: KeyRow | None


@dataclass(frozen=True, eq=False)
class RankWork:
    """The part of one rank in an exchange; indices are into its own positions in ascending order."""

    n: int  # positions of the whole sequence
    positions: Tensor  # int64, those that it holds
    foreign: Tensor  # int64, those of the keys that it receives
    sends: dict[int, Tensor]  # to each rank that needs some, the indices of the keys
    receives: dict[int, int]  # from each rank that has some, how many
    order: Tensor | None  # from the order of arrival, rank by rank, to ascending positions (None: is so)
    parts: tuple[Part, ...]  # all its queries, in order


@lru_cache(maxsize=256)
def work_of(plan: Exchange, rank: int) -> RankWork:
    """What a rank does by a plan; kept for the next call."""
    held, foreign = plan.deal.intervals(rank), plan.needed[rank].intervals()
    sends, sources = {}, {}
    for other in range(plan.ranks):
        if other == rank:
            continue
        theirs = plan.deal.intervals(other)
        if (given := plan.needed[other] & held).size:
            sends[other] = held.below(given.positions())
        if (taken := foreign & theirs).size:
            sources[other] = taken.positions()
    arriving = torch.cat([torch.zeros(0, dtype=torch.long), *sources.values()])
    order = arriving.argsort()
    sorted_ = torch.equal(order, torch.arange(len(order)))
    return RankWork(
        plan.n,
        held.positions(),
        foreign.positions(),
        sends,
        {source: len(at) for source, at in sources.items()},
        None if sorted_ else order,
        tuple(_parts(plan, held, foreign)),
    )


def _parts(plan: Exchange, held: Intervals, foreign: Intervals) -> Iterator[Part]:
    """Each stretch of queries, cut where some begin or cease to need keys of others."""
    at = 0
    for a, b in zip(held.lo.tolist(), held.hi.tolist(), strict=True):
        seen = needed(plan.pattern, [a, b], plan.n)[0] & foreign
        x, y = rows_that_see(plan.pattern, a, b, seen, plan.n) if seen.size else (a, a)
        for first, last in ((a, x), (x, y), (y, b)):
            if last > first:
                later = _row(plan, first, last, foreign) if first == x else None
                rows = slice(at + first - a, at + last - a)
                yield Part(rows, _row(plan, first, last, held), later)
        at += b - a


def _row(plan: Exchange, first: int, last: int, keys: Intervals) -> KeyRow | None:
    """The shortest row of these keys that has all that the queries see; None where they see none of them."""
    seen = needed(plan.pattern, [first, last], plan.n)[0] & keys
    if not seen.size:
        return None
    low, high = seen.lo[:1], seen.hi[-1:]
    some = keys & Intervals(low, high)
    pattern = between(plan.pattern, first, last, Runs.of(some), plan.n)
    assert pattern is not None
    unbroken = len(some.lo) == 1 and int(some.hi[0]) == last
    return KeyRow(slice(int(keys.below(low)), int(keys.below(high))), pattern, apart=not unbroken)
