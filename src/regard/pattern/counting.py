"""Exact counts of allowed pairs, in time and memory that grow with n, never with n·m.

A pattern that depends on the distance q − k alone is counted by distance. Other rows are cut where one
of their spans begins or ends; inside a segment each value is on, off or a residue class, so the segment's
count is its length or a difference of two prefix sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern import looking
from regard.pattern.residues import Residues, State, at, prefix
from regard.pattern.spans import Span, Thinning
from regard.pattern.sweep import Edges, Numbering

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern

# Rows at a time: the working set stays in cache, and torch works on so few without waking its threads, which
# on a busy machine costs far more than they help. `gather` and `index_add_` are used for that reason too.
CHUNK = 1 << 15
BATCH = 1 << 20  # rows for which counts and what is left to count are held
CLOSED = 1 << 22  # above this a formula, where there is one, beats walking the rows

SpansOf = Callable[["Atom", Tensor], list[Span]]


def pairs(pattern: Pattern, n: int, m: int) -> int:
    """The number of allowed pairs of the last n of m queries with m keys."""
    if n == m and n > CLOSED:
        try:
            n_symbol = next(iter((expression := pattern.formula()).free_symbols), None)
        except ValueError:
            pass  # no closed form: count
        else:
            return int(expression if n_symbol is None else expression.subs(n_symbol, n))
    if pattern.by_distance:
        return sum(_pairs_at(pattern, d, n, m) for d in _ranges(1 - n, m, CHUNK))
    counter = RowCounter(pattern, m)
    return sum(int(counter.rows(q).sum()) for q in _ranges(m - n, m, BATCH))


def row_pairs(pattern: Pattern, n: int, m: int) -> Tensor:
    """The number of keys each of the last n queries may see."""
    if n == 0 or m == 0:
        return torch.zeros(n, dtype=torch.long)
    if pattern.by_distance:
        before = prefix(pattern.allows(torch.arange(1 - n, m), torch.tensor(0)))  # by distance, from 1 − n
        q = torch.arange(m - n, m)
        return before[q + n] - before[q + n - m]
    counter = RowCounter(pattern, m)
    return torch.cat([counter.rows(q) for q in _ranges(m - n, m, BATCH)])


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

    def __init__(self, pattern: Pattern, m: int) -> None:
        self.pattern, self.m = pattern, m
        self.atoms = pattern.atoms()
        self.spans: Numbering[tuple[Atom, Thinning | None]] = Numbering()
        self.codes: list[int] = []  # the states met so far, each as the set of the spans that are on
        self.states: list[State] = []  # what they mean
        self.whole = torch.zeros(0, dtype=torch.long)  # per state: 1 if all keys of its segments count
        self.open: list[int] = []  # the states in which residue classes decide
        self.residues = Residues(m)
        self.narrow = torch.int32 if m < 1 << 30 else torch.int64  # where sums of two positions fit

    def rows(self, q: Tensor, end: Tensor | None = None, spans_of: SpansOf | None = None) -> Tensor:
        """How many of the keys [0, end) each query sees; `spans_of` replaces the atoms' own spans."""
        end = torch.full_like(q, self.m) if end is None else end
        if spans_of is None and not all(atom.gives("spans") for atom in self.atoms):
            return looking.rows(self.pattern, q, self.m, end)
        total = torch.zeros_like(q)
        thinned: dict[int, list[Stretches]] = {}  # by state: what is left to count
        for start in range(0, len(q), CHUNK):
            part = slice(start, start + CHUNK)
            edges = Edges(torch.zeros_like(q[part]), end[part])
            for atom in self.atoms:
                for span in atom.spans(q[part], self.m) if spans_of is None else spans_of(atom, q[part]):
                    edges.add(span.lo, span.hi, self.spans.number((atom, span.thinning)))
            total[part] = self._whole_segments(edges, start, thinned)
        for state, stretches in thinned.items():
            self._add_thinned(total, q, self.states[state], stretches)
        return total

    def _whole_segments(self, edges: Edges, start: int, thinned: dict[int, list[Stretches]]) -> Tensor:
        """The keys of segments that count whole, per row; the segments of open states go to `thinned`."""
        # Rows with equal spans count alike, unless residues of q tell them apart.
        merges = all(thinning is None for _, thinning in self.spans.items)
        alike = edges.merge_rows() if merges else None
        found = torch.zeros_like(edges.end)
        for lo, hi, state in edges.segments(self.codes):
            self._learn()
            length = hi - lo
            found += length * self.whole.gather(0, state)
            occurs = torch.bincount(state, minlength=len(self.codes)).tolist() if self.open else []
            for index in self.open:
                if occurs[index]:
                    row = ((state == index) & (length > 0)).nonzero()[:, 0]
                    place = row + start, lo.gather(0, row), hi.gather(0, row)
                    thinned.setdefault(index, []).append(Stretches(*(x.to(self.narrow) for x in place)))
        return found if alike is None else found.repeat_interleave(alike)

    def _learn(self) -> None:
        """Find out what the states mean that were met for the first time."""
        if len(self.states) == len(self.codes):
            return
        for code in self.codes[len(self.states) :]:
            members: dict[Atom, bool | Thinning] = dict.fromkeys(self.atoms, False)
            for atom, thinning in self.spans.on(code):
                members[atom] = True if thinning is None else thinning
            self.states.append(State(self.pattern, members))
        verdicts = [state.verdict() for state in self.states]
        self.whole = torch.tensor([int(verdict is True) for verdict in verdicts])
        self.open = [i for i, verdict in enumerate(verdicts) if verdict is None]

    def _add_thinned(self, total: Tensor, q: Tensor, state: State, stretches: list[Stretches]) -> None:
        """Add what the stretches of one state hold, by their cells where they are few, else by sums."""
        if sum(part.cells for part in stretches) <= self.m:
            for part in stretches:
                self._add_cells(total, q, part)
            return
        for sums in self.residues.sums(state):
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
