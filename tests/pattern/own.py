"""Values of one's own, with nothing but `allows`, and a reader that looks positions up."""

from dataclasses import dataclass

import torch

from regard.pattern import Atom


@dataclass(frozen=True)
class Near(Atom):
    """Both sides alike."""

    reach: int

    def allows(self, q, k):
        return (q - k <= self.reach) & (k - q <= self.reach)


@dataclass(frozen=True)
class Jumps(Atom):
    """Rows that jump: far spans, gaps, rows with nothing; never itself at odd places."""

    seed: int

    def allows(self, q, k):
        return ((q * q * 7 + k * 5 + q * self.seed) % 11 < 4) & (q % 5 != 3) & ((q != k) | (q % 2 == 0))


class Others(Atom):
    """No field, no decorator: everyone but oneself."""

    def allows(self, q, k):
        return q != k


@dataclass(frozen=True)
class Roles(Atom):
    """A table of 24 roles is looked up: a position beyond it is an IndexError."""

    shift: int

    @property
    def total(self):
        return 24

    def allows(self, q, k):
        role = (torch.arange(24) * self.shift) % 7
        if isinstance(q, int):
            return bool(role[q] == role[k])
        return role[q] == role[k]


@dataclass(frozen=True)
class Early(Atom):
    """The keys alone decide: the answer has the shape of the keys."""

    first: int

    def allows(self, q, k):
        return k < self.first


OWN = (Near(2), Jumps(3), Others(), Early(4))
