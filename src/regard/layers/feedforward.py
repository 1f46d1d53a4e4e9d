"""The part of a block that works on each token alone: Linear, GELU, Linear, or gated: SwiGLU and GeGLU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor, nn
from torch.nn.functional import gelu, silu

from regard.errors import check_int
from regard.layers.letters import Number
from regard.layers.shapes import ElementwiseShape, LinearShape, Shape, TreeShape, function, tree
from regard.values import Terse, unsaid


@dataclass(frozen=True, repr=False)
class Gelu(Terse):
    """Linear, GELU, Linear; the middle is `hidden` wide, or four times the model.

    `tanh=True` is the approximation that GPT-2 was trained with.

    >>> Gelu().build(8).up
    Linear(in_features=8, out_features=32, bias=True)
    """

    hidden: int | None = None
    tanh: bool = False
    bias: bool = unsaid(True)

    def __post_init__(self) -> None:
        if self.hidden is not None:
            check_int("hidden", self.hidden, 1)

    def hidden_of(self, width: Number) -> Number:
        """The width of the middle in a model of this width."""
        return 4 * width if self.hidden is None else self.hidden

    def shape(self, width: Number) -> FeedForwardShape:
        """The sizes in a model of this width."""
        return FeedForwardShape(width=width, hidden=self.hidden, bias=self.bias)

    def build(self, width: int) -> FeedForward:
        """Two matrices with GELU between them."""
        return FeedForward(width, self.hidden_of(width), "tanh" if self.tanh else "none", self.bias)


@dataclass(frozen=True, repr=False)
class _Gated(Terse):
    hidden: int | None = None

    def __post_init__(self) -> None:
        if self.hidden is not None:
            check_int("hidden", self.hidden, 1)

    def hidden_of(self, width: Number) -> Number:
        """The width of the middle: unless given, 8/3 of the model's, rounded up to a multiple of 8."""
        return -(-8 * width // 24) * 8 if self.hidden is None else self.hidden


@dataclass(frozen=True, repr=False)
class SwiGLU(_Gated):
    """down(silu(gate(x)) · up(x)), by Shazeer (2020) without biases, `hidden` or 8/3 of the width wide.

    >>> SwiGLU().build(96).down
    Linear(in_features=256, out_features=96, bias=False)
    """

    bias: bool = unsaid(False)

    def shape(self, width: Number) -> FeedForwardShape:
        """The sizes in a model of this width."""
        return FeedForwardShape(width=width, hidden=self.hidden, gated=True, bias=self.bias)

    def build(self, width: int) -> GatedFeedForward:
        """Three matrices: a gate, what it lets through, and the way back."""
        return GatedFeedForward(width, self.hidden_of(width), "silu", self.bias)


@dataclass(frozen=True, repr=False)
class GeGLU(_Gated):
    """down(gelu(gate(x)) · up(x)), the same with GELU; `tanh=True` is its approximation (Gemma).

    >>> GeGLU(hidden=12).build(8).gate_up
    Linear(in_features=8, out_features=24, bias=False)
    """

    tanh: bool = False
    bias: bool = unsaid(False)

    def shape(self, width: Number) -> FeedForwardShape:
        """The sizes in a model of this width."""
        return FeedForwardShape(width=width, hidden=self.hidden, gated=True, bias=self.bias, gate="gelu")

    def build(self, width: int) -> GatedFeedForward:
        """Three matrices: a gate, what it lets through, and the way back."""
        return GatedFeedForward(width, self.hidden_of(width), "gelu tanh" if self.tanh else "gelu", self.bias)


FeedForwardPart = Gelu | SwiGLU | GeGLU
# What a gate may be bent by.
GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": silu,
    "gelu": gelu,
    "gelu tanh": partial(gelu, approximate="tanh"),
}


class FeedForward(nn.Module):
    """Linear, GELU, Linear on each token by itself."""

    def __init__(self, width: int, hidden: int, approximate: str = "none", bias: bool = True) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden, bias)
        self.gelu = nn.GELU(approximate)
        self.down = nn.Linear(hidden, width, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map (…,C) to (…,C)."""
        return self.down(self.gelu(self.up(x)))


class GatedFeedForward(nn.Module):
    """SwiGLU or GeGLU on each token by itself; gate and up are one projection."""

    def __init__(self, width: int, hidden: int, gate: str = "silu", bias: bool = False) -> None:
        super().__init__()
        self.gate = gate
        self.gate_up = nn.Linear(width, 2 * hidden, bias)
        self.down = nn.Linear(hidden, width, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map (…,C) to (…,C)."""
        return self.down(self.gated(self.gate_up(x)))

    def gated(self, gate_up: Tensor) -> Tensor:
        """What the gate lets through (…,H), from both halves of the projection (…,2H)."""
        gate, up = gate_up.chunk(2, dim=-1)
        return GATES[self.gate](gate) * up


@dataclass(frozen=True, kw_only=True)
class FeedForwardShape(Shape):
    """A feed-forward on every token: Linear, GELU, Linear, or `gated`; `hidden=None` is as usual."""

    width: Number
    hidden: Number | None = None
    gated: bool = False
    bias: bool | None = None  # None: unless it is gated
    gate: str = "silu"  # what bends a gate
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
        gate = ElementwiseShape(multiplies=hidden, kind=self.gate, elements=hidden, kept=2 * hidden)
        return tree({"gate_up": gate_up, "gate": gate, "down": down})
