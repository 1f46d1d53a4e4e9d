"""How a model knows where a token stands: six values, added to the inputs or used inside attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from regard.attention import DistanceBias
from regard.errors import check_int
from regard.layers.letters import Number
from regard.layers.rotary import Rotary, turning
from regard.layers.shapes import Shape, TableShape, WeightsShape, added
from regard.values import Terse, unsaid

Device = torch.device | None


class _Added:
    def build(self, length: int, width: int) -> Computed:
        """A module without weights."""
        assert isinstance(self, Natural | Scaled | Sinusoidal)
        return Computed(self, width)


@dataclass(frozen=True)
class Natural(_Added):
    """Counts 1, 2, 3 …: a column (T, 1), added to all components.

    >>> Natural().encode(3).tolist()
    [[1.0], [2.0], [3.0]]
    """

    def encode(self, length: int, width: int = 1, start: int = 0, device: Device = None) -> Tensor:
        """The column for positions start … start + length − 1 (counted from 0)."""
        return torch.arange(start + 1, start + length + 1, dtype=torch.float32, device=device)[:, None]


@dataclass(frozen=True)
class Scaled(_Added):
    """Counts 1/longest, 2/longest …: a column (T, 1), added to all components.

    >>> Scaled(longest=4).encode(3).tolist()
    [[0.25], [0.5], [0.75]]
    """

    longest: int

    def __post_init__(self) -> None:
        check_int("longest", self.longest, 1)

    def encode(self, length: int, width: int = 1, start: int = 0, device: Device = None) -> Tensor:
        """The column for positions start … start + length − 1 (counted from 0)."""
        return Natural().encode(length, width, start, device) / self.longest


@dataclass(frozen=True)
class Sinusoidal(_Added):
    """Waves of falling frequency from position 0: components 2i and 2i+1 are sin and cos of t / base^(2i/C).

    >>> Sinusoidal().encode(2, width=4)[0].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """

    base: float = 10_000.0

    def encode(self, length: int, width: int, start: int = 0, device: Device = None) -> Tensor:
        """The table (length, width) for positions start … start + length − 1."""
        return _waves(torch.arange(start, start + length, device=device), width, self.base)


@dataclass(frozen=True, repr=False)
class Learned(Terse):
    """One trained vector per position, up to the length that the model was built for.

    The first `offset` rows of the table belong to no position (RoBERTa keeps them for padding).
    """

    offset: int = unsaid(0)

    def __post_init__(self) -> None:
        check_int("offset", self.offset, 0)

    def build(self, length: int, width: int) -> LearnedTable:
        """The table, with its weights."""
        return LearnedTable(length, width, self.offset)


@dataclass(frozen=True)
class Alibi:
    """Scores fall with the distance, with one slope per head: a `DistanceBias`.

    >>> Alibi().bias(heads=2)
    DistanceBias(slopes=(0.0625, 0.00390625))
    """

    def build(self, length: int, width: int) -> None:
        """Nothing is added to the inputs."""

    def bias(self, heads: int) -> DistanceBias:
        """The slopes of Press et al. 2022: 2^(−8h/H); between powers of two, every other one of the next."""
        whole = 1 << (heads.bit_length() - 1)
        slopes = [2.0 ** (-8 * h / whole) for h in range(1, whole + 1)]
        between = [2.0 ** (-8 * h / (2 * whole)) for h in range(1, 2 * whole, 2)]
        return DistanceBias(tuple(slopes + between[: heads - whole]))


Position = Natural | Scaled | Sinusoidal | Learned | Rotary | Alibi


def position_shape(position: Position | Sequence[Position], length: Number, width: Number) -> Shape | None:
    """What is added to the inputs; a table that follows from arithmetic is a constant."""
    if not isinstance(position, Position) or isinstance(position, Rotary | Alibi):
        return None
    if not isinstance(position, Learned):
        return added(width)
    table = added(width) + TableShape(rows=length, width=width)
    return table + WeightsShape(count=position.offset * width, read=False) if position.offset else table


class Computed(nn.Module):
    """Adds a position that follows from arithmetic, so any length will do."""

    def __init__(self, position: Natural | Scaled | Sinusoidal, width: int) -> None:
        super().__init__()
        self.position, self.width = position, width

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Add the positions to tokens (B,N,C), of which the first stands at `start`."""
        return x + self.position.encode(x.shape[1], self.width, start, x.device).to(x.dtype)


class LearnedTable(nn.Module):
    """Adds a trained vector per position.

    >>> LearnedTable(4, 8)(torch.zeros(1, 5, 8))
    Traceback (most recent call last):
        ...
    ValueError: the position table has 4 rows, got positions 0 to 4
    """

    def __init__(self, length: int, width: int, offset: int = 0) -> None:
        super().__init__()
        self.offset = offset
        self.weight = nn.Parameter(torch.empty(offset + length, width))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Add the positions to tokens (B,N,C), of which the first stands at `start`."""
        stop, rows = start + x.shape[1], len(self.weight) - self.offset
        if stop > rows:
            raise ValueError(f"the position table has {rows} rows, got positions {start} to {stop - 1}")
        return x + self.weight[self.offset + start : self.offset + stop]

    def resized(self, grid: tuple[int, int], to: tuple[int, int]) -> Tensor:
        """The table of a grid (rows, cols), read row by row, stretched to another grid: (rows·cols, C)."""
        if grid == to:
            return self.weight
        table = self.weight.unflatten(0, grid).permute(2, 0, 1)[None]  # 1 C rows cols
        exact = table.to(torch.promote_types(table.dtype, torch.float32))  # halves would shift
        stretched = interpolate(exact, to, mode="bicubic", align_corners=False)[0].flatten(1).T
        return stretched.to(table.dtype)


def encode_at(module: nn.Module, at: Tensor, width: int) -> Tensor:
    """What a position module adds to tokens (B,C) that stand at `at` (B,): (B,C) or (B,1).

    >>> module = Sinusoidal().build(8, 6)
    >>> torch.equal(encode_at(module, torch.tensor([3]), 6), module(torch.zeros(1, 1, 6), start=3)[0])
    True
    """
    if isinstance(module, LearnedTable):
        return module.weight[at + module.offset] if module.offset else module.weight[at]
    assert isinstance(module, Computed)
    position = module.position
    if isinstance(position, Natural):
        return (at + 1).float()[:, None]
    if isinstance(position, Scaled):
        return (at + 1).float()[:, None] / position.longest
    return _waves(at, width, position.base)


def _waves(at: Tensor, width: int, base: float) -> Tensor:
    angles = angles_at(at, width, base)  # T ⌈C/2⌉
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width].float()


def angles_at(at: Tensor, width: int, base: float) -> Tensor:
    """The angles (N, ⌈width/2⌉) of positions (N,)."""
    return at[:, None] * turning(width, base, at.device)
