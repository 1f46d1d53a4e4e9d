"""Values tied to places of the sequence: its first positions, its documents, random blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from regard.pattern.base import Atom, check_field
from regard.pattern.sequence import triangle
from regard.pattern.spans import CacheBound, Positions, Span
from regard.pattern.tiling import TileSpan, tile_spans

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class Global(Atom):
    """Everyone sees the first `first` positions, and those see everyone; decoders add `& Causal()`.

    >>> print(Global(first=1).draw(4))
    ####
    #...
    #...
    #...
    """

    first: int
    repeats = True
    letters: ClassVar = {"first": "g"}
    monotone = True
    period = 1

    def __post_init__(self) -> None:
        check_field("first", self.first, 0)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """Either is one of the first."""
        return (q < self.first) | (k < self.first)

    @property
    def horizon(self) -> tuple[int, int]:
        """The first positions."""
        return 0, self.first

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """Everything for the first, the first for everyone."""
        return [Span(torch.zeros_like(q), torch.where(q < self.first, m, self.first))]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """All earlier queries of the first, the first of the others."""
        return torch.zeros_like(k), k.clamp(max=self.first)

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """How far into the first both stand."""
        return [q0.clamp(max=self.first), k0.clamp(max=self.first)]

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """g rows and g columns, their corner counted once."""
        from sympy import Piecewise

        g = fields["first"]
        return Piecewise((g * (2 * n - g), n >= g), (n**2, True))

    def kept(self) -> CacheBound | None:
        """The first."""
        return CacheBound(first=self.first)


@dataclass(frozen=True)
class Prefix(Atom):
    """Full attention inside the first `length` positions, causal after them.

    >>> print(Prefix(length=2).draw(4))
    ##..
    ##..
    ###.
    ####
    """

    length: int
    repeats = True
    letters: ClassVar = {"length": "p"}
    sees_itself = True
    monotone = True
    period = 1

    def __post_init__(self) -> None:
        check_field("length", self.length, 0)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """k ≤ q, or both in the prefix."""
        return (k <= q) | ((q < self.length) & (k < self.length))

    @property
    def horizon(self) -> tuple[int, int]:
        """The prefix."""
        return 0, self.length

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """[0, q], in the prefix all of it."""
        return [Span(torch.zeros_like(q), (q + 1).clamp(min=self.length))]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """The earlier queries, for a key of the prefix."""
        return torch.zeros_like(k), torch.where(k < self.length, k, 0)

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """The distance, and how far into the prefix both stand."""
        return [(q0 - k0).clamp(-size, size), q0.clamp(max=self.length), k0.clamp(max=self.length)]

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """A triangle, and the upper half of the prefix."""
        from sympy import Piecewise

        p = fields["length"]
        return Piecewise((triangle(n) + p * (p - 1) / 2, n >= p), (n**2, True))

    def complement_kept(self) -> CacheBound | None:
        """The complement sees later keys only."""
        return CacheBound()


@dataclass(frozen=True)
class Documents(Atom):
    """Documents of the given lengths, one after another; a query sees all of its own.

    >>> print(Documents(lengths=(1, 3)).draw(4))
    #...
    .###
    .###
    .###
    """

    lengths: tuple[int, ...]
    ends: Tensor = field(init=False, repr=False, compare=False, hash=False)
    hashed: int = field(init=False, repr=False, compare=False, hash=False)  # once: there may be many lengths
    sees_itself = True
    monotone = True

    def __post_init__(self) -> None:
        if not isinstance(self.lengths, tuple | list) or not self.lengths:
            raise ValueError(f"lengths must be one number for each document, got lengths={self.lengths!r}")
        object.__setattr__(self, "lengths", tuple(self.lengths))
        for i, length in enumerate(self.lengths):
            check_field(f"lengths[{i}]", length, 1)
        object.__setattr__(self, "ends", torch.tensor(list(accumulate(self.lengths))))
        object.__setattr__(self, "hashed", hash(self.lengths))

    def __hash__(self) -> int:
        return self.hashed

    @property
    def total(self) -> int | None:
        """The sum of the lengths."""
        return int(self.ends[-1])

    @property
    def turns(self) -> list[tuple[int, int]] | None:
        """Where documents begin."""
        return [(end, 0) for end in self.ends.tolist()]

    def numbers(self) -> Tensor:
        """The document of each position, int64 (total,).

        >>> Documents(lengths=(1, 3)).numbers().tolist()
        [0, 1, 1, 1]
        """
        return torch.repeat_interleave(torch.arange(len(self.lengths)), torch.tensor(self.lengths))

    def _document(self, position: Positions) -> Positions:
        if isinstance(position, Tensor):
            return torch.bucketize(position, self.ends.to(position.device), right=True)
        return int(torch.bucketize(position, self.ends, right=True))

    def allows(self, q: Positions, k: Positions) -> Positions:
        """The same document."""
        return self._document(q) == self._document(k)

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """The document."""
        starts = torch.cat([self.ends.new_zeros(1), self.ends])
        document = self._document(q).clamp(max=len(self.lengths) - 1)
        return [Span(starts.gather(0, document), self.ends.gather(0, document))]

    def kept(self) -> CacheBound | None:
        """The longest document."""
        return CacheBound(recent=max(self.lengths))

    def __str__(self) -> str:
        return f"documents(({', '.join(map(str, self.lengths))}))"


@dataclass(frozen=True)
class RandomBlocks(Atom):
    """A query sees its own block of `size` and `per_row` earlier blocks drawn for its block row.

    The earlier blocks are split into `per_row` equal strata and a hash of (seed, block row, stratum) picks
    one from each: no block twice, the far past as likely as the near, and nothing depends on n.

    >>> print(RandomBlocks(size=2, per_row=1, seed=7).draw(8))
    ##......
    ##......
    ####....
    ####....
    ##..##..
    ##..##..
    ##....##
    ##....##
    """

    size: int = 64
    per_row: int = 3
    seed: int = 7
    sees_itself = True

    def __post_init__(self) -> None:
        check_field("size", self.size, 1)
        check_field("per_row", self.per_row, 0, MOST_PER_ROW)
        check_field("seed", self.seed, 0, _WORD - 1)

    @property
    def turns(self) -> list[tuple[int, int]] | None:
        """Where blocks begin."""
        return [(0, self.size)]

    def _pick(self, row: Positions, stratum: int) -> tuple[Positions, Positions]:
        """(the block drawn from a stratum of the earlier blocks, whether the stratum has any)."""
        start, stop = row * stratum // self.per_row, row * (stratum + 1) // self.per_row
        width = stop - start
        mixed = _mix(_mix(_mix(row % _WORD) ^ (stratum * 0x9E3779B1 % _WORD)) ^ (self.seed % _WORD))
        one = width.clamp(min=1) if isinstance(width, Tensor) else max(width, 1)
        return start + mixed % one, width > 0

    def allows(self, q: Positions, k: Positions) -> Positions:
        """The same block, or one drawn for it."""
        row, block = q // self.size, k // self.size
        out: Positions = row == block
        for stratum in range(self.per_row):
            pick, exists = self._pick(row, stratum)
            out = out | (exists & (block == pick))
        return out

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """One span per block."""
        row, which = torch.unique_consecutive(q // self.size, return_inverse=True)  # few rows to draw for
        blocks = [(row, row + 1)]
        for stratum in range(self.per_row):
            pick, exists = self._pick(row, stratum)
            blocks.append((pick, pick + exists.long()))
        return [
            Span((first * self.size).gather(0, which), (last * self.size).gather(0, which))
            for first, last in blocks
        ]

    def tile_groups(self, q0: Tensor, q1: Tensor, m: int, size: int) -> list[list[TileSpan]]:
        """One group for each block row that a tile may touch: their draws have nothing in common."""
        rows = [(q0 // self.size + i) * self.size for i in range(-(-size // self.size) + 1)]
        inside = [torch.minimum(torch.maximum(row, q0), q1 - 1) for row in rows]
        return [tile_spans(spans, spans) for spans in (self.spans(q, m) for q in inside)]

    def kept(self) -> CacheBound | None:
        """The block, where nothing else is drawn."""
        return None if self.per_row else CacheBound(recent=self.size)

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """There is none."""
        raise ValueError(f"{self} has no formula in n: its blocks are drawn at random")


MOST_PER_ROW = 1024  # each is hashed for, one after another

_WORD = 1 << 32


def _mix(x: Positions) -> Positions:
    # Multiplications stay below 2**63, so that integers and int64 tensors agree.
    x = (x ^ (x >> 16)) * 0x45D9F3B % _WORD
    x = (x ^ (x >> 16)) * 0x45D9F3B % _WORD
    return x ^ (x >> 16)
