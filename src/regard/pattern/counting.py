"""Exact counts of allowed pairs, in time and memory that grow with n, never with n·m.

A pattern that depends on the distance q − k alone is counted by distance. Other rows are cut where one
of their spans begins or ends; inside a segment each value is on, off or a residue class, so the segment's
count is its length or a difference of two prefix sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern import distances, looking, repeating
from regard.pattern.repeating import Rhythm, Rows
from regard.pattern.residues import Residues, State, at, prefix
from regard.pattern.spans import Span
from regard.pattern.states import States
from regard.pattern.stretches import StretchCounter
from regard.pattern.sweep import Edges
from regard.pattern.work import TooMuchError, Work

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern

# Rows at a time: the working set stays in cache, and torch works on so few without waking its threads, which
# on a busy machine costs far more than they help. `gather` and `index_add_` are used for that reason too.
CHUNK = 1 << 15
BATCH = 1 << 20  # rows for which counts and what is left to count are held
CLOSED = 1 << 12  # positions from which a pattern that repeats is counted by that
FEW = 4  # cells in a row of a stretch that are looked at rather than summed up
PROBE = 1 << 10  # rows from which the work for many is foreseen
LONGEST = 1 << 42  # positions of which a batch of rows adds up inside 64 bits
MANY = 1 << 12  # rows that may be worth putting together to stretches
PER_EDGE = 5  # steps of work for each end of a span in a row
PER_LOOK = 12  # steps of work for each value at a cell that is looked at
MOST_LISTED = 1 << 27  # rows whose counts are held at a time: a gigabyte

SpansOf = Callable[["Atom", Tensor], list[Span]]


def pairs(pattern: Pattern, n: int, m: int) -> int:
    """The number of allowed pairs of the last n of m queries with m keys."""
    return tails(pattern, [m - n], m)[0]


def tails(pattern: Pattern, firsts: list[int], m: int, work: Work | None = None) -> list[int]:
    """The number of allowed pairs of the queries from each of some rows on: of all in about the time of one.

    `work` says what that may take, by default what somebody waits for.

    >>> from regard.pattern import Causal
    >>> tails(Causal(), [0, 2, 3], 4)
    [10, 7, 4]
    """
    asked = sorted({first for first in firsts if first < m})
    if not asked or m == 0:
        return [0] * len(firsts)
    n = m - asked[0]
    if not all(atom.gives("spans") for atom in pattern.atoms()) and not pattern.by_distance:
        found = _looked(pattern, asked, m)
    else:
        found = _counted(pattern, asked, n, m, Work.quick() if work is None else work)
    known = dict(zip(asked, found, strict=True))
    return [known.get(first, 0) for first in firsts]


def _looked(pattern: Pattern, asked: list[int], m: int) -> list[int]:
    parts = (
        sum(int(looking.rows(pattern, q, m, torch.full_like(q, m)).sum()) for q in _ranges(low, high, BATCH))
        for low, high in pairwise([*asked, m])
    )
    return _from_behind(list(parts))


def _counted(pattern: Pattern, asked: list[int], n: int, m: int, work: Work) -> list[int]:
    beat = repeating.rhythm(pattern)
    rows = n if beat is None else min(n, beat.rows)
    ways = [_by_rows, _by_stretches] if rows <= MANY else [_by_stretches, _by_rows]
    if pattern.by_distance:
        ways = [_by_distance, *([_by_closed_distance] if beat is not None else [])][::-1]
    for way in ways:
        try:
            return way(pattern, beat, asked, m, work)
        except TooMuchError:
            pass
    raise ValueError(f"{pattern} at {n=}, {m=} takes too long to count: {_why(pattern, beat, n, m)}")


def row_pairs(pattern: Pattern, n: int, m: int) -> Tensor:
    """The number of keys each of the last n queries may see."""
    if n > MOST_LISTED:
        raise ValueError(f"row_pairs lists at most {MOST_LISTED:,} rows, got {n=}; pairs needs no list")
    if n == 0 or m == 0:
        return torch.zeros(n, dtype=torch.long)
    if pattern.by_distance and m <= MOST_LISTED:
        before = prefix(pattern.allows(torch.arange(1 - n, m), torch.tensor(0)))  # by distance, from 1 − n
        q = torch.arange(m - n, m)
        return before[q + n] - before[q + n - m]
    try:
        counter = RowCounter(pattern, m)
        return torch.cat([counter.rows(q) for q in _ranges(m - n, m, BATCH)])
    except TooMuchError:
        why = _why(pattern, repeating.rhythm(pattern), n, m)
        raise ValueError(f"{pattern} at {n=}, {m=} takes too much memory to count: {why}") from None


def _why(pattern: Pattern, beat: Rhythm | None, n: int, m: int) -> str:
    if beat is None:
        odd = next(atom for atom in pattern.atoms() if not atom.repeats)
        return f"{odd} never repeats, which leaves {n:,} rows to go through"
    return (
        f"it repeats after {beat.period:,} positions and settles after {beat.start:,}, "
        f"which leaves {min(n, beat.rows):,} rows to go through"
    )


def _by_closed_distance(
    pattern: Pattern, beat: Rhythm | None, asked: list[int], m: int, work: Work
) -> list[int]:
    if m - min(0, asked[0]) > 1 << 61:  # positions are asked for in 64 bits, at twice as many
        raise TooMuchError
    return [distances.pairs(pattern, m - first, m) for first in asked]


def _by_distance(pattern: Pattern, beat: Rhythm | None, asked: list[int], m: int, work: Work) -> list[int]:
    work.spend(PER_LOOK * len(pattern.atoms()) * sum(2 * m - first for first in asked))
    return [
        sum(_pairs_at(pattern, d, m - first, m) for d in _ranges(1 - m + first, m, CHUNK)) for first in asked
    ]


def _by_rows(pattern: Pattern, beat: Rhythm | None, asked: list[int], m: int, work: Work) -> list[int]:
    return _sums(pattern, beat, asked, m, lambda keys: RowCounter(pattern, keys, work).totals)


def _by_stretches(pattern: Pattern, beat: Rhythm | None, asked: list[int], m: int, work: Work) -> list[int]:
    return _sums(pattern, beat, asked, m, lambda keys: StretchCounter(pattern, keys, work).totals)


def _sums(
    pattern: Pattern,
    beat: Rhythm | None,
    asked: list[int],
    m: int,
    counting: Callable[[int], repeating.Count],
) -> list[int]:
    """The rows from each on, by few of them where the pattern repeats; `counting(keys)` sums over keys."""
    if beat is None or m - asked[0] <= max(CLOSED, beat.rows) or beat.shorter(m) == m:
        if m > LONGEST:
            raise TooMuchError
        return _from_behind(counting(m)(list(pairwise([*asked, m]))))
    return repeating.tails(pattern, beat, asked, m, counting(beat.shorter(m)))


def _from_behind(parts: list[int]) -> list[int]:
    """The sum of each part and all behind it."""
    return list(accumulate(reversed(parts)))[::-1]


def _batches(ranges: list[Rows], size: int) -> Iterator[list[tuple[int, Rows]]]:
    """The ranges, numbered, cut and put together to batches of at most `size` rows."""
    batch: list[tuple[int, Rows]] = []
    room = size
    for i, (low, stop) in enumerate(ranges):
        start = low
        while start < stop:
            end = min(stop, start + room)
            batch.append((i, (start, end)))
            room -= end - start
            start = end
            if room == 0:
                yield batch
                batch, room = [], size
    if batch:
        yield batch


def _ranges(start: int, stop: int, size: int) -> Iterable[Tensor]:
    return (torch.arange(lo, min(lo + size, stop)) for lo in range(start, stop, size))


def _pairs_at(pattern: Pattern, d: Tensor, n: int, m: int) -> int:
    # Queries q with q − d a key: max(m − n, d) ≤ q < min(m, m + d).
    queries = torch.clamp(d + m, max=m) - torch.clamp(d, min=m - n)
    return int((queries.clamp(min=0) * pattern.allows(d, torch.tensor(0))).sum())


@dataclass(frozen=True)
class Stretches:
    """In each of some rows the keys lo ≤ k < hi."""

    row: Tensor
    lo: Tensor
    hi: Tensor

    @property
    def cells(self) -> int:
        """How many pairs of row and key that is."""
        return int((self.hi - self.lo).sum())


class RowCounter:
    """Counts rows of one pattern over keys [0, m); what it learns of a state of spans is kept."""

    def __init__(self, pattern: Pattern, m: int, work: Work | None = None) -> None:
        if m > LONGEST:
            raise TooMuchError
        self.pattern, self.m = pattern, m
        self.work = Work() if work is None else work
        self.known = States(pattern)
        self.residues = Residues(m, self.work)
        self.narrow = torch.int32 if m < 1 << 30 else torch.int64  # where sums of two positions fit

    def totals(self, ranges: list[Rows]) -> list[int]:
        """How many keys the rows start ≤ q < stop of each range see, all together."""
        rows = sum(stop - start for start, stop in ranges)
        self._foresee(ranges[-1][0], rows)
        left, done, totals = self.work.left, 0, [0] * len(ranges)
        for batch in _batches(ranges, BATCH):
            found = self.rows(torch.cat([torch.arange(*part) for _, part in batch]))
            for (i, _), part in zip(batch, found.split([b - a for _, (a, b) in batch]), strict=True):
                totals[i] += int(part.sum())
            if done == 0:
                self.work.foresee_rest(left, len(found), rows)
            done += len(found)
        return totals

    def _foresee(self, start: int, rows: int) -> None:
        """Refuse at once what is far too much, by a look at a few rows."""
        probe = self._edges(torch.arange(start, min(start + PROBE, self.m)))
        ends = PER_EDGE * probe.size
        if not self.known.thinned:
            probe.merge_rows()
        self.work.foresee((ends + probe.cost) * (rows // PROBE))

    def rows(self, q: Tensor, end: Tensor | None = None, spans_of: SpansOf | None = None) -> Tensor:
        """How many of the keys [0, end) each query sees; `spans_of` replaces the atoms' own spans."""
        end = torch.full_like(q, self.m) if end is None else end
        if spans_of is None and not all(atom.gives("spans") for atom in self.pattern.atoms()):
            return looking.rows(self.pattern, q, self.m, end)
        total = torch.zeros_like(q)
        thinned: dict[int, list[Stretches]] = {}  # by state: what is left to count
        for start in range(0, len(q), CHUNK):
            part = slice(start, start + CHUNK)
            edges = self._edges(q[part], end[part], spans_of)
            total[part] = self._whole_segments(edges, start, thinned)
        for state, stretches in thinned.items():
            self._add_thinned(total, q, self.known.states[state], stretches)
        return total

    def _edges(self, q: Tensor, end: Tensor | None = None, spans_of: SpansOf | None = None) -> Edges:
        edges = Edges(torch.zeros_like(q), torch.full_like(q, self.m) if end is None else end)
        for atom in self.known.atoms:
            for span in atom.spans(q, self.m) if spans_of is None else spans_of(atom, q):
                edges.add(span.lo, span.hi, self.known.bit(atom, span))
        return edges

    def _whole_segments(self, edges: Edges, start: int, thinned: dict[int, list[Stretches]]) -> Tensor:
        """The keys of segments that count whole, per row; the segments of open states go to `thinned`."""
        self.work.spend(PER_EDGE * edges.size)
        # Rows with equal spans count alike, unless residues of q tell them apart.
        alike = None if self.known.thinned else edges.merge_rows()
        self.work.spend(edges.cost)
        found = torch.zeros_like(edges.end)
        for lo, hi, state in edges.segments(self.known.codes):
            self.known.learn()
            length = hi - lo
            found += length * self.known.whole.gather(0, state)
            occurs = (
                torch.bincount(state, minlength=len(self.known.codes)).tolist() if self.known.open else []
            )
            for index in self.known.open:
                if occurs[index]:
                    row = ((state == index) & (length > 0)).nonzero()[:, 0]
                    place = row + start, lo.gather(0, row), hi.gather(0, row)
                    thinned.setdefault(index, []).append(Stretches(*(x.to(self.narrow) for x in place)))
        return found if alike is None else found.repeat_interleave(alike)

    def _add_thinned(self, total: Tensor, q: Tensor, state: State, stretches: list[Stretches]) -> None:
        """Add what the stretches of one state hold, by their cells where they are few, else by sums."""
        cells, rows = (sum(part.cells for part in stretches), sum(len(part.row) for part in stretches))
        if cells <= max(min(self.m, BATCH), FEW * rows):
            self.work.spend(PER_LOOK * cells * len(self.known.atoms))
            for part in stretches:
                self._add_cells(total, q, part)
            return
        for sums in self.residues.sums(state, rows):
            for part in stretches:
                own = q.gather(0, part.row.long()).to(self.narrow)
                total.index_add_(0, part.row, sums.between(own, part.lo, part.hi))

    def _add_cells(self, total: Tensor, q: Tensor, part: Stretches) -> None:
        """Add what a few cells hold by looking at each."""
        lo, length = part.lo.long(), part.hi.long() - part.lo.long()
        which = torch.repeat_interleave(length)
        k = torch.arange(len(which)) + at(lo - length.cumsum(0) + length, which)
        row = at(part.row.long(), which)
        total.index_add_(0, row, self.pattern.allows(at(q, row), k).long())
