"""A pattern between a stretch of queries and any set of keys, numbered anew, as simple as it is there.

A rank attends from its own positions to the keys that it holds or received. Seen from there, most patterns
are simpler than they are: what lies far behind is seen whole, a band is a band, a window begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor

from regard.pattern import looking
from regard.pattern.anchored import Documents
from regard.pattern.base import And, Atom, Not, Or, Pattern
from regard.pattern.intervals import Intervals
from regard.pattern.needs import needed
from regard.pattern.runs import Runs
from regard.pattern.sequence import Causal, Full
from regard.pattern.spans import Positions, Span
from regard.pattern.tiling import TileSpan


@dataclass(frozen=True)
class _Between(Atom):
    """What the queries at first … first + n − 1 see of some keys: key i is the i-th of them.

    As everywhere, the queries are the last n of the keys' numbers, which may begin below 0.

    >>> from regard.pattern import Strided
    >>> from regard.pattern.intervals import between as stretched
    >>> print(_Between(Strided(back=2), 6, 2, Runs.of(stretched((1, 3), (4, 6)))).draw(2, 4))
    ..##
    ...#
    """

    whole: Atom
    first: int
    n: int
    keys: Runs
    places: Tensor = field(init=False, repr=False, compare=False, hash=False)  # where the keys stand
    fixed = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", self.keys.positions())

    @property
    def total(self) -> int | None:
        """It is for its own queries and keys alone, as `check` says."""
        return None

    def check(self, n: int, m: int) -> None:
        """Raise unless these are its queries and keys."""
        if (n, m) != (self.n, len(self.places)):
            raise ValueError(f"{self} is for {self.n} queries and {len(self.places)} keys, got {n=}, {m=}")

    def _query(self, q: Positions) -> Positions:
        """Where a query stands in the whole sequence."""
        return q + (self.first + self.n - len(self.places))

    def allows(self, q: Positions, k: Positions) -> Positions:
        """What the pattern allows where both stand."""
        if isinstance(k, Tensor):
            return self.whole.allows(self._query(q), self.places.to(k.device)[k])
        return self.whole.allows(self._query(q), int(self.places[k]))

    def _index(self, key: Tensor) -> Tensor:
        """How many of the keys stand before a position."""
        return torch.searchsorted(self.places, key)

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """The spans of the pattern, in the keys' own numbers; where it is thinned, the runs of keys."""
        found = self.whole.spans(self._query(q), self._stop)
        if any(span.thinning is not None for span in found):
            return looking.spans(self, q, m)
        return [Span(self._index(span.lo), self._index(span.hi)) for span in found]

    @property
    def _stop(self) -> int:
        """Behind the last position that there is."""
        return max(self.first + self.n, int(self.places[-1]) + 1 if len(self.places) else 0)

    def tile_groups(self, q0: Tensor, q1: Tensor, m: int, size: int) -> list[list[TileSpan]]:
        """Those of the pattern, in the keys' own numbers."""
        groups = self.whole.tile_groups(self._query(q0), self._query(q1), self._stop, size)
        return [[self._renumbered(span) for span in group] for group in groups]

    def _renumbered(self, span: TileSpan) -> TileSpan:
        lo, hi, all_lo, all_hi = map(self._index, (span.any_lo, span.any_hi, span.all_lo, span.all_hi))
        return TileSpan(lo, hi, all_lo, all_hi, span.sure)

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """The pattern's, where the keys of a tile lie in a row; else the place itself."""
        last = (k0 + size).clamp(max=len(self.places)) - 1
        start = self.places[k0]
        row = self.places[last] - start == last - k0
        found = self.whole.tile_key(self._query(q0), start, size)
        return [torch.where(row, -1, q0 - q0.min()), torch.where(row, -1, k0), *(x * row for x in found)]

    def __str__(self) -> str:
        return f"between({self.whole}, queries from {self.first} on, keys {self.keys})"


