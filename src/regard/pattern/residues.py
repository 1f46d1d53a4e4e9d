"""How many keys of a stretch count where residue classes decide: a difference of two prefix sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from regard.pattern.multiples import multiples
from regard.pattern.spans import BlockTail, EveryStep, Thinning
from regard.pattern.sweep import truth_columns
from regard.pattern.work import Work

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern

MOST_CLASSES = 16  # of a state whose truth table is written down
PER_CELL, PER_ASKED = 8, 9  # steps of work for each number of a table, and for each row that asks it


class State:
    """What holds between two edges: of each atom's keys none count, all, or those of a residue class."""

    def __init__(self, pattern: Pattern, members: Mapping[Atom, bool | Thinning]) -> None:
        self.pattern, self.members = pattern, members
        classes = dict.fromkeys(member for member in members.values() if not isinstance(member, bool))
        self.steps = [one for one in classes if isinstance(one, EveryStep)]
        self.tails = [one for one in classes if isinstance(one, BlockTail)]

    def verdict(self) -> bool | None:
        """True or False where all keys or none count whatever the residue classes say, else None."""
        classes = [*self.steps, *self.tails]
        if len(classes) > MOST_CLASSES:
            return None
        columns, always = truth_columns(len(classes))
        column_of = dict(zip(classes, columns, strict=True))

        def value_of(atom: Atom) -> int:
            member = self.members[atom]
            return (always if member else 0) if isinstance(member, bool) else column_of[member]

        table = self.pattern.fold(value_of) & always
        return None if table not in (0, always) else table == always

    def seen(self, holds: Mapping[Thinning, Tensor]) -> Tensor:
        """Where the expression is true, given where each residue class holds."""

        def value_of(atom: Atom) -> Tensor:
            member = self.members[atom]
            return torch.tensor(member) if isinstance(member, bool) else holds[member]

        return self.pattern.fold(value_of)


