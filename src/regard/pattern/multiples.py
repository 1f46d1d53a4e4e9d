"""Truth that depends on which steps divide a distance, as a sum over "L divides q − k".

The product of two such indicators is that of their least common multiple, so `&`, `|` and `~` stay inside:
a | b = a + b − ab and ~a = 1 − a. Each term has one weight for every combination of key classes.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern.spans import BlockTail, EveryStep
from regard.pattern.work import TooMuchError

if TYPE_CHECKING:
    from regard.pattern.base import Atom
    from regard.pattern.residues import State  # for its type alone: its sums are made of these

MOST_TERMS = 4096  # eight steps have at most 256
MOST_TAILS = 12  # 2^tails weights for each term


class Multiples:
    """Σ weight[L]·[L divides d] for distances |d| < most, of which only d = 0 is divisible by `most`."""

    def __init__(self, terms: dict[int, Tensor], most: int) -> None:
        self.terms, self.most = terms, most

    def __and__(self, that: Multiples) -> Multiples:
        if len(self.terms) * len(that.terms) > 16 * MOST_TERMS:
            raise TooMuchError
        out: dict[int, Tensor] = {}
        for one, weight in self.terms.items():
            for other, factor in that.terms.items():
                both = min(lcm(one, other), self.most)
                out[both] = out[both] + weight * factor if both in out else weight * factor
        return self._with(out)

    def __or__(self, that: Multiples) -> Multiples:
        return ~(~self & ~that)

    def __invert__(self) -> Multiples:
        out = {step: -weight for step, weight in self.terms.items()}
        out[1] = out[1] + 1 if 1 in out else torch.ones_like(next(iter(out.values())))
        return self._with(out)

    def _with(self, terms: dict[int, Tensor]) -> Multiples:
        kept = {step: weight for step, weight in terms.items() if bool(weight.any())}
        if len(kept) > MOST_TERMS:
            raise TooMuchError
        return Multiples(kept or {1: torch.zeros_like(next(iter(terms.values())))}, self.most)


def multiples(state: State, most: int) -> dict[int, Tensor]:
    """The terms of a state by their steps, the weights int64 (2^tails,): bit i says whether tail i holds."""
    if len(state.tails) > MOST_TAILS:
        raise TooMuchError
    cell = torch.arange(1 << len(state.tails))

    def value_of(atom: Atom) -> Multiples:
        member = state.members[atom]
        if isinstance(member, EveryStep):
            return Multiples({min(member.step, most): torch.ones_like(cell)}, most)
        if isinstance(member, BlockTail):
            return Multiples({1: cell >> state.tails.index(member) & 1}, most)
        return Multiples({1: torch.full_like(cell, int(member))}, most)

    folded = state.pattern.fold(value_of)  # type: ignore[type-var]
    terms = folded.terms
    return {step: weight for step, weight in terms.items() if bool(weight.any())}
