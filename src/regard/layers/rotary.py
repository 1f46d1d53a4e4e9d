"""Rotary positions as values: how fast pairs of components turn, also when stretched to longer texts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import torch
from torch import Tensor

from regard.errors import check_int
from regard.layers.letters import Number, is_letter
from regard.values import Terse, unsaid

Turn = tuple[Tensor, Tensor]  # cosines and sines


class _Plain:
    """Cosines and sines as they are, at any length alike."""

    by_length: ClassVar[bool] = False

    @property
    def amplitude(self) -> float:
        """What cosines and sines are multiplied by."""
        return 1.0


@dataclass(frozen=True)
class LinearScaling(_Plain):
    """Every pair turns `factor` times as slowly: positions are interpolated (Chen et al. 2023)."""

    factor: float

    def __post_init__(self) -> None:
        _positive(factor=self.factor)

    def speeds(self, width: int, base: float, length: int | Tensor, device: torch.device) -> Tensor:
        """How fast each pair turns (⌈width/2⌉,)."""
        return turning(width, base, device) / self.factor


@dataclass(frozen=True)
class DynamicScaling:
    """Past `original` positions the base grows with the length, so that slow pairs turn more slowly (NTK).

    All tokens of one call turn by its length; keys in a cache stay as they were turned.
    """

    factor: float
    original: int
    by_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _positive(factor=self.factor)
        check_int("original", self.original, 1)

    @property
    def amplitude(self) -> float:
        """What cosines and sines are multiplied by."""
        return 1.0

    def speeds(self, width: int, base: float, length: int | Tensor, device: torch.device) -> Tensor:
        """How fast each pair turns: (⌈width/2⌉,), or (B, ⌈width/2⌉) for lengths (B,)."""
        if width <= 2:
            raise ValueError(f"DynamicScaling needs more than one pair to turn, got a width of {width}")
        dtype = exact_on(device)
        far = torch.as_tensor(length, device=device).to(dtype).clamp(min=self.original) / self.original
        grown = base * (self.factor * far - (self.factor - 1)) ** (width / (width - 2))
        i = torch.arange(0, width, 2, dtype=dtype, device=device)
        return torch.exp(grown.log()[..., None] * (-i / width))


@dataclass(frozen=True)
class Llama3Scaling(_Plain):
    """Slow pairs turn `factor` times as slowly, fast ones as they were, those between in between.

    Slow is a pair that turns fewer than `low` times within `original` positions, fast more than `high`.
    """

    factor: float
    original: int
    low: float = 1.0
    high: float = 4.0

    def __post_init__(self) -> None:
        _positive(factor=self.factor, low=self.low)
        check_int("original", self.original, 1)
        if not self.low < self.high:
            raise ValueError(f"low must be below high, got low={self.low}, high={self.high}")

    def speeds(self, width: int, base: float, length: int | Tensor, device: torch.device) -> Tensor:
        """How fast each pair turns (⌈width/2⌉,)."""
        fast = turning(width, base, device)
        turns = self.original * fast / (2 * math.pi)
        kept = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return fast * (kept + (1 - kept) / self.factor)


@dataclass(frozen=True)
class YarnScaling:
    """Pairs below a ramp turn as they were, those above it `factor` times as slowly (Peng et al. 2023).

    The ramp lies between the pairs that turn `fast` and `slow` times within `original` positions, at whole
    pairs if it is to be `truncated`. `attention` multiplies turned queries and keys; 0.1·ln(factor) + 1
    unless it is given.
    """

    factor: float
    original: int
    attention: float | None = None
    fast: float = 32.0
    slow: float = 1.0
    truncated: bool = True
    by_length: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _positive(factor=self.factor, fast=self.fast, slow=self.slow)
        check_int("original", self.original, 1)

    @property
    def amplitude(self) -> float:
        """What cosines and sines are multiplied by."""
        if self.attention is not None:
            return self.attention
        return 0.1 * math.log(self.factor) + 1 if self.factor > 1 else 1.0

    def speeds(self, width: int, base: float, length: int | Tensor, device: torch.device) -> Tensor:
        """How fast each pair turns (⌈width/2⌉,)."""
        fast = turning(width, base, device)
        low, high = (self._pair(turns, width, base) for turns in (self.fast, self.slow))
        if self.truncated:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        high = high + 0.001 if low == high else high
        slowed = ((torch.arange(len(fast), device=device, dtype=fast.dtype) - low) / (high - low)).clamp(0, 1)
        return fast * (1 - slowed) + fast / self.factor * slowed

    def _pair(self, turns: float, width: int, base: float) -> float:
        """Which pair turns so often within the original positions."""
        return width * math.log(self.original / (turns * 2 * math.pi)) / (2 * math.log(base))


RotaryScaling = LinearScaling | DynamicScaling | Llama3Scaling | YarnScaling


@dataclass(frozen=True, repr=False)
class Rotary(Terse):
    """Turns queries and keys by angles that grow with the position, so that scores know the distance alone.

    Component i turns together with component i + R/2 (half-split pairs), where R is the first `fraction` of
    a head; what follows stays as it is (GPT-NeoX). A `scaling` stretches the positions.

    >>> Rotary().turn(torch.ones(1, 2)).tolist()  # position 0 stays
    [[1.0, 1.0]]
    """

    base: float = 10_000.0
    scaling: RotaryScaling | None = unsaid(None)  # noqa: RUF009 - a field
    fraction: float = unsaid(1.0)

    def __post_init__(self) -> None:
        _positive(base=self.base)
        if not 0 < self.fraction <= 1:
            raise ValueError(f"fraction must be above 0 and at most 1, got fraction={self.fraction}")
        if self.scaling is not None and not isinstance(self.scaling, RotaryScaling):
            raise ValueError(f"scaling must be a RotaryScaling or None, got scaling={self.scaling!r}")

    @property
    def by_length(self) -> bool:
        """Whether a longer text turns otherwise from its first token on."""
        return self.scaling is not None and self.scaling.by_length

    def build(self, length: int, width: int) -> None:
        """Nothing is added to the inputs."""

    def turned_width(self, head_width: Number) -> Number:
        """How many components of a head turn; of a letter any fraction is taken for granted."""
        if is_letter(head_width):
            from sympy import Rational

            return Rational(Fraction(self.fraction).limit_denominator(1000)) * head_width
        return (int(head_width * self.fraction) + 1) // 2 * 2

    def check(self, head_width: Number) -> None:
        """Raise unless pairs of such a head can turn."""
        turned = self.turned_width(head_width)
        if not is_letter(turned) and not 0 < turned <= head_width:
            raise ValueError(f"Rotary turns pairs, so head_width {self._rule}, got {head_width=}")

    @property
    def _rule(self) -> str:
        return "must be even" if self.fraction == 1 else f"times {self.fraction} must hold one"

    def speeds(self, head_width: int, length: int | Tensor, device: torch.device) -> Tensor:
        """How fast each pair turns in a text of this length: (R/2,), or (B, R/2) for lengths (B,)."""
        width = int(head_width * self.fraction)
        if self.scaling is None:
            return turning(width, self.base, device)
        return self.scaling.speeds(width, self.base, length, device)

    def rotation(self, at: Tensor, speeds: Tensor, dtype: torch.dtype) -> Turn:
        """The cosines and sines (…, R/2) of positions (…)."""
        amplitude = 1.0 if self.scaling is None else self.scaling.amplitude
        return rotation(at, speeds, amplitude, dtype)

    def turn(self, x: Tensor, start: int = 0) -> Tensor:
        """Turn (…, N, D), whose first row stands at position `start`."""
        N, D = x.shape[-2:]
        at, speeds = torch.arange(start, start + N, device=x.device), self.speeds(D, start + N, x.device)
        if not 0 < 2 * speeds.shape[-1] <= D:
            raise ValueError(f"Rotary turns pairs, so the head width {self._rule}, got {D}")
        return turned(x, *self.rotation(at, speeds, x.dtype))


def rotation(at: Tensor, speeds: Tensor, amplitude: float, dtype: torch.dtype) -> Turn:
    """The cosines and sines (…, R/2) of positions (…), a table that no input changes."""
    angles = at[..., None] * speeds
    cos, sin = angles.cos(), angles.sin()
    if amplitude != 1:
        cos, sin = cos * amplitude, sin * amplitude
    return cos.to(dtype), sin.to(dtype)


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the first R of (…, D) by angles whose cosines and sines are (…, R/2)."""
    half = cos.shape[-1]
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    parts = [a * cos - b * sin, b * cos + a * sin]
    return torch.cat([*parts, rest] if rest.shape[-1] else parts, dim=-1)


def turning(width: int, base: float, device: torch.device) -> Tensor:
    """How fast each pair of components turns (⌈width/2⌉,): base^(−2i/width)."""
    i = torch.arange(0, width, 2, dtype=exact_on(device), device=device)
    return torch.exp(i * (-math.log(base) / width))


def exact_on(device: torch.device) -> torch.dtype:
    """The type for angles: at position 1e6 a float32 is off by 0.06 already; Apple's GPUs know no better."""
    return torch.float32 if device.type == "mps" else torch.float64


def _positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive, got {name}={value!r}")
