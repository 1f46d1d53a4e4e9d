"""How many keys of a stretch count where residue classes decide: a difference of two prefix sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import lcm
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from regard.pattern.spans import BlockTail, EveryStep, Thinning
from regard.pattern.sweep import truth_columns

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern

MOST_CLASSES = 16  # of a state whose truth table is written down


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
    """The keys alone decide."""

    before: Tensor  # over the first 0, 1, … keys

    def between(self, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        """The keys below hi but not below lo."""
        return at(self.before, hi) - at(self.before, lo)


@dataclass(frozen=True)
class ByDistance:
    """The distances q − k alone decide."""

    before: Tensor  # over the distances from 1 − keys on
    keys: int

    def between(self, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        """The distances up to q − lo, but not up to q − hi."""
        return at(self.before, q - lo + self.keys) - at(self.before, q - hi + self.keys)


@dataclass(frozen=True)
class AlongStep:
    """Keys at distances divisible by the step count, each with its own weight."""

    before: Tensor  # over k, k − step, k − 2·step, … for every k from −step on
    step: int

    def between(self, q: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        """The sum up to the last key below hi in q's class, less that up to the last below lo."""
        top = at(self.before, hi - 1 - (hi - 1 - q) % self.step + self.step)
        if not lo.any():
            return top.long()
        return (top - at(self.before, lo - 1 - (lo - 1 - q) % self.step + self.step)).long()


class Residues:
    """The prefix sums over keys [0, m) of states in which residue classes decide."""

    def __init__(self, m: int) -> None:
        self.m = m
        self.key_classes: dict[BlockTail, Tensor] = {}

    def sums(self, state: State) -> Iterator[PrefixSums]:
        """Sums that add up to a state's count, one after another: each is as long as the keys."""
        if not state.tails:
            yield self._by_distance(state)
        elif not state.steps:
            yield self._by_key(state)
        else:
            yield from self._by_both(state)

    def _by_distance(self, state: State) -> ByDistance:
        distance = torch.arange(-self.m + 1, self.m)
        seen = state.seen({one: distance % one.step == 0 for one in state.steps})
        return ByDistance(prefix(seen.expand_as(distance)), self.m)

    def _by_key(self, state: State) -> ByKey:
        return ByKey(prefix(state.seen({one: self._keys_of(one) for one in state.tails}).expand(self.m)))

    def _by_both(self, state: State) -> Iterator[AlongStep]:
        """Steps and tails together: expand in the products of the steps' indicators.

        A product of "step divides q − k" is "their lcm divides q − k", so each term is a function of the
        key alone, summed along one residue class of k.
        """
        cell = torch.arange(1 << len(state.tails))  # which tails hold, as bits
        tails: dict[Thinning, Tensor] = {one: (cell >> i & 1).bool() for i, one in enumerate(state.tails)}

        def where_exactly(subset: frozenset[EveryStep]) -> Tensor:
            steps: dict[Thinning, Tensor] = {one: torch.tensor(one in subset) for one in state.steps}
            return state.seen(tails | steps).expand(len(cell)).int()

        sizes = range(len(state.steps) + 1)
        subsets = [frozenset(some) for size in sizes for some in combinations(state.steps, size)]
        terms = {subset: where_exactly(subset) for subset in subsets}
        for one in state.steps:  # Möbius: from "exactly these steps divide" to products of indicators
            for subset in subsets:
                if one in subset:
                    terms[subset] = terms[subset] - terms[subset - {one}]
        by_step: dict[int, Tensor] = {}
        for subset in subsets:
            common = min(lcm(*(one.step for one in subset)), self.m)  # from m on only k = q is left
            by_step[common] = by_step.get(common, torch.zeros_like(terms[subset])) + terms[subset]
        cells = torch.zeros(self.m, dtype=torch.int32)
        for i, tail in enumerate(state.tails):
            cells += self._keys_of(tail).int() << i
        cells = cells.long()
        for step, term in by_step.items():
            if term.any():
                yield AlongStep(_stride_sums(term.gather(0, cells), step), step)

    def _keys_of(self, tail: BlockTail) -> Tensor:
        """Which keys lie in the tails; made once."""
        if tail not in self.key_classes:
            self.key_classes[tail] = torch.arange(self.m) % tail.period >= tail.first
        return self.key_classes[tail]


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