class PrefixSums(Protocol):
    """Sums from which a count of any stretch of keys is one subtraction."""

    def between(self, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        """How many of the keys lo ≤ k < hi count for the query at q, for each row."""


@dataclass(frozen=True)
class ByKey:
    """The keys alone decide, over and over after `period` of them."""

    before: Tensor  # over the first 0, 1, …, period keys
    period: int

    def between(self, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        """The keys below hi but not below lo."""
        return repeated(self.before, self.period, hi) - repeated(self.before, self.period, lo)


@dataclass(frozen=True)
class ByDistance:
    """The distances q − k alone decide, over and over after `period` of them."""

    before: Tensor  # over the distances from −shift on, the first 0, 1, …, period of them
    period: int
    shift: int

    def between(self, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        """The distances up to q − lo, but not up to q − hi."""
        start = q + 1 + self.shift
        return repeated(self.before, self.period, start - lo) - repeated(self.before, self.period, start - hi)


@dataclass(frozen=True)
class EveryMultiple:
    """Keys at distances divisible by the step count, all with the same weight."""

    step: int
    weight: int

    def between(self, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        """The multiples up to q − lo, but not up to q − hi."""
        return ((q - lo).long() // self.step - (q - hi).long() // self.step) * self.weight


@dataclass(frozen=True)
class AlongStep:
    """Keys at distances divisible by the step count, each with its own weight."""

    before: Tensor  # over k, k − step, k − 2·step, … for every k from −step on
    step: int
    period: int | None  # after which the weights repeat (None: the sums reach over all keys)

    def between(self, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        """The sum up to the last key below hi in q's class, less that up to the last below lo."""
        top = self._until(hi - 1 - (hi - 1 - q) % self.step)
        if not lo.any():
            return top.long()
        return (top - self._until(lo - 1 - (lo - 1 - q) % self.step)).long()

    def _until(self, key: Tensor) -> Tensor:
        if self.period is None:
            return at(self.before, key + self.step)
        rest = key % self.period
        once = at(self.before, rest % self.step + self.period).long()  # one period of the class
        return at(self.before, rest + self.step) + (key // self.period).long() * once


class Residues:
    """The prefix sums over keys [0, m) of states in which residue classes decide."""

    def __init__(self, m: int, work: Work) -> None:
        self.m, self.work = m, work
        self.key_classes: dict[BlockTail, Tensor] = {}

    def sums(self, state: State, rows: int) -> Iterator[PrefixSums]:
        """Sums that add up to a state's count, one after another, each to be asked about so many rows."""
        if not state.tails:
            yield from self._by_distance(state, rows)
        elif not state.steps:
            yield self._by_key(state, rows)
        else:
            yield from self._by_both(state, rows)

    def _spend(self, table: int, rows: int, classes: int = 1) -> None:
        """Take the steps of filling a table and asking it, or raise before it is made."""
        self.work.spend(PER_CELL * classes * table + PER_ASKED * rows, held=table)

    def _by_distance(self, state: State, rows: int) -> Iterator[PrefixSums]:
        period = lcm(*(one.step for one in state.steps))
        if min(period, 2 * self.m) > self.work.table:  # few steps have few multiples, however long they are
            for step, weight in multiples(state, self.m).items():
                self._spend(0, 2 * rows)
                yield EveryMultiple(step, int(weight))
            return
        start, count = (0, period) if period < self.m else (1 - self.m, 2 * self.m - 1)
        self._spend(count, rows, len(state.steps))
        distance = torch.arange(start, start + count)
        seen = state.seen({one: distance % one.step == 0 for one in state.steps})
        yield ByDistance(prefix(seen.expand_as(distance)), count, -start)

    def _by_key(self, state: State, rows: int) -> ByKey:
        count = min(lcm(*(one.period for one in state.tails)), self.m)
        self._spend(count, rows, len(state.tails))
        seen = state.seen({one: self._keys_of(one, count) for one in state.tails})
        return ByKey(prefix(seen.expand(count)), count)

    def _by_both(self, state: State, rows: int) -> Iterator[AlongStep]:
        """Steps and tails together: each product of steps weighs the keys, summed along its own classes."""
        cycle = lcm(*(one.period for one in state.tails))
        terms = multiples(state, self.m)
        longest = min(max(lcm(step, cycle) for step in terms), self.m)
        self._spend(longest, 0, len(state.tails))
        cells = self._cells(state.tails, longest)
        for step, weight in terms.items():
            period = lcm(step, cycle)
            count = min(period, self.m)
            self._spend(count, 2 * rows)
            values = weight.int().gather(0, cells[:count])
            yield AlongStep(_stride_sums(values, step), step, period if period < self.m else None)

    def _cells(self, tails: list[BlockTail], count: int) -> Tensor:
        """Which tails hold at the first keys, as bits."""
        cells = torch.zeros(count, dtype=torch.int32)
        for i, tail in enumerate(tails):
            cells += self._keys_of(tail, count).int() << i
        return cells.long()

    def _keys_of(self, tail: BlockTail, count: int) -> Tensor:
        """Which of the first keys lie in the tails; made once for the longest."""
        known = self.key_classes.get(tail)
        if known is None or len(known) < count:
            known = self.key_classes[tail] = torch.arange(count) % tail.period >= tail.first
        return known[:count]


def repeated(before: Tensor, period: int, places: Tensor) -> Tensor:
    """Sums over the first so many values, which repeat after `period` of them."""
    places = places.long()
    if len(places) == 0 or (int(places.min()) >= 0 and int(places.max()) <= period):
        return before.gather(0, places)  # nothing repeats yet: two divisions saved
    return places // period * before[-1] + before.gather(0, places % period)


def prefix(values: Tensor) -> Tensor:
    """Sums of the first 0, 1, … values, int64."""
    out = torch.zeros(len(values) + 1, dtype=torch.long)
    torch.cumsum(values, 0, out=out[1:])
    return out


def at(values: Tensor, where: Tensor) -> Tensor:
    """The values at some places, by `gather`, which does not wake torch's threads."""
    return values.gather(0, where.long())


def _stride_sums(values: Tensor, step: int) -> Tensor:
    """The sums over keys k, k − step, k − 2·step, … for every k from −step on."""
    rows = -(-len(values) // step)
    padded = torch.zeros(rows + 1, step, dtype=torch.int32)
    padded.view(-1)[step : step + len(values)] = values
    return padded.cumsum(0, dtype=torch.int32).view(-1)
