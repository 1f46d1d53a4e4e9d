"""The part of a block that works on each token alone: Linear, GELU, Linear, or the gated SwiGLU."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import silu

from regard.errors import check_int


@dataclass(frozen=True)
class Gelu:
    """Linear, GELU, Linear; the middle is `hidden` wide, or four times the model.

    `tanh=True` is the approximation that GPT-2 was trained with.

    >>> Gelu().build(8).up
    Linear(in_features=8, out_features=32, bias=True)
    """

    hidden: int | None = None
    tanh: bool = False

    def __post_init__(self) -> None:
        if self.hidden is not None:
            check_int("hidden", self.hidden, 1)

    def hidden_of(self, width: int) -> int:
        """The width of the middle in a model of this width."""
        return 4 * width if self.hidden is None else self.hidden

    def build(self, width: int) -> FeedForward:
        """The module."""
        return FeedForward(width, self.hidden_of(width), "tanh" if self.tanh else "none")


@dataclass(frozen=True)
class SwiGLU:
    """down(silu(gate(x)) · up(x)) without biases (Shazeer 2020), `hidden` or 8/3 of the width in the middle.

    >>> SwiGLU().build(96).down
    Linear(in_features=256, out_features=96, bias=False)
    """

    hidden: int | None = None

    def __post_init__(self) -> None:
        if self.hidden is not None:
            check_int("hidden", self.hidden, 1)

    def hidden_of(self, width: int) -> int:
        """The width of the middle: unless given, 8/3 of the model's, rounded up to a multiple of 8."""
        return -(-8 * width // 24) * 8 if self.hidden is None else self.hidden

    def build(self, width: int) -> GatedFeedForward:
        """The module."""
        return GatedFeedForward(width, self.hidden_of(width))


FeedForwardPart = Gelu | SwiGLU


class FeedForward(nn.Module):
    """Linear, GELU, Linear on each token by itself."""

    def __init__(self, width: int, hidden: int, approximate: str = "none") -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.gelu = nn.GELU(approximate)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (…,C) to (…,C)."""
        return self.down(self.gelu(self.up(x)))


class GatedFeedForward(nn.Module):
    """SwiGLU on each token by itself; gate and up are one projection."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (…,C) to (…,C)."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(silu(gate) * up)
