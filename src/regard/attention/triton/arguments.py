"""What the attention kernels are told: one type for each group of arguments, the same on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

# A group of which nothing is used is None. Inside a group another tensor stands in the place of one that is
# not used: `TileKind` says that nobody reads it.


class Rows(NamedTuple):
    """A tensor (B, heads, rows, width) whose rows are dense, by its first number and its strides."""

    data: Tensor
    batch: int
    head: int
    row: int

    @classmethod
    def of(cls, x: Tensor) -> Rows:
        """The tensor as a kernel reads it."""
        batch, head, row, _ = x.stride()
        return cls(x, batch, head, row)


class Sizes(NamedTuple):
    """How much there is of everything, and in how many tiles each residue class is cut."""

    H: int
    G: int
    N: int
    M: int
    D: int
    E: int
    step: int
    tiles: int


class Reach(NamedTuple):
    """The bounds of a band, and of dropout's numbers: not compiled in, so that one kernel serves them all."""

    gap: int
    back: int
    window: int
    threshold: int


class Numbers(NamedTuple):
    """What scores are multiplied by (in base 2), the cap in units of products and its inverse, 1 / kept."""

    scale: float
    cap: float
    uncap: float
    spread: float


class Marks(NamedTuple):
    """What lies beside the tensors: labels of queries and keys, their reach, slopes, starts, a seed."""

    of_query: Tensor
    of_key: Tensor
    bounds: Tensor
    slopes: Tensor
    starts: Tensor
    seed: Tensor


class TileList(NamedTuple):
    """Which tiles to visit: full ones, and partial ones with their masks; by rows of a list, or in pieces."""

    full_offsets: Tensor
    full: Tensor
    partial_offsets: Tensor
    partial: Tensor
    mask_of: Tensor
    masks: Tensor


class Pieces(NamedTuple):
    """For a list by keys: (key tile, full from, to, partial from, to, sheet) each, and the float32 sheets."""

    pieces: Tensor
    dk: Tensor
    dv: Tensor
    sheets: int


@dataclass(frozen=True)
class TileKind:
    """What is compiled in: which bounds exist, what else shapes the scores, and how the work is cut."""

    causal: bool
    back: bool
    window: bool
    segments: bool
    slopes: bool
    learned: bool  # the slopes want a gradient
    listed: bool
    starts: bool  # each row of the batch has its own
    capped: bool
    dropped: bool
    of_lse: bool  # normalisers have a gradient
    stepped: bool
    chained: bool  # goes on from what the band before has made
    long: bool  # a tile spans more than 2³¹ numbers
    size: int  # of the tiles in the lists
    rows: int
    cols: int
    width: int
    tall: int  # of the values, as `width` is of queries and keys
    padded: bool
    even: bool
    precision: str


class Extent(NamedTuple):
    """How much there is for the Hopper kernel: heads, groups, queries, keys, tiles of a head and of all."""

    H: int
    G: int
    N: int
    M: int
    tiles: int
    total: int


@dataclass(frozen=True)
class HopperKind:
    """What is compiled into the kernel for Hopper."""

    causal: bool
    back: bool
    window: bool
    documents: bool
    cols: int  # keys of a tile
    width: int
    stages: int  # tiles of keys, and of values, that are fetched ahead
    registers: int  # of a thread that multiplies
    held: bool  # the softmax is kept in front of the wait for products


@dataclass(frozen=True)
class ShortKind:
    """What is compiled into the kernels for short sequences."""

    H: int
    G: int
    causal: bool
    back: bool
    window: bool
    size: int  # rows of the tile
    rest: int  # and of what is left beside it
    width: int
    starts: bool = False  # as in `TileKind`: queries stand where their keys do
