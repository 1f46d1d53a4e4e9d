"""Recurrent layers: weights for the recurrences along a sequence and over a grid, stacked."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.recurrence import STARTS, activation_by_name, grid_rnn, rnn


class RNN(nn.Module):
    """Stacked recurrences h_t = φ(W_h h_{t−1} + W_x x_t + b): each layer reads the states of the one below.

    >>> RNN(3, 8, layers=2)(torch.zeros(5, 7, 3)).shape
    torch.Size([5, 7, 8])
    """

    def __init__(
        self,
        channels: int,
        hidden: int,
        *,
        layers: int = 1,
        activation: str = "tanh",
        bias: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_int("layers", layers, 1)
        self.layers = nn.ModuleList(
            SequenceScan(channels if i == 0 else hidden, hidden, activation, bias, generator)
            for i in range(layers)
        )

    def forward(self, x: Tensor, h0: Tensor | None = None) -> Tensor:
        """Map (B, T, channels) to the states of the last layer (B, T, hidden); h0 is (layers, B, hidden)."""
        if h0 is not None and (h0.ndim != 3 or len(h0) != len(self.layers)):
            raise ValueError(f"h0 must be (layers={len(self.layers)}, B, hidden), got {tuple(h0.shape)}")
        for i, layer in enumerate(self.layers):
            x = layer(x, None if h0 is None else h0[i])
        return x


class GridRNNStack(nn.Module):
    """Stacked recurrences over a grid; each layer scans from every corner in `starts` and joins the states.

    >>> layer = GridRNNStack(3, 8, layers=2, starts=("top-left", "bottom-right"))
    >>> layer(torch.zeros(5, 4, 6, 3)).shape, layer.width
    (torch.Size([5, 4, 6, 16]), 16)
    """

    def __init__(
        self,
        channels: int,
        hidden: int,
        *,
        layers: int = 1,
        starts: Sequence[str] = ("top-left",),
        activation: str = "tanh",
        bias: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_int("layers", layers, 1)
        check_starts(starts)
        self.width = hidden * len(starts)
        self.layers = nn.ModuleList(
            nn.ModuleList(
                GridScan(channels if i == 0 else self.width, hidden, start, activation, bias, generator)
                for start in starts
            )
            for i in range(layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, rows, cols, channels) to (B, rows, cols, width)."""
        for scans in self.layers:
            assert isinstance(scans, nn.ModuleList)
            x = torch.cat([scan(x) for scan in scans], dim=3) if len(scans) > 1 else scans[0](x)
        return x


class SequenceScan(nn.Module):
    """The weights of one recurrence along a sequence."""

    def __init__(
        self,
        channels: int,
        hidden: int,
        activation: str,
        bias: bool,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_int("channels", channels, 1)
        check_int("hidden", hidden, 1)
        self.activation = activation_by_name(activation)
        self.W_x = _by_fan_in(hidden, channels, generator)
        self.W_h = _orthogonal(hidden, 1.0, generator)
        self.b = nn.Parameter(torch.zeros(hidden)) if bias else None

    def forward(self, x: Tensor, h0: Tensor | None = None) -> Tensor:
        """Map (B, T, channels) to states (B, T, hidden)."""
        return rnn(x, self.W_x, self.W_h, self.b, h0, self.activation)


class GridScan(nn.Module):
    """The weights of one recurrence over a grid, from one corner."""

    def __init__(
        self,
        channels: int,
        hidden: int,
        start: str,
        activation: str,
        bias: bool,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_int("channels", channels, 1)
        check_int("hidden", hidden, 1)
        check_starts([start])
        self.start, self.activation = start, activation_by_name(activation)
        self.W_in = _by_fan_in(hidden, channels, generator)
        # Halves, since a state has two neighbours: the number of paths to a cell doubles with every diagonal.
        self.W_left = _orthogonal(hidden, 0.5, generator)
        self.W_top = _orthogonal(hidden, 0.5, generator)
        self.b = nn.Parameter(torch.zeros(hidden)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, rows, cols, channels) to states (B, rows, cols, hidden)."""
        return grid_rnn(x, self.W_in, self.W_left, self.W_top, self.activation, b=self.b, start=self.start)

    def cell(self, x: Tensor, left: Tensor | None, top: Tensor | None) -> Tensor:
        """One cell, for growing a grid: x (B, channels) and its neighbours' states (B, hidden) or None."""
        total = x @ self.W_in.T
        if self.b is not None:
            total = total + self.b
        if left is not None:
            total = total + left @ self.W_left.T
        if top is not None:
            total = total + top @ self.W_top.T
        return self.activation(total)


def check_starts(starts: Sequence[str]) -> None:
    """Raise unless `starts` are different corners, and at least one."""
    if (
        isinstance(starts, str)
        or len(starts) == 0
        or len(set(starts)) < len(starts)
        or set(starts) - set(STARTS)
    ):
        raise ValueError(f"starts must be different ones of {', '.join(STARTS)}, got starts={starts!r}")


def _by_fan_in(hidden: int, channels: int, generator: torch.Generator | None) -> nn.Parameter:
    bound = channels**-0.5
    return nn.Parameter(torch.empty(hidden, channels).uniform_(-bound, bound, generator=generator))


def _orthogonal(hidden: int, gain: float, generator: torch.Generator | None) -> nn.Parameter:
    """A turn of the state: it neither vanishes nor explodes at the start of training."""
    return nn.Parameter(nn.init.orthogonal_(torch.empty(hidden, hidden), gain, generator))
