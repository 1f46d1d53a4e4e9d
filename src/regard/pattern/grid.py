"""Two-dimensional values: a grid of `rows` × `cols` positions, numbered row by row."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.pattern.base import Atom, check_field
from regard.pattern.spans import CacheBound, Positions, Span
from regard.pattern.tiling import TileSpan


@dataclass(frozen=True)
class _Grid(Atom):
    rows: int
    cols: int
    sees_itself = True

    def __post_init__(self) -> None:
        check_field("rows", self.rows, 1)
        check_field("cols", self.cols, 1)

    @property
    def total(self) -> int | None:
        """rows·cols."""
        return self.rows * self.cols

    def tile_key(self, q0: Tensor, k0: Tensor, size: int) -> list[Tensor]:
        """Both columns, and the rows between."""
        return [q0 // self.cols - k0 // self.cols, q0 % self.cols, k0 % self.cols]


@dataclass(frozen=True)
class Neighbourhood(_Grid):
    """A query sees the cells at most `reach` rows and `reach` columns away, cropped at the borders.

    >>> print(Neighbourhood(rows=2, cols=3, reach=1).draw(6))
    ##.##.
    ######
    .##.##
    ##.##.
    ######
    .##.##
    """

    reach: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_field("reach", self.reach, 0)

    def allows(self, q: Positions, k: Positions) -> Positions:
        """|Δrow| ≤ reach and |Δcol| ≤ reach."""
        down = q // self.cols - k // self.cols
        right = q % self.cols - k % self.cols
        r = self.reach
        return (down <= r) & (down >= -r) & (right <= r) & (right >= -r)

    @property
    def turns(self) -> list[tuple[int, int]] | None:
        """Where rows begin, and where the borders stop and begin to crop."""
        return [(place, self.cols) for place in (0, self.reach, self.cols - 1 - self.reach) if place >= 0]

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """One span per row within reach."""
        row, col = q // self.cols, q % self.cols
        left, right = (col - self.reach).clamp(min=0), (col + self.reach + 1).clamp(max=self.cols)
        out = []
        for down in range(-min(self.reach, self.rows - 1), min(self.reach, self.rows - 1) + 1):
            inside = ((row + down >= 0) & (row + down < self.rows)).long()
            start = (row + down) * self.cols
            out.append(Span((start + left) * inside, (start + right) * inside))
        return out

    def tile_groups(self, q0: Tensor, q1: Tensor, m: int, size: int) -> list[list[TileSpan]]:
        """All rows within reach of the tile; the tiles themselves are then looked at."""
        top = (q0 // self.cols - self.reach) * self.cols
        bottom = ((q1 - 1) // self.cols + self.reach + 1) * self.cols
        return [[TileSpan.unsure(top, bottom)]]

    def kept(self) -> CacheBound | None:
        """`reach` rows, and as much of the next as a query at the left border can still see."""
        return CacheBound(
            recent=min(self.reach, self.rows - 1) * self.cols + min(self.reach, self.cols - 1) + 1
        )


@dataclass(frozen=True)
class Axial(_Grid):
    """A query sees its row and its column.

    >>> print(Axial(rows=2, cols=3).draw(6))
    ####..
    ###.#.
    ###..#
    #..###
    .#.###
    ..####
    """

    def allows(self, q: Positions, k: Positions) -> Positions:
        """The same row or the same column."""
        return (q // self.cols == k // self.cols) | (q % self.cols == k % self.cols)

    @property
    def turns(self) -> list[tuple[int, int]] | None:
        """Where rows begin."""
        return [(0, self.cols)]

    def spans(self, q: Tensor, m: int) -> list[Span]:
        """The row whole; above and below it, every cols-th."""
        start = q - q % self.cols
        end = start + self.cols
        return [
            Span(torch.zeros_like(q), start, step=self.cols),
            Span(start, end),
            Span(end, torch.full_like(q, m), step=self.cols),
        ]

    def tile_groups(self, q0: Tensor, q1: Tensor, m: int, size: int) -> list[list[TileSpan]]:
        """Anywhere."""
        return [[TileSpan.unsure(torch.zeros_like(q0), torch.full_like(q0, m))]]

    def kept(self) -> CacheBound | None:
        """All but the last row, and one: the last row's first query can still see every column."""
        return CacheBound(other=self.cols if self.rows == 1 else (self.rows - 1) * self.cols + 1)
