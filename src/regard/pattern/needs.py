"""Which keys the queries of a stretch of rows need, all together: found from the spans, not from the mask.

Rows are cut into stretches in which each end of a span stands still or goes along with the query. A segment
between two ends then sweeps one interval of keys, from where it begins in the first row to where it ends in
the last. Where residue classes decide, so do the distances that they allow: see `_at_distances`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from math import lcm
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern import looking
from regard.pattern.intervals import NOTHING, Intervals, merged, unstacked
from regard.pattern.residues import State
from regard.pattern.spans import BlockTail, Thinning
from regard.pattern.stretches import StretchCuts, turns, where_it_stands
from regard.pattern.work import TooMuchError, Work

if TYPE_CHECKING:
    from regard.pattern.base import Pattern

CHUNK = 1 << 15  # rows at a time, where each is a stretch of its own
MOST_TAILS = 4  # kinds of key classes that are told apart
LISTED = 1 << 21  # intervals made at a time
PER_INTERVAL = 200  # steps of work for each


def needed(pattern: Pattern, bounds: list[int], m: int) -> list[Intervals]:
    """For each stretch of rows bounds[i] ≤ q < bounds[i + 1] the keys in [0, m) that some of them see.

    >>> from regard.pattern import Strided
    >>> [keys.positions().tolist() for keys in needed(Strided(back=2), [0, 1, 4], 4)]
    [[0], [0, 1, 2, 3]]
    """
    if m == 0:
        return [NOTHING] * (len(bounds) - 1)
    spans = all(atom.gives("spans") for atom in pattern.atoms())
    if not spans and not pattern.by_distance:
        return _looked(pattern, bounds, m)
    try:
        if not spans:
            found = _by_distance(pattern, bounds, m)
        else:
            found = _Needs(pattern, m, Work.patient()).keys(bounds)
    except TooMuchError:
        try:
            return _looked(pattern, bounds, m)
        except ValueError:
            raise ValueError(
                f"{pattern} at n={m} takes too long to plan: "
                f"the residues of {len(pattern.atoms())} values leave too many cases"
            ) from None
    return unstacked(found, len(bounds) - 1, m + 2)


def _looked(pattern: Pattern, bounds: list[int], m: int) -> list[Intervals]:
    """The same by looking at every pair."""
    looking.check_cells(pattern, (bounds[-1] - bounds[0]) * m)
    out, k = [], torch.arange(m)
    for first, last in pairwise(bounds):
        seen = torch.zeros(m, dtype=torch.bool)
        for q in torch.arange(first, last).split(max(1, looking.CELLS // max(m, 1))):
            seen |= looking.seen(pattern, q, k).any(0)
        at = seen.nonzero()[:, 0]
        out.append(merged(at, at + 1))
    return out


def _by_distance(pattern: Pattern, bounds: list[int], m: int) -> Intervals:
    """The same where q − k alone decides, by looking at every distance."""
    looking.check_cells(pattern, 2 * m)
    distances = torch.arange(1 - m, m)
    at = distances[pattern.allows(distances, torch.tensor(0))]
    seen = merged(at, at + 1)
    first, last = (torch.tensor(ends)[:, None] for ends in (bounds[:-1], bounds[1:]))
    lo, hi = (first - seen.hi + 1).clamp(min=0), (last - seen.lo).clamp(max=m)
    real, shift = last > first, torch.arange(len(bounds) - 1)[:, None] * (m + 2)
    return merged(((lo + shift) * real).flatten(), ((hi.maximum(lo) + shift) * real).flatten())


@dataclass(frozen=True)
class _Sweeps:
    """Segments of one state: what they belong to, their rows, and where their ends stand and go."""

    shift: Tensor  # added to their keys
    first: Tensor  # row
    rows: Tensor  # how many
    lo: Tensor
    hi: Tensor
    lo_moves: Tensor
    hi_moves: Tensor

    def take(self, chosen: Tensor) -> _Sweeps:
        """Some of them."""
        return _Sweeps(*(x[chosen] for x in vars(self).values()))

    def swept(self) -> tuple[Tensor, Tensor]:
        """All keys that a segment covers in one of its rows."""
        return self.lo, self.hi + (self.rows - 1) * self.hi_moves


class _Needs:
    """The keys that rows of one pattern need of [0, m)."""

    def __init__(self, pattern: Pattern, m: int, work: Work) -> None:
        self.pattern, self.m, self.work = pattern, m, work
        if all(turns(atom) is not None for atom in pattern.atoms()):
            self.cuts = StretchCuts(pattern, m, work)
        else:
            self.cuts = _EveryRow(pattern, m, work)

    def keys(self, bounds: list[int]) -> Intervals:
        """The keys of all stretches of rows, those of the i-th moved on by i·(m + 2)."""
        edges = torch.tensor(bounds)
        out = NOTHING
        for low, high in self._parts(bounds[0], bounds[-1]):
            first, rows = self.cuts.stretches(low, high, edges)
            shift = (torch.searchsorted(edges, first, right=True) - 1) * (self.m + 2)
            found = [out, *self._of_stretches(shift, first, rows)]
            out = merged(torch.cat([one.lo for one in found]), torch.cat([one.hi for one in found]))
        return out

    def _parts(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        try:
            yield from self.cuts.parts(start, stop)
        except TooMuchError:  # as many turns as rows, nearly
            self.cuts = _EveryRow(self.pattern, self.m, self.work)
            yield from self.cuts.parts(start, stop)

    def _of_stretches(self, shift: Tensor, first: Tensor, rows: Tensor) -> Iterator[Intervals]:
        for lo, hi, state in self.cuts.segments(first, rows):
            begin, begin_moves = where_it_stands(rows, lo)
            end, end_moves = where_it_stands(rows, hi)
            some = _Sweeps(shift, first, rows, begin, end, begin_moves.long(), end_moves.long())
            longest = torch.maximum(end - begin, end - begin + (rows - 1) * (some.hi_moves - some.lo_moves))
            states = self.cuts.states
            whole = (states.whole.gather(0, state) == 1) & (longest > 0)
            a, b = some.take(whole).swept()
            yield merged(a + shift[whole], b + shift[whole])
            for index in states.open:
                chosen = (state == index) & (longest > 0)
                if bool(chosen.any()):
                    yield from self._thinned(states.states[index], some.take(chosen))

    def _thinned(self, state: State, some: _Sweeps) -> Iterator[Intervals]:
        """What segments need in which residue classes decide, for each kind of keys."""
        if len(state.tails) > MOST_TAILS:
            raise TooMuchError
        steps = min(lcm(*(one.step for one in state.steps)), 2 * self.m)
        self.work.spend(16 * steps << len(state.tails), held=steps)
        residue = torch.arange(steps)
        if steps == 2 * self.m:  # then distances are told apart as they are, from −m on
            residue -= self.m
        for holds in product((False, True), repeat=len(state.tails)):
            kinds = dict(zip(state.tails, holds, strict=True))
            classes: dict[Thinning, Tensor] = {tail: torch.tensor(held) for tail, held in kinds.items()}
            classes |= {one: residue % one.step == 0 for one in state.steps}
            allowed = state.seen(classes).expand(steps)
            found = self._at_distances(allowed, some)
            if state.tails:
                found = self._of_kind(kinds, found)
            yield found

    def _at_distances(self, allowed: Tensor, some: _Sweeps) -> Intervals:
        """The keys at allowed distances (by their residue) from the rows of each segment.

        Row q0 + t sees a key k at distance d = q0 + t − k. A segment that begins at lo and ends before hi in
        its first row holds the distances from q0 − hi + 1 on, up to q0 − lo where its beginning goes along
        and up to the last row's where not; one distance d then needs the keys q0 − d … q0 − d + rows − 1, of
        those that the segment covers at all.
        """
        if not bool(allowed.any()):
            return NOTHING
        period, origin = len(allowed), -self.m if len(allowed) == 2 * self.m else 0
        least = some.first - some.hi + 1 - origin
        most = some.first - some.lo + (some.rows - 1) * (1 - some.lo_moves) - origin
        at = allowed.nonzero()[:, 0]
        runs = merged(at, at + 1)
        wide = some.rows >= period  # each residue comes up: everything in between
        pieces = [NOTHING]
        if bool(wide.any()):
            pieces.append(self._between_ends(allowed, least[wide], most[wide], some.take(wide), origin))
        few, least, most = some.take(~wide), least[~wide], most[~wide]
        for which, low, high in self._repeated(runs, period, least, most + 1):
            pieces.append(_clipped(few.take(which), low + origin, high - 1 + origin))
        return merged(torch.cat([one.lo for one in pieces]), torch.cat([one.hi for one in pieces]))

    def _repeated(
        self, runs: Intervals, period: int, least: Tensor, end: Tensor
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """(which, lo, hi): runs that repeat after a period, cut to each stretch least ≤ x < end."""
        turns = ((end - 1) // period - least // period + 1).clamp(min=0)
        self.work.spend(PER_INTERVAL * int(turns.sum()) * len(runs.lo))
        until = turns.cumsum(0)
        total, each = int(turns.sum()), max(1, LISTED // max(1, len(runs.lo)))
        for at in range(0, total, each):
            nth = torch.arange(at, min(at + each, total))
            which = torch.searchsorted(until, nth, right=True)
            turn = nth - (until - turns)[which]
            base = ((least // period)[which] + turn)[:, None] * period
            low = torch.maximum(base + runs.lo, least[which][:, None])
            high = torch.minimum(base + runs.hi, end[which][:, None])
            real = high > low
            yield which[:, None].expand_as(low)[real], low[real], high[real]

    @staticmethod
    def _between_ends(allowed: Tensor, least: Tensor, most: Tensor, some: _Sweeps, origin: int) -> Intervals:
        """All keys from the first allowed distance to the last: no gap is longer than the rows are many."""
        period = len(allowed)
        twice = torch.cat([allowed, allowed])
        place = torch.arange(2 * period)
        following = torch.where(twice, place, 2 * period).flip(0).cummin(0).values.flip(0)[:period]
        previous = torch.where(twice, place, -1).cummax(0).values[period:] - period
        low = least - least % period + following[least % period]
        high = most - most % period + previous[most % period]
        real = high >= low
        return _clipped(some.take(real), low[real] + origin, high[real] + origin)

    def _of_kind(self, kinds: dict[BlockTail, bool], found: Intervals) -> Intervals:
        """Those keys that lie in some tails of blocks and not in others."""
        if not len(found.lo):
            return found
        period = lcm(*(tail.period for tail in kinds))
        apart = self.m + 2
        shift = found.lo // apart * apart
        low, high = found.lo - shift, found.hi - shift
        self.work.spend(16 * min(period, self.m), held=min(period, self.m))
        key = torch.arange(min(period, self.m))
        right = torch.ones(len(key), dtype=torch.bool)
        for tail, holds in kinds.items():
            right &= (key % tail.period >= tail.first) == holds
        at = right.nonzero()[:, 0]
        runs = merged(at, at + 1)
        pieces = [
            Intervals(lo + shift[which], hi + shift[which])
            for which, lo, hi in self._repeated(runs, period, low, high)
        ]
        return merged(*(torch.cat([NOTHING[i], *(one[i] for one in pieces)]) for i in (0, 1)))


class _EveryRow(StretchCuts):
    """Each row as a stretch of its own, where nobody says at which rows spans turn."""

    def __init__(self, pattern: Pattern, m: int, work: Work) -> None:
        from regard.pattern.states import States

        self.states, self.m, self.work = States(pattern), m, work

    def parts(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Some thousand rows at a time."""
        return ((at, min(at + CHUNK, stop)) for at in range(start, stop, CHUNK))

    def stretches(self, start: int, stop: int, bounds: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """One row each."""
        first = torch.arange(start, stop)
        return first, torch.ones_like(first)


def _clipped(some: _Sweeps, nearest: Tensor, farthest: Tensor) -> Intervals:
    """The keys that rows meet at the distances nearest ≤ d ≤ farthest, of those that their segment covers."""
    lo, hi = some.swept()
    low = torch.maximum(some.first - farthest, lo)
    high = torch.minimum(some.first - nearest + some.rows, hi).maximum(low)
    return merged(low + some.shift, high + some.shift)
