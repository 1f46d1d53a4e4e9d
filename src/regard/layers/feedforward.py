"""The part of a block that works on each token alone: Linear, GELU, Linear, or the gated SwiGLU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn.functional import silu

from regard.errors import check_int
from regard.layers.letters import Number
from regard.layers.shapes import ElementwiseShape, LinearShape, Shape, TreeShape, function, tree


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

    def hidden_of(self, width: Number) -> Number:
        """The width of the middle in a model of this width."""
        return 4 * width if self.hidden is None else self.hidden

    def shape(self, width: Number) -> FeedForwardShape:
        """The sizes in a model of this width."""
        return FeedForwardShape(width=width, hidden=self.hidden)

    def build(self, width: int) -> FeedForward:
        """Two matrices with GELU between them."""
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

    def hidden_of(self, width: Number) -> Number:
        """The width of the middle: unless given, 8/3 of the model's, rounded up to a multiple of 8."""
        return -(-8 * width // 24) * 8 if self.hidden is None else self.hidden

    def shape(self, width: Number) -> FeedForwardShape:
        """The sizes in a model of this width."""
        return FeedForwardShape(width=width, hidden=self.hidden, gated=True)

    def build(self, width: int) -> GatedFeedForward:
        """Three matrices: a gate, what it lets through, and the way back."""
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


@dataclass(frozen=True, kw_only=True)
class FeedForwardShape(Shape):
    """A feed-forward on every token: Linear, GELU, Linear, or `gated`; `hidden=None` is as usual."""

    width: Number
    hidden: Number | None = None
    gated: bool = False
    bias: bool | None = None  # None: unless it is gated
    sizes: ClassVar = ("width", "hidden")

    def shapes(self) -> TreeShape:
        """Two products, three if gated."""
        usual = SwiGLU() if self.gated else Gelu()
        hidden = usual.hidden_of(self.width) if self.hidden is None else self.hidden
        bias = not self.gated if self.bias is None else self.bias
        down = LinearShape(inputs=hidden, outputs=self.width, bias=bias)
        if not self.gated:
            up = LinearShape(inputs=self.width, outputs=hidden, bias=bias)
            return tree({"up": up, "gelu": function("gelu", hidden, kept=True), "down": down})
        gate_up = LinearShape(inputs=self.width, outputs=2 * hidden, bias=bias)
        gate = ElementwiseShape(multiplies=hidden, kind="silu", elements=hidden, kept=2 * hidden)
        return tree({"gate_up": gate_up, "gate": gate, "down": down})
