"""The shapes of recurrences: along tokens, over a grid, and the gated one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regard.layers.letters import Number, is_letter
from regard.layers.shapes import BesideShape, Shape, TreeShape, tree


@dataclass(frozen=True, kw_only=True)
class ScanShape(Shape):
    """One recurrence along the tokens."""

    channels: Number
    hidden: Number
    activation: str
    bias: bool


@dataclass(frozen=True, kw_only=True)
class GridScanShape(Shape):
    """One recurrence over a grid, from one corner."""

    channels: Number
    hidden: Number
    activation: str
    bias: bool


@dataclass(frozen=True, kw_only=True)
class GRUShape(Shape):
    """One gated recurrence along the tokens; padding is read like any token."""

    channels: Number
    hidden: Number


@dataclass(frozen=True, kw_only=True)
class RNNShape(Shape):
    """`regard.layers.RNN`: stacked recurrences along the tokens."""

    channels: Number
    hidden: Number
    layers: Number = 1
    activation: str = "tanh"
    bias: bool = True
    sizes: ClassVar = ("channels", "hidden", "layers")

    def shapes(self) -> TreeShape:
        """The first layer, and those that read states."""

        def layer(channels: Number) -> Shape:
            return ScanShape(
                channels=channels, hidden=self.hidden, activation=self.activation, bias=self.bias
            )

        return tree(stacked("layers", layer(self.channels), layer(self.hidden), self.layers))


@dataclass(frozen=True, kw_only=True)
class GridRNNShape(Shape):
    """`regard.layers.GridRNNStack`: stacked recurrences over a grid, from several corners."""

    channels: Number
    hidden: Number
    layers: Number = 1
    starts: int = 1
    activation: str = "tanh"
    bias: bool = False
    sizes: ClassVar = ("channels", "hidden", "layers", "starts")

    def shapes(self) -> TreeShape:
        """The first layer, and those that read the states of all corners."""

        def layer(channels: Number) -> Shape:
            scan = GridScanShape(
                channels=channels, hidden=self.hidden, activation=self.activation, bias=self.bias
            )
            return BesideShape(scan, self.starts)

        return tree(stacked("scans", layer(self.channels), layer(self.hidden * self.starts), self.layers))


def gru_reader(channels: Number, hidden: Number, *, layers: Number, sides: int) -> dict[str, Shape]:
    """Stacked GRUs, both directions at once."""
    first, rest = (GRUShape(channels=inputs, hidden=hidden) for inputs in (channels, hidden * sides))
    return stacked("reader", BesideShape(first, sides), BesideShape(rest, sides), layers)


def stacked(name: str, first: Shape, rest: Shape, layers: Number) -> dict[str, Shape]:
    """The first layer, and the others, which are all alike."""
    parts = {f"{name}.0": first}
    if is_letter(layers) or layers > 1:
        parts[f"{name} ×{layers - 1}"] = rest * (layers - 1)
    return parts
