"""Pairs at any length from few rows, for patterns that repeat.

Let P be the least common multiple of the values' periods and W the longest of them, or more where some value
tells keys ahead apart for longer; F the first positions that some value treats specially, B the larger of W
and of how far back some value treats keys specially, and T = F + B + 1. Then

1. (q + P, k + P) is allowed as (q, k) is, for q, k ≥ F: only the first F positions are tied to a place;
2. (q + P, k) is allowed as (q, k) is, for q − k > B and q ≥ F: so far back no key is in a window of the
   query, and a value asks for residues alone;
3. for k ≥ max(F, q + W) whether q sees k does not depend on k: no value tells later windows apart.

Let R(q, m) be the number of keys in [0, m) that q sees, and v whether a query q ≥ F sees the far future (3).
By 1 and 2, from q ≥ T on each step from q to q + P adds the same number of keys up to the query: P far keys,
whose residues are those of the step before. With 3, Δ(q) = R(q + P, m) − R(q, m) depends on q mod P alone, as
long as q + P + W ≤ m. Let M = m − J·P be the least such number that is at least T + 2P + W. Then

    head   q < T           R(q, m) = R(q, M) + (m − M)·[q sees M − 1]                    by 3
    body   T ≤ q < m − W   R(q, m) = R(p, M) + (m − M)·v + j·Δ(p), q = p + j·P, T ≤ p < T + P
    tail   m − W ≤ q       R(q, m) = R(q − J·P, M) + J·(Δ + v·P)                         by 1, far keys by 2

so that R(·, M) of T + 2P + W rows gives the sum over any rows at any length, in Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.pattern.base import Pattern


@dataclass(frozen=True)
class Rhythm:
    """After how many positions a pattern repeats, and from which query on."""

    period: int
    window: int
    back: int
    first: int

    @property
    def start(self) -> int:
        """T of the proof above."""
        return self.first + max(self.back, self.window) + 1

    def shorter(self, m: int) -> int:
        """M of the proof above, or m where it is no longer than that."""
        return m if m < self.rows else self.rows + (m - self.rows) % self.period

    @property
    def rows(self) -> int:
        """How many rows have to be counted at most."""
        return self.start + 2 * self.period + self.window


def rhythm(pattern: Pattern) -> Rhythm | None:
    """When a pattern repeats (None: some value does not say that it does)."""
    atoms = pattern.atoms()
    if not all(atom.repeats and atom.gives("spans") for atom in atoms):
        return None
    periods = [atom.period for atom in atoms if atom.period is not None]
    horizons = [atom.horizon for atom in atoms if atom.horizon is not None]
    if not len(periods) == len(horizons) == len(atoms):
        return None
    back, first = (max(horizon[i] for horizon in horizons) for i in range(2))
    window = max(*periods, *(atom.horizon_ahead for atom in atoms))
    return Rhythm(lcm(*periods), window, back, first)


Rows = tuple[int, int]  # start ≤ q < stop
Count = Callable[[list[Rows]], list[int]]  # how many keys the rows of each range see, all together


class RowTotals:
    """Sums of rows between given cuts; each range of rows is counted once."""

    def __init__(self, count: Count, cuts: Iterable[int], without: Rows) -> None:
        self.without = without
        gaps = list(pairwise(sorted(set(cuts))))
        asked = [gap for gap in gaps if not without[0] <= gap[0] < without[1]]
        found = dict(zip(asked, count(asked), strict=True))
        sums = accumulate(found.get(gap, 0) for gap in gaps)
        self.before = {gaps[0][0]: 0} | {stop: total for (_, stop), total in zip(gaps, sums, strict=True)}

    def between(self, start: int, stop: int) -> int:
        """The sum of the rows start ≤ q < stop."""
        low, high = self.without
        assert start >= high or stop <= low or low >= high, "these rows were not counted"
        return self.before[stop] - self.before[start]


def tails(pattern: Pattern, beat: Rhythm, firsts: list[int], m: int, count: Count) -> list[int]:
    """The pairs of the queries from each of some rows on with m keys; `count` sums R(q, M) over ranges."""
    period, start, short = beat.period, beat.start, beat.shorter(m)
    end = m - beat.window  # of the body
    left_out = m - short
    ahead = int(pattern.allows(start, short - 1))  # v
    cuts = {start + 2 * period, short}
    for since in firsts:
        body, tail = max(since, start), max(since, end)
        for rest in {0, *((q - start) % period for q in (body, end, tail - left_out, short))}:
            cuts |= {start + rest, start + rest + period}
        cuts |= {min(since, start), tail - left_out}
    rows = RowTotals(count, cuts, (start + 2 * period, max(min(firsts), end) - left_out))

    def classes(rest: int) -> tuple[int, int]:
        """Of the first `rest` classes: the sum of their first rows, and of what each turn adds to them."""
        once = rows.between(start, start + rest)
        return once, rows.between(start + period, start + period + rest) - once

    def until(q: int) -> int:
        """The rows from T to before q of the body, as they are at M."""
        turns, rest = divmod(q - start, period)
        (whole, whole_adds), (some, some_add) = classes(period), classes(rest)
        return turns * whole + turns * (turns - 1) // 2 * whole_adds + some + turns * some_add

    def added(q: int) -> int:
        """What a turn adds to all rows from T to before q."""
        turns, rest = divmod(q - start, period)
        return turns * classes(period)[1] + classes(rest)[1]

    def tail_of(since: int) -> int:
        total, body, tail = 0, max(since, start), max(since, end)
        if since < start:
            total += rows.between(since, start) + left_out * _seeing(pattern, since, start, short - 1)
        if since < end:
            total += until(end) - until(body) + ahead * left_out * (end - body)
        total += rows.between(tail - left_out, short)
        total += left_out // period * (added(short) - added(tail - left_out) + ahead * period * (m - tail))
        return total

    return [tail_of(since) for since in firsts]


def _seeing(pattern: Pattern, start: int, stop: int, k: int) -> int:
    """How many queries of the head see a key far ahead: alike between the values' first positions."""
    cuts = {start, stop, *(atom.horizon[1] for atom in pattern.atoms() if atom.horizon is not None)}
    steps = pairwise(sorted(cut for cut in cuts if start <= cut <= stop))
    return sum(high - low for low, high in steps if pattern.allows(low, k))