def between(pattern: Pattern, first: int, last: int, keys: Runs, n: int) -> Pattern | None:
    """What queries first ≤ q < last see of some keys of n positions, or None where that is nothing.

    >>> from regard.pattern import Global, Strided
    >>> from regard.pattern.intervals import between as stretched
    >>> pattern = Strided(back=4) | Global(first=2) & Causal()
    >>> between(pattern, 50, 60, Runs.of(stretched((50, 60))), 100)
    Strided(back=4)
    >>> between(pattern, 50, 60, Runs.of(stretched((0, 2))), 100)
    Full()
    """
    rows = [first, last]
    given = keys.intervals()

    def verdict(atom: Atom) -> bool | Pattern:
        """True or False where a value is so for all these pairs."""
        if not atom.gives("spans"):
            return atom
        if not _meet(needed(atom, rows, n)[0], given):
            return False
        return atom if _meet(needed(~atom, rows, n)[0], given) else True

    found = _reduced(pattern, verdict)
    if isinstance(found, bool):
        return Full() if found else None

    def renumbered(atom: Atom) -> Pattern:
        moved = _moved(atom, first, last, given)
        return _Between(atom, first, last - first, keys) if moved is None else moved

    return _with(found, {atom: renumbered(atom) for atom in found.atoms()})


def rows_that_see(pattern: Pattern, first: int, last: int, keys: Intervals, n: int) -> tuple[int, int]:
    """The first of the queries that sees one of the keys, and behind the last; (first, first) if none does.

    >>> from regard.pattern import Strided
    >>> from regard.pattern.intervals import between as stretched
    >>> rows_that_see(Strided(back=3), 10, 20, stretched((0, 10)), 20)
    (10, 13)
    """
    if not all(atom.gives("spans") for atom in pattern.atoms()):
        return first, last

    def some(a: int, b: int) -> bool:
        return _meet(needed(pattern, [a, b], n)[0], keys)

    if not some(first, last):
        return first, first
    low, high = first, last - 1  # the last row that sees: rows from it on see, rows behind it do not
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if some(middle, last) else (low, middle - 1)
    stop = low + 1
    low, high = first, stop - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if some(first, middle + 1) else (middle + 1, high)
    return low, stop


def _meet(a: Intervals, b: Intervals) -> bool:
    return len((a & b).lo) > 0


def _reduced(pattern: Pattern, verdict: Callable[[Atom], bool | Pattern]) -> bool | Pattern:
    """The expression without the values that are always or never so."""
    if isinstance(pattern, Atom):
        return verdict(pattern)
    if isinstance(pattern, Not):
        part = _reduced(pattern.part, verdict)
        return not part if isinstance(part, bool) else ~part
    assert isinstance(pattern, And | Or)
    decides = isinstance(pattern, Or)  # one True decides a union, one False an intersection
    parts = [_reduced(part, verdict) for part in pattern.parts]
    if decides in [part for part in parts if isinstance(part, bool)]:
        return decides
    left = list(dict.fromkeys(part for part in parts if not isinstance(part, bool)))
    if not left:
        return not decides
    return left[0] if len(left) == 1 else type(pattern)(tuple(left))


def _moved(atom: Atom, first: int, last: int, keys: Intervals) -> Pattern | None:
    """The value in the keys' own numbers, where it is one of its kind: the queries are the last keys."""
    if not len(keys.lo) or int(keys.hi[-1]) != last or int(keys.lo[-1]) > first:
        return None
    start, apart = int(keys.lo[0]), len(keys.lo) > 1
    if isinstance(atom, Causal):
        return atom  # only the order counts
    if apart:
        return None
    if isinstance(atom, Documents):
        edges = [0, *atom.ends.tolist()]
        cut = [min(b, last) - max(a, start) for a, b in pairwise(edges)]
        return Documents(tuple(length for length in cut if length > 0))
    if atom.distance:
        return atom
    repeats = atom.period is not None and start % atom.period == 0
    return atom if repeats and atom.horizon is not None and atom.horizon[1] == 0 else None


def _with(pattern: Pattern, values: dict[Atom, Pattern]) -> Pattern:
    """The expression with each value replaced."""
    if isinstance(pattern, Atom):
        return values[pattern]
    if isinstance(pattern, Not):
        return ~_with(pattern.part, values)
    assert isinstance(pattern, And | Or)
    return type(pattern)(tuple(_with(part, values) for part in pattern.parts))
