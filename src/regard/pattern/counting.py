"""Exact counts of allowed pairs, in time and memory that grow with n, never with n·m.

A pattern that depends on the distance q − k alone is counted by distance. Any other row is cut where one
of its spans begins or ends; inside a segment each value is on, off or a residue class, so the segment's
count is its length or a difference of two prefix sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import combinations
from math import lcm
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern.spans import Span
from regard.pattern.sweep import Edges

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern

CHUNK = 1 << 16  # rows at a time: the working set stays in cache
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
    counter = Counter(pattern, m)
    return sum(int(counter.rows(q).sum()) for q in _ranges(m - n, m, BATCH))


def row_pairs(pattern: Pattern, n: int, m: int) -> Tensor:
    """The number of keys each of the last n queries may see."""
    if n == 0 or m == 0:
        return torch.zeros(n, dtype=torch.long)
    if pattern.by_distance:
        before = prefix(pattern.allows(torch.arange(1 - n, m), 0))  # by distance, from 1 − n
        q = torch.arange(m - n, m)
        return before[q + n] - before[q + n - m]
    counter = Counter(pattern, m)
    return torch.cat([counter.rows(q) for q in _ranges(m - n, m, BATCH)])


def prefix(values: Tensor) -> Tensor:
    """Sums of the first 0, 1, … values, int64."""
    out = torch.zeros(len(values) + 1, dtype=torch.long)
    torch.cumsum(values, 0, out=out[1:])
    return out


def _ranges(start: int, stop: int, size: int) -> Iterable[Tensor]:
    return (torch.arange(lo, min(lo + size, stop)) for lo in range(start, stop, size))


def _pairs_at(pattern: Pattern, d: Tensor, n: int, m: int) -> int:
    # Queries q with q − d a key: max(m − n, d) ≤ q < min(m, m + d).
    queries = torch.clamp(d + m, max=m) - torch.clamp(d, min=m - n)
    return int((queries.clamp(min=0) * pattern.allows(d, 0)).sum())


class Counter:
    """Counts rows of one pattern over keys [0, m); prefix sums are made once and kept."""

    def __init__(self, pattern: Pattern, m: int) -> None:
        self.pattern, self.m = pattern, m
        self.atoms = pattern.atoms()
        self.bits: list[tuple[Atom, Thinning]] = []
        self.states: list[int] = []
        self.counts: list[Terms | bool] = []

    def rows(self, q: Tensor, end: Tensor | None = None, spans_of: SpansOf | None = None) -> Tensor:
        """How many of the keys [0, end) each query sees; `spans_of` replaces the atoms' own spans."""
        end = torch.full_like(q, self.m) if end is None else end
        total = torch.zeros_like(q)
        thinned: dict[int, list[tuple[Tensor, ...]]] = {}
        narrow = torch.int32 if self.m < 1 << 31 else torch.int64
        for start in range(0, len(q), CHUNK):
            part = slice(start, start + CHUNK)
            edges = Edges(torch.zeros_like(q[part]), end[part])
            for atom in self.atoms:
                for span in atom.spans(q[part], self.m) if spans_of is None else spans_of(atom, q[part]):
                    edges.add(span.lo, span.hi, self._bit(atom, span.thinning))
            for lo, hi, state in edges.segments(self.states):
                self.counts += [self._count_of(new) for new in self.states[len(self.counts) :]]
                length = hi - lo
                total[part] += length * torch.tensor([int(count is True) for count in self.counts])[state]
                open_ = torch.tensor([not isinstance(count, bool) for count in self.counts])[state] & (
                    length > 0
                )
                for index in state[open_].unique().tolist():
                    row = (open_ & (state == index)).nonzero()[:, 0]
                    held = tuple(x.to(narrow) for x in (row + start, lo[row], hi[row]))
                    thinned.setdefault(index, []).append(held)
        # One state after another, and one prefix sum after another: each is as long as the keys.
        for index, parts in thinned.items():
            terms = self.counts[index]
            assert not isinstance(terms, bool)
            for term in terms():
                for held in parts:
                    row, lo, hi = (x.long() for x in held)
                    total[row] += term(q[row], lo, hi)
        return total

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

    def _by_distance(self, values: Values) -> Iterable[Count]:
        distance = torch.arange(-self.m + 1, self.m)
        seen = self._seen(values, lambda step: distance % step == 0, _none)
        before = prefix(seen.expand_as(distance))
        yield lambda q, lo, hi: before[q - lo + self.m] - before[q - hi + self.m]

    def _by_key(self, values: Values) -> Iterable[Count]:
        key = torch.arange(self.m)
        before = prefix(self._seen(values, _none, lambda period, first: key % period >= first).expand_as(key))
        yield lambda q, lo, hi: before[hi] - before[lo]

    def _by_both(self, values: Values, steps: list[int]) -> Iterable[Count]:
        """Steps and key classes together: expand in the products of the steps' indicators.

        A product of "step divides q − k" is "their lcm divides q − k", so each term is a function of the
        key alone, summed along one residue class of k.
        """
        key = torch.arange(self.m)
        tails = cache(lambda period, first: key % period >= first)
        small = torch.int8 if len(steps) < 8 else torch.int32  # a term is below 2 ** len(steps)
        subsets = [frozenset(c) for size in range(len(steps) + 1) for c in combinations(steps, size)]
        terms = {
            subset: self._seen(values, lambda step, s=subset: torch.tensor(step in s), tails)
            .expand(self.m)
            .to(small)
            for subset in subsets
        }
        for step in steps:  # Möbius: from "exactly these steps divide" to products of indicators
            for subset in subsets:
                if step in subset:
                    terms[subset] -= terms[subset - {step}]
        by_step: dict[int, Tensor] = {}
        for subset in subsets:
            common = min(lcm(*subset), self.m)  # from m on only k = q is left
            term = terms.pop(subset)
            by_step[common] = by_step[common] + term.int() if common in by_step else term

        for step in list(by_step):
            yield partial(_along, _stride_sums(by_step.pop(step), step), step)


def _along(before: Tensor, step: int, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
    """What the keys [lo, hi) in q's class hold, `before` being the sums along the classes."""
    top = hi - 1 - (hi - 1 - q) % step  # the last key below hi in q's class, maybe below lo
    bottom = lo - 1 - (lo - 1 - q) % step
    return before[top + step] - before[bottom + step]


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
