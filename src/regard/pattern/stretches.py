"""Sums over many rows at once: between two turns, each end of a span stands still or goes along with q.

Rows are cut where the end of a span jumps or turns, and again where two ends cross. Within a stretch of rows
the ends keep their order and the length of each segment is linear in q, so that its sum is that of a
trapezoid: the lengths in the first and in the last row, times half the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import lcm
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern.multiples import multiples
from regard.pattern.residues import State, prefix
from regard.pattern.states import States
from regard.pattern.sweep import Edges
from regard.pattern.work import TooMuchError, Work

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern

CHUNK = 1 << 14  # turns at a time, about
PER_CALL = 200_000  # steps of work for a few dozen calls of torch, however few their numbers
PER_THINNED = 200  # steps of work for each stretch in which residue classes decide: divisions are slow
DENSE = 0.25  # turns in a row, above which stretches cost more than rows
PER_TURN = 500  # steps of work for each, at the least: what is far too long is refused at once
LONGEST = 1 << 31  # keys of which residue classes count: squares stay inside 64 bits
SPLIT = 20  # bits below which long lengths are summed apart, to stay inside 64 bits


def turns(atom: Atom) -> list[tuple[int, int]] | None:
    """Where the ends of a value's spans jump or turn, as (place, period or 0 if once); None: not known."""
    if atom.turns is not None:
        return atom.turns
    if not atom.repeats or atom.period is None or atom.horizon is None:
        return None
    windows = [] if atom.distance or atom.period == 1 else [(0, atom.period)]
    return [*windows, *([(atom.horizon[1], 0)] if atom.horizon[1] else [])]


@dataclass(frozen=True)
class Ends:
    """One end of a span in each stretch: before which key, in its first row and in its last."""

    first: Tensor
    last: Tensor

    def kept(self, m: int) -> Tensor:
        """Both in one number that sorts as they do: twice their sum, and whether it moves."""
        first, last = self.first.clamp(0, m), self.last.clamp(0, m)
        return 2 * (first + last) + (first != last).long()


