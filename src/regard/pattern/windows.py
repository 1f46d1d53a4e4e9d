"""Values that cut the sequence into equal parts: windows, blocks, and blocks with summaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from regard.pattern.base import Atom, check_field
from regard.pattern.sequence import nobody, triangle
from regard.pattern.spans import CacheBound, Positions, Span

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class Windowed(Atom):
    """The sequence is cut into windows of `size`; a query sees itself and what precedes it in its window.

    >>> print(Windowed(size=3).draw(7))
    #......
    ##.....
    ###....
    ...#...
    ...##..
    ...###.
    ......#
    """

    size: int
    repeats = True
    letters: ClassVar = {"size": "w"}
    sees_itself = True
    monotone = True
    horizon = (0, 0)

    def __post_init__(self) -> None:
        check_field("size", self.size, 1)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """k ≤ q in the same window."""
        return (k <= q) & (q // self.size == k // self.size)

    @property
    def period(self) -> int:
        """It repeats window by window."""
        return self.size

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """From the window's start to q."""
        return [Span(q - q % self.size, q + 1)]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """It never looks ahead."""
        return nobody(k)

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """Where both stand in their windows, and how many windows lie between."""
        return part_key(q0, k0, self.size, size)

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """n(w+1)/2 when w divides n, else whole windows and the triangle of the rest."""
        from sympy import Eq, Mod, Piecewise, floor

        w = fields["size"]
        rest = Mod(n, w)
        return Piecewise((n * (w + 1) / 2, Eq(rest, 0)), (floor(n / w) * triangle(w) + triangle(rest), True))

    def kept(self) -> CacheBound | None:
        """No more than the keys of one window."""
        return CacheBound(recent=self.size)


@dataclass(frozen=True)
class Blocks(Atom):
    """The sequence is cut into blocks of `size`; a query sees all of its block.

    >>> print(Blocks(size=3).draw(7))
    ###....
    ###....
    ###....
    ...###.
    ...###.
    ...###.
    ......#
    """

    size: int
    repeats = True
    letters: ClassVar = {"size": "b"}
    sees_itself = True
    monotone = True
    horizon = (0, 0)

    def __post_init__(self) -> None:
        check_field("size", self.size, 1)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """The same block."""
        return q // self.size == k // self.size

    @property
    def period(self) -> int:
        """It repeats block by block."""
        return self.size

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """From the start of the block to its end."""
        start = q - q % self.size
        return [Span(start, start + self.size)]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """The earlier queries of the block."""
        return k - k % self.size, k

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """Where both stand in their blocks, and how many blocks lie between."""
        return part_key(q0, k0, self.size, size)

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """n·b when b divides n, else whole blocks and the square of the rest."""
        from sympy import Eq, Mod, Piecewise, floor

        b = fields["size"]
        rest = Mod(n, b)
        return Piecewise((n * b, Eq(rest, 0)), (floor(n / b) * b**2 + rest**2, True))

    def kept(self) -> CacheBound | None:
        """No more than the keys of one block."""
        return CacheBound(recent=self.size)


@dataclass(frozen=True)
class SparseFixed(Atom):
    """The fixed factorised pattern of Child et al. 2019: one's block, and the last `summary` of each before.

    >>> print(SparseFixed(stride=4, summary=1).draw(9))
    #........
    ##.......
    ###......
    ####.....
    ...##....
    ...###...
    ...####..
    ...#####.
    ...#...##
    """

    stride: int
    summary: int
    repeats = True
    letters: ClassVar = {"stride": "l", "summary": "c"}
    sees_itself = True
    monotone = True
    horizon = (0, 0)

    def __post_init__(self) -> None:
        check_field("stride", self.stride, 1)
        check_field("summary", self.summary, 0)
        if self.summary > self.stride:
            raise ValueError(
                f"summary must be at most stride, got summary={self.summary}, stride={self.stride}"
            )

    def allows(self, q: Positions, k: Positions) -> Positions:
        """k ≤ q, in the same block or among the last `summary` of its own."""
        same = q // self.stride == k // self.stride
        return (k <= q) & (same | (k % self.stride >= self.stride - self.summary))

    @property
    def period(self) -> int:
        """It repeats block by block, each with its tail."""
        return self.stride

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """The block up to q; before it, the tails of the blocks."""
        start = q - q % self.stride
        tails = Span(torch.zeros_like(q), start, tail=(self.stride, self.stride - self.summary))
        return [Span(start, q + 1), tails]

    def above(self, k: Tensor) -> tuple[Tensor, Tensor] | None:
        """It never looks ahead."""
        return nobody(k)

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """Where both stand in their blocks, and how many blocks lie between."""
        return part_key(q0, k0, self.stride, size)

    def closed_form(self, n: sympy.Symbol, fields: dict[str, sympy.Expr]) -> sympy.Expr:
        """The triangles of the blocks, and c keys of each whole block for all that come after it."""
        from sympy import Mod, floor

        l, c = fields["stride"], fields["summary"]  # noqa: E741 - the paper's letter
        whole, rest = floor(n / l), Mod(n, l)
        return whole * triangle(l) + triangle(rest) + c * whole * (2 * n - l * (whole + 1)) / 2

    def kept(self) -> CacheBound | None:
        """Everything may be summarised later; without summaries, the block."""
        return None if self.summary else CacheBound(recent=self.stride)


def part_key(q0: Tensor, k0: Tensor, part: int, size: int) -> list[Tensor]:
    """What decides a tile of a pattern cut into equal parts; far parts are all alike."""
    near = size // part + 2
    return [(q0 // part - k0 // part).clamp(-near, near), q0 % part, k0 % part]
