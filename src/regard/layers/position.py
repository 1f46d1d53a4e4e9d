"""How a model knows where a token stands: six values, added to the inputs or used inside attention."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from regard.attention import DistanceBias
from regard.errors import check_int
from regard.layers.letters import Number
from regard.layers.shapes import Shape, TableShape, added

Device = torch.device | None


class _Added:
    def build(self, length: int, width: int) -> Computed:
        """A module without weights."""
        assert isinstance(self, Natural | Scaled | Sinusoidal)
        return Computed(self, width)


class _InAttention:
    def build(self, length: int, width: int) -> None:
        """Nothing is added to the inputs."""


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


@dataclass(frozen=True)
class Learned:
    """One trained vector per position, up to the length that the model was built for."""

    def build(self, length: int, width: int) -> LearnedTable:
        """The table, with its weights."""
        return LearnedTable(length, width)


@dataclass(frozen=True)
class Rotary(_InAttention):
    """Turns queries and keys by angles that grow with the position, so that scores know the distance alone.

    Component i turns together with component i + D/2 (half-split pairs).

    >>> Rotary().turn(torch.ones(1, 2)).tolist()  # position 0 stays
    [[1.0, 1.0]]
    """

    base: float = 10_000.0

    def turn(self, x: Tensor, start: int | Tensor = 0) -> Tensor:
        """Turn (…, N, D), whose first row stands at position `start`, or each where (N,) says."""
        N, D = x.shape[-2:]
        if D % 2:
            raise ValueError(f"Rotary turns pairs, so the head width must be even, got {D}")
        at = start if isinstance(start, Tensor) else torch.arange(start, start + N, device=x.device)
        angles = angles_at(at.to(x.device), D, self.base)  # N D/2
        return turned(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))


@dataclass(frozen=True)
class Alibi(_InAttention):
    """Scores fall with the distance, with one slope per head: a `DistanceBias`.

    >>> Alibi().bias(heads=2)
    DistanceBias(slopes=(0.0625, 0.00390625))
    """

    def bias(self, heads: int) -> DistanceBias:
        """The slopes of Press et al. 2022: 2^(−8h/H); between powers of two, every other one of the next."""
        whole = 1 << (heads.bit_length() - 1)
        slopes = [2.0 ** (-8 * h / whole) for h in range(1, whole + 1)]
        between = [2.0 ** (-8 * h / (2 * whole)) for h in range(1, 2 * whole, 2)]
        return DistanceBias(tuple(slopes + between[: heads - whole]))


Position = Natural | Scaled | Sinusoidal | Learned | Rotary | Alibi


def position_shape(position: Position, length: Number, width: Number) -> Shape | None:
    """What is added to the inputs; a table that follows from arithmetic is a constant."""
    if isinstance(position, Rotary | Alibi):
        return None
    learned = isinstance(position, Learned)
    return added(width) + TableShape(rows=length, width=width) if learned else added(width)


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

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(length, width) * 0.02)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Add the positions to tokens (B,N,C), of which the first stands at `start`."""
        stop = start + x.shape[1]
        if stop > len(self.weight):
            raise ValueError(
                f"the position table has {len(self.weight)} rows, got positions {start} to {stop - 1}"
            )
        return x + self.weight[start:stop]

    def resized(self, grid: tuple[int, int], to: tuple[int, int]) -> Tensor:
        """The table of a grid (rows, cols), read row by row, stretched to another grid: (rows·cols, C)."""
        if grid == to:
            return self.weight
        table = self.weight.unflatten(0, grid).permute(2, 0, 1)[None]  # 1 C rows cols
        return interpolate(table, to, mode="bicubic", align_corners=False)[0].flatten(1).T


def encode_at(module: nn.Module, at: Tensor, width: int) -> Tensor:
    """What a position module adds to tokens (B,C) that stand at `at` (B,): (B,C) or (B,1).

    >>> module = Sinusoidal().build(8, 6)
    >>> torch.equal(encode_at(module, torch.tensor([3]), 6), module(torch.zeros(1, 1, 6), start=3)[0])
    True
    """
    if isinstance(module, LearnedTable):
        return module.weight[at]
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


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn (…, D) by angles whose cosines and sines are (…, D/2)."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def angles_at(at: Tensor, width: int, base: float) -> Tensor:
    """The angles (N, ⌈width/2⌉) of positions (N,)."""
    return at[:, None] * turning(width, base, at.device)


def turning(width: int, base: float, device: torch.device) -> Tensor:
    """How fast each pair of components turns (⌈width/2⌉,): base^(−2i/width)."""
    # At position 1e6 a float32 angle is off by 0.06 already; Apple's GPUs know nothing better.
    dtype = torch.float32 if device.type == "mps" else torch.float64
    i = torch.arange(0, width, 2, dtype=dtype, device=device)
    return torch.exp(i * (-math.log(base) / width))