class StretchCuts:
    """Where the rows of one pattern over keys [0, m) are cut into stretches."""

    def __init__(self, pattern: Pattern, m: int, work: Work) -> None:
        self.states, self.m, self.work = States(pattern), m, work
        places = [turns(atom) for atom in self.states.atoms]
        if any(place is None for place in places):
            raise TooMuchError
        self.turns = {turn for place in places if place is not None for turn in place}

    def parts(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Ranges of rows with about as many turns as are held at a time."""
        once = sum(start <= place < stop for place, period in self.turns if not period)
        density = sum(1 / period for _, period in self.turns if period)
        if density > DENSE:
            raise TooMuchError  # than the rows themselves
        self.work.foresee(int(PER_TURN * density * (stop - start)))
        width = stop - start if density == 0 else max(1, int(CHUNK / density))
        width = max(1, width // (1 + once // CHUNK))
        yield from pairwise([*range(start, stop, width), stop])

    def stretches(self, start: int, stop: int, bounds: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The first query and the number of queries of each stretch; none reaches over one of the bounds."""
        cuts = [torch.tensor([start])]
        if bounds is not None:
            cuts.append(bounds[(bounds > start) & (bounds < stop)])
        for place, period in self.turns:
            if period and (at := start + (place - start) % period) < stop:
                cuts.append(torch.arange(at, stop, period))
        once = torch.tensor([place for place, period in self.turns if not period], dtype=torch.long)
        first, rows = _cut([*cuts, once[(once > start) & (once < stop)]], stop)
        ends = [end for _, _, lo, hi in self._spans(first, rows) for end in (lo, hi)]
        edge = torch.zeros_like(first)
        ends += [Ends(edge, edge), Ends(edge + self.m, edge + self.m)]
        different: list[Ends] = []
        for end in ends:
            if not any(torch.equal(end.first, e.first) and torch.equal(end.last, e.last) for e in different):
                different.append(end)
        crossings = self._crossings(first, different)
        return _cut([first, *crossings], stop) if crossings else (first, rows)

    def _crossings(self, first: Tensor, ends: list[Ends]) -> list[Tensor]:
        """Where two ends meet that stand in another order in a stretch's last row than in its first."""
        self.work.spend(8 * len(first) * len(ends) * len(ends).bit_length())
        lasts = torch.stack([end.last for end in ends])
        order = lasts.argsort(0)
        firsts = torch.stack([end.first for end in ends]).gather(0, order)
        order = order.gather(0, firsts.argsort(stable=True, dim=0))  # by the first row, then by the last
        some = (lasts.gather(0, order).diff(dim=0) < 0).any(0).nonzero()[:, 0]  # few: all others stay sorted
        if not len(some):
            return []
        self.work.spend(4 * len(some) * len(ends) ** 2)
        found = []
        few, start = [Ends(end.first[some], end.last[some]) for end in ends], first[some]
        for one, other in combinations(few, 2):
            before, after = one.first - other.first, one.last - other.last
            crosses = ((before < 0) & (after > 0)) | ((before > 0) & (after < 0))
            if bool(crosses.any()):
                found.append((start + before.abs())[crosses])
        return found

    def _spans(self, first: Tensor, rows: Tensor) -> Iterator[tuple[Atom, int, Ends, Ends]]:
        """(value, kind of span, where it begins, where it ends) in each stretch."""
        last = first + rows - 1
        for atom in self.states.atoms:
            for a, b in zip(atom.spans(first, self.m), atom.spans(last, self.m), strict=True):
                for x, y in ((a.lo, b.lo), (a.hi, b.hi)):
                    assert bool(((y == x) | (y - x == last - first)).all()), f"{atom} turns within a stretch"
                yield atom, self.states.bit(atom, a), Ends(a.lo, b.lo), Ends(a.hi, b.hi)

    def segments(self, first: Tensor, rows: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """(where it begins, where it ends, its state) of each segment; ends are as `Ends.kept` has them."""
        zero = torch.zeros_like(first)
        edges = Edges(zero, zero + 4 * self.m)
        for _, bit, begin, end in self._spans(first, rows):
            edges.add(begin.kept(self.m), end.kept(self.m), bit)
        self.work.spend(2 * edges.cost)
        for lo, hi, state in edges.segments(self.states.codes):
            self.states.learn()
            yield lo, hi, state


class StretchCounter(StretchCuts):
    """Counts the rows of one pattern over keys [0, m), stretch by stretch."""

    def __init__(self, pattern: Pattern, m: int, work: Work) -> None:
        super().__init__(pattern, m, work)
        self.keys: dict[State, KeySums] = {}  # of the states without steps, made once
        self.terms: dict[State, dict[int, int]] = {}  # of those without tails

    def totals(self, ranges: list[tuple[int, int]]) -> list[int]:
        """How many keys the rows start ≤ q < stop of each range see, all together; ranges are in order."""
        totals: list[int] = []
        for bounds in _rows_on_end(ranges):
            totals += self._totals(bounds)
        return totals

    def _totals(self, bounds: list[int]) -> list[int]:
        """The same between bounds: however many there are, the rows are gone through once."""
        edges, (start, *_, stop) = torch.tensor(bounds), bounds
        totals, left = [0] * (len(bounds) - 1), self.work.left
        for low, high in self.parts(start, stop):
            first, rows = self.stretches(low, high, edges)
            which = torch.searchsorted(edges, first, right=True) - 1
            base = int(which[0])
            for i, found in enumerate(self._count(first, rows, which - base)):
                totals[base + i] += found
            if low == start:
                self.work.foresee_rest(left, high - start, stop - start)
        return totals

    def _count(self, first: Tensor, rows: Tensor, which: Tensor) -> list[int]:
        """The sums of the stretches of each range, by the ranges' numbers."""
        above, below, thinned = torch.zeros(3, int(which[-1]) + 1, dtype=torch.long)
        for lo, hi, state in self.segments(first, rows):
            length = ((hi >> 1) - (lo >> 1)) * self.states.whole.gather(0, state)  # in both rows together
            above.index_add_(0, which, rows * (length >> SPLIT))
            below.index_add_(0, which, rows * (length & (1 << SPLIT) - 1))
            occurs = torch.bincount(state, minlength=len(self.states.codes)).tolist()
            for index in self.states.open:
                if occurs[index]:
                    chosen = ((state == index) & (hi >> 1 > lo >> 1)).nonzero()[:, 0]
                    part = [x.gather(0, chosen) for x in (first, rows, lo, hi)]
                    found = self._thinned(self.states.states[index], *part)
                    thinned.index_add_(0, which.gather(0, chosen), found)
        doubled = [(a << SPLIT) + b for a, b in zip(above.tolist(), below.tolist(), strict=True)]
        assert all(twice % 2 == 0 for twice in doubled)
        return [twice // 2 + some for twice, some in zip(doubled, thinned.tolist(), strict=True)]

    def _thinned(self, state: State, first: Tensor, rows: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        """What each stretch of one state holds in which residue classes decide."""
        if self.m > LONGEST or (state.steps and state.tails):
            raise TooMuchError
        if state.tails:
            if state not in self.keys:
                self.keys[state] = KeySums(state, self.work)
            keys = self.keys[state]
            self.work.spend(PER_CALL + PER_THINNED * len(first))
            return keys.over(rows, hi) - keys.over(rows, lo)
        if state not in self.terms:
            found = multiples(state, self.m)
            self.terms[state] = {step: int(weight) for step, weight in found.items()}
        total = torch.zeros_like(first)
        for step, weight in self.terms[state].items():
            self.work.spend(PER_CALL + PER_THINNED * len(first))
            total += weight * (_multiples(step, first, rows, lo) - _multiples(step, first, rows, hi))
        return total


class KeySums:
    """Sums over rows of how many keys before an end lie in the classes of a state without steps."""

    def __init__(self, state: State, work: Work) -> None:
        self.period = lcm(*(one.period for one in state.tails))
        work.spend(16 * self.period, held=self.period)
        key = torch.arange(self.period)
        seen = state.seen({one: key % one.period >= one.first for one in state.tails})
        self.before = prefix(seen.expand(self.period))
        self.twice = prefix(self.before)

    def over(self, rows: Tensor, end: Tensor) -> Tensor:
        """The sum over the rows of each stretch."""
        place, moves = where_it_stands(rows, end)
        still = rows * (place // self.period * self.before[-1] + self.before.gather(0, place % self.period))
        return torch.where(moves, self._below(place + rows) - self._below(place), still)

    def _below(self, x: Tensor) -> Tensor:
        """The sum over all ends before x."""
        turns, rest = x // self.period, x % self.period
        once = self.before[-1]
        return (
            once * (self.period * _triangle(turns) + rest * turns)
            + turns * self.twice[self.period]
            + self.twice.gather(0, rest)
        )


def _multiples(step: int, first: Tensor, rows: Tensor, end: Tensor) -> Tensor:
    """Σ ⌊(q − end)/step⌋ over the rows: the multiples of the step up to a distance."""
    place, moves = where_it_stands(rows, end)
    near = first - place

    def below(x: Tensor) -> Tensor:
        turns = x // step
        return step * _triangle(turns) + x % step * turns

    return torch.where(moves, rows * (near // step), below(near + rows) - below(near))


def where_it_stands(rows: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Where an end stands in the first row, and whether it moves; see `Ends.kept`."""
    moves = end & 1 == 1
    return ((end >> 1) - moves * (rows - 1)) // 2, moves


def _triangle(x: Tensor) -> Tensor:
    """0 + 1 + … + (x − 1), halved before it is multiplied."""
    return torch.where(x % 2 == 0, x // 2 * (x - 1), (x - 1) // 2 * x)


def _rows_on_end(ranges: list[tuple[int, int]]) -> Iterator[list[int]]:
    """The bounds of ranges of which each begins where the one before it ends, as long as that goes on.

    >>> list(_rows_on_end([(0, 2), (2, 5), (7, 9)]))
    [[0, 2, 5], [7, 9]]
    """
    bounds: list[int] = []
    for start, stop in ranges:
        if bounds and bounds[-1] != start:
            yield bounds
            bounds = []
        bounds = [*bounds, stop] if bounds else [start, stop]
    if bounds:
        yield bounds


def _cut(cuts: list[Tensor], stop: int) -> tuple[Tensor, Tensor]:
    """The beginnings of the stretches between all cuts, and their numbers of rows."""
    first = torch.unique(torch.cat(cuts))
    return first, first.diff(append=torch.tensor([stop]))
