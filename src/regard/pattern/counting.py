"""Exact counts of allowed pairs, in time and memory that grow with n, never with n·m.

A pattern that depends on the distance q − k alone is counted by distance. Any other row is cut where one
of its spans begins or ends; inside a segment each value is on, off or a residue class, so the segment's
count is its length or a difference of two prefix sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import combinations
from math import lcm
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern.spans import Span
from regard.pattern.sweep import Edges

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern

# Rows at a time: the working set stays in cache, and torch works on so few without waking its threads, which
# on a busy machine costs far more than they help. `gather` and `index_add_` are used for that reason too.
CHUNK = 1 << 15
BATCH = 1 << 20  # rows for which counts and what is left to count are held
CLOSED = 1 << 22  # above this a formula, where there is one, beats walking the rows

Thinning = tuple[int, ...]
Values = dict["Atom", "bool | Thinning"]
SpansOf = Callable[["Atom", Tensor], list[Span]]
Count = Callable[[Tensor, Tensor, Tensor], Tensor]  # of (q, lo, hi), per row
Terms = Callable[[], Iterable[Count]]  # whose sum is a state's count


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
        before = prefix(pattern.allows(torch.arange(1 - n, m), 0))  # by distance, from 1 − n
        q = torch.arange(m - n, m)
        return before[q + n] - before[q + n - m]
    counter = RowCounter(pattern, m)
    return torch.cat([counter.rows(q) for q in _ranges(m - n, m, BATCH)])


def prefix(values: Tensor) -> Tensor:
    """Sums of the first 0, 1, … values, int64."""
    out = torch.zeros(len(values) + 1, dtype=torch.long)
    torch.cumsum(values, 0, out=out[1:])
    return out


def at(values: Tensor, where: Tensor) -> Tensor:
    """values[where]."""
    return values.gather(0, where.long())


def _ranges(start: int, stop: int, size: int) -> Iterable[Tensor]:
    return (torch.arange(lo, min(lo + size, stop)) for lo in range(start, stop, size))


def _pairs_at(pattern: Pattern, d: Tensor, n: int, m: int) -> int:
    # Queries q with q − d a key: max(m − n, d) ≤ q < min(m, m + d).
    queries = torch.clamp(d + m, max=m) - torch.clamp(d, min=m - n)
    return int((queries.clamp(min=0) * pattern.allows(d, 0)).sum())


class RowCounter:
    """Counts rows of one pattern over keys [0, m); prefix sums are made once and kept."""

    def __init__(self, pattern: Pattern, m: int) -> None:
        self.pattern, self.m = pattern, m
        self.atoms = pattern.atoms()
        self.bits: list[tuple[Atom, Thinning]] = []
        self.states: list[int] = []
        self.counts: list[Terms | bool] = []
        self.key_classes: dict[tuple[int, int], Tensor] = {}

    def rows(self, q: Tensor, end: Tensor | None = None, spans_of: SpansOf | None = None) -> Tensor:
        """How many of the keys [0, end) each query sees; `spans_of` replaces the atoms' own spans."""
        end = torch.full_like(q, self.m) if end is None else end
        total = torch.zeros_like(q)
        thinned: dict[int, list[tuple[Tensor, Tensor, Tensor]]] = {}
        whole = torch.zeros(0, dtype=torch.long)  # per state: 1 if all keys of its segments count
        open_: list[int] = []  # the states whose segments are to be counted
        narrow = torch.int32 if self.m < 1 << 30 else torch.int64  # where sums of two positions fit
        for start in range(0, len(q), CHUNK):
            part = slice(start, start + CHUNK)
            edges = Edges(torch.zeros_like(q[part]), end[part])
            for atom in self.atoms:
                for span in atom.spans(q[part], self.m) if spans_of is None else spans_of(atom, q[part]):
                    edges.add(span.lo, span.hi, self._bit(atom, span.thinning))
            # Rows with equal spans count alike, unless residues of q tell them apart.
            alike = None if any(thinning for _, thinning in self.bits) else edges.merge_rows()
            found = torch.zeros_like(edges.end)
            for lo, hi, state in edges.segments(self.states):
                if len(whole) < len(self.states):
                    self.counts += [self._count_of(new) for new in self.states[len(self.counts) :]]
                    whole = torch.tensor([int(count is True) for count in self.counts])
                    open_ = [i for i, count in enumerate(self.counts) if not isinstance(count, bool)]
                length = hi - lo
                found += length * whole.gather(0, state)
                occurs = torch.bincount(state, minlength=len(self.counts)).tolist() if open_ else []
                for index in open_:
                    if occurs[index]:
                        row = ((state == index) & (length > 0)).nonzero()[:, 0]
                        ends = lo.gather(0, row).to(narrow), hi.gather(0, row).to(narrow)
                        thinned.setdefault(index, []).append(((row + start).to(narrow), *ends))
            total[part] = found if alike is None else found.repeat_interleave(alike)
        # One state after another, and one prefix sum after another: each is as long as the keys.
        for index, parts in thinned.items():
            if sum(int((hi - lo).sum()) for _, lo, hi in parts) <= self.m:
                for row, lo, hi in parts:
                    self._look(q, total, row.long(), lo.long(), hi.long())
                continue
            terms = self.counts[index]
            assert not isinstance(terms, bool)
            for term in terms():
                for row, lo, hi in parts:
                    total.index_add_(0, row, term(q.gather(0, row.long()).to(narrow), lo, hi))
        return total

    def _look(self, q: Tensor, total: Tensor, row: Tensor, lo: Tensor, hi: Tensor) -> None:
        """Add what few cells hold by looking at each."""
        length = hi - lo
        which = torch.repeat_interleave(length)
        k = torch.arange(len(which)) + at(lo - length.cumsum(0) + length, which)
        row = at(row, which)
        total.index_add_(0, row, self.pattern.allows(at(q, row), k).long())

    def _bit(self, atom: Atom, thinning: Thinning) -> int:
        if (atom, thinning) not in self.bits:
            self.bits.append((atom, thinning))
        return self.bits.index((atom, thinning))

    def _count_of(self, state: int) -> Terms | bool:
        values: Values = dict.fromkeys(self.atoms, False)
        for bit, (atom, thinning) in enumerate(self.bits):
            if state >> bit & 1:
                values[atom] = thinning or True
        classes = sorted({value for value in values.values() if not isinstance(value, bool)})
        table = truth_table(self.pattern, values, classes)
        if table is not None:
            return table
        steps = [c[0] for c in classes if len(c) == 1]
        if len(steps) == len(classes):
            return partial(self._by_distance, values)
        return partial(self._by_both, values, steps) if steps else partial(self._by_key, values)

    def _seen(
        self, values: Values, steps: Callable[[int], Tensor], tails: Callable[[int, int], Tensor]
    ) -> Tensor:
        """The expression inside one state, given what its residue classes are."""

        def value_of(atom: Atom) -> Tensor:
            value = values[atom]
            if isinstance(value, bool):
                return torch.tensor(value)
            return steps(*value) if len(value) == 1 else tails(*value)

        return self.pattern.fold(value_of)

    def _key_class(self, period: int, first: int) -> Tensor:
        """Which keys have k % period ≥ first."""
        if (period, first) not in self.key_classes:
            self.key_classes[period, first] = torch.arange(self.m) % period >= first
        return self.key_classes[period, first]

    def _by_distance(self, values: Values) -> Iterable[Count]:
        distance = torch.arange(-self.m + 1, self.m)
        seen = self._seen(values, lambda step: distance % step == 0, _none)
        before = prefix(seen.expand_as(distance))
        yield lambda q, lo, hi: at(before, q - lo + self.m) - at(before, q - hi + self.m)

    def _by_key(self, values: Values) -> Iterable[Count]:
        before = prefix(self._seen(values, _none, self._key_class).expand(self.m))
        yield lambda q, lo, hi: at(before, hi) - at(before, lo)

    def _by_both(self, values: Values, steps: list[int]) -> Iterable[Count]:
        """Steps and key classes together: expand in the products of the steps' indicators.

        A product of "step divides q − k" is "their lcm divides q − k", so each term is a function of the
        key alone, summed along one residue class of k.
        """
        classes = {value for value in values.values() if not isinstance(value, bool)}
        tails: list[Thinning] = sorted(value for value in classes if len(value) == 2)
        cell = torch.arange(1 << len(tails))  # which key classes hold, as bits

        def holds(*tail: int) -> Tensor:
            return (cell >> tails.index(tail) & 1).bool()

        def where_exactly(subset: frozenset[int]) -> Tensor:
            seen = self._seen(values, lambda step: torch.tensor(step in subset), holds)
            return seen.expand(len(cell)).int()

        subsets = [frozenset(c) for size in range(len(steps) + 1) for c in combinations(steps, size)]
        terms = {subset: where_exactly(subset) for subset in subsets}
        for step in steps:  # Möbius: from "exactly these steps divide" to products of indicators
            for subset in subsets:
                if step in subset:
                    terms[subset] = terms[subset] - terms[subset - {step}]
        by_step: dict[int, Tensor] = {}
        for subset in subsets:
            common = min(lcm(*subset), self.m)  # from m on only k = q is left
            by_step[common] = by_step.get(common, torch.zeros_like(terms[subset])) + terms[subset]
        cells = torch.zeros(self.m, dtype=torch.int32)
        for i, tail in enumerate(tails):
            cells += self._key_class(*tail).int() << i  # (period, first)
        cells = cells.long()
        for step, term in by_step.items():
            if term.any():
                yield partial(_along, _stride_sums(term.gather(0, cells), step), step)


def _along(before: Tensor, step: int, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
    """What the keys [lo, hi) in q's class hold, `before` being the sums along the classes."""
    top = at(
        before, hi - 1 - (hi - 1 - q) % step + step
    )  # the last key below hi in q's class, maybe below lo
    bottom = at(before, lo - 1 - (lo - 1 - q) % step + step) if lo.any() else 0
    return (top - bottom).long()


def _none(*residues: int) -> Tensor:
    raise AssertionError(f"a state without such classes asked for {residues}")


def truth_table(pattern: Pattern, values: Values, classes: list[Thinning]) -> bool | None:
    """True or False where the expression is constant whatever the residue classes say, else None."""
    if len(classes) > 16:
        return None
    cells = 1 << len(classes)
    every = (1 << cells) - 1
    column = {c: sum(1 << cell for cell in range(cells) if cell >> i & 1) for i, c in enumerate(classes)}

    def value_of(atom: Atom) -> int:
        value = values[atom]
        return (every if value else 0) if isinstance(value, bool) else column[value]

    table = pattern.fold(value_of) & every
    return True if table == every else False if table == 0 else None


def _stride_sums(values: Tensor, step: int) -> Tensor:
    """The sums over keys k, k − step, k − 2·step, … for every k from −step on."""
    rows = -(-len(values) // step)
    padded = torch.zeros(rows + 1, step, dtype=torch.int32)
    padded.view(-1)[step : step + len(values)] = values
    return padded.cumsum(0, dtype=torch.int32).view(-1)
