"""Image completion: each pixel from all pixels before it, in reading order, by two recurrences over the grid.

A scan from the top left, fed with the pixel to the left, sees everything above and to the left. A scan from
the top right, fed with the pixel above, sees everything above and to the right. Together that is every
pixel before the one to predict, and never that pixel or a later one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from regard.errors import check_int
from regard.layers.letters import check_size, unless
from regard.layers.recurrent import GridScan
from regard.layers.recurrent_shapes import GridRNNShape
from regard.layers.shapes import (
    ElementwiseShape,
    ImageShape,
    LinearShape,
    LossShape,
    ModelShape,
    MovedShape,
    tree,
)
from regard.recurrence import activation_by_name


@dataclass(frozen=True, kw_only=True)
class GridCompletionConfig:
    """The shape of a completion model; pixels are integers from 0 to `levels` − 1, images of any size."""

    levels: int = 2
    hidden: int = 64
    layers: int = 2
    activation: str = "tanh"

    def __post_init__(self) -> None:
        check_size("levels", self.levels, 2)
        check_size("hidden", self.hidden)
        check_size("layers", self.layers)
        activation_by_name(self.activation)

    def shapes(self) -> ImageShape:
        """Two recurrences over all pixels, and logits for the level of each."""
        scans = GridRNNShape(
            channels=2,
            hidden=self.hidden,
            layers=self.layers,
            starts=2,
            activation=self.activation,
            bias=True,
        )
        # A level is times 2/(levels − 1), which for 3 is 1.
        cells = ElementwiseShape(multiplies=unless(self.levels, 3, 1), adds=1)
        parts = {
            "cells": cells + MovedShape(width=1, each=8),
            **dict(scans.shapes().parts),
            "head": LinearShape(inputs=2 * self.hidden, outputs=self.levels),
            "output": MovedShape(width=self.levels),
        }
        return ImageShape(shape=ModelShape(tree(parts), LossShape(classes=self.levels)), size=None)


class GridCompletion(nn.Module):
    """Predicts every pixel of an image from those before it, and so completes an image.

    >>> model = GridCompletion(GridCompletionConfig(levels=4, hidden=8))
    >>> top = torch.tensor([[[3, 0, 1], [2, 2, 0]]])
    >>> model(top).shape
    torch.Size([1, 2, 3, 4])
    >>> whole = model.complete(top, rows=5, generator=torch.Generator().manual_seed(0))
    >>> whole.shape, torch.equal(whole[:, :2], top)
    (torch.Size([1, 5, 3]), True)
    """

    def __init__(self, config: GridCompletionConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        width = 2 * config.hidden

        def scans(start: str) -> nn.ModuleList:
            sides = [2] + [width] * (config.layers - 1)
            return nn.ModuleList(
                GridScan(side, config.hidden, start, config.activation, True, generator) for side in sides
            )

        self.beside, self.above = scans("top-left"), scans("top-right")
        self.head = nn.Linear(width, config.levels)
        with torch.no_grad():
            self.head.weight.normal_(0.0, width**-0.5, generator=generator)
            self.head.bias.zero_()

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, rows, cols) to logits (B, rows, cols, levels) of each pixel given earlier ones."""
        return self.head(self._features(self._cells("images", images))[-1])

    def loss(self, images: Tensor, known: int = 0) -> Tensor:
        """Mean negative log-likelihood, in nats, of the pixels below the first `known` rows."""
        logits = self(images)
        check_int("known", known, 0)
        if known >= images.shape[1]:
            raise ValueError(
                f"known must be less than the rows of images, got {known=}, {images.shape[1]} rows"
            )
        return cross_entropy(logits[:, known:].flatten(0, 2), images[:, known:].flatten().long())

    @torch.no_grad()
    def complete(self, top: Tensor, rows: int, *, generator: torch.Generator | None = None) -> Tensor:
        """Continue the rows in `top` (B, known, cols) down to `rows` rows, pixel by pixel.

        With a generator pixels are drawn from the model; without one each is the most likely level.
        """
        cells = self._cells("top", top)
        check_int("rows", rows, top.shape[1])
        grids = [cells, *self._features(cells)]
        above = [grid[:, -1] for grid in grids]  # the row above: its cells, then each layer's features
        found = [top]
        for _ in range(rows - top.shape[1]):
            pixels, above = self._next_row(above, generator)
            found.append(pixels[:, None].to(top.dtype))
        return torch.cat(found, 1)

    def _features(self, cells: Tensor) -> list[Tensor]:
        """For each layer (B, rows, cols, 2·hidden): what the scans from the left and from above know."""
        features, found = cells, []
        for layer, (beside, above) in enumerate(zip(self.beside, self.above, strict=True)):
            shifted = pad(features, (0, 0, 1, -1)) if layer == 0 else features  # one column to the right
            lowered = pad(features, (0, 0, 0, 0, 1, -1))  # one row down
            features = torch.cat([beside(shifted), above(lowered)], 3)
            found.append(features)
        return found

    def _next_row(
        self, above: list[Tensor], generator: torch.Generator | None
    ) -> tuple[Tensor, list[Tensor]]:
        """The pixels of one row (B, cols), and that row's cells and features, from those of the row above."""
        B, cols, _ = above[0].shape
        hidden = self.config.hidden
        known: list[list[Tensor]] = []  # for each layer and column, the state of the scan from the right
        for layer, scan in enumerate(self.above):
            assert isinstance(scan, GridScan)
            state, states = None, []
            for col in reversed(range(cols)):
                state = scan.cell(above[layer][:, col], state, above[layer + 1][:, col, hidden:])
                states.append(state)
            known.append(states[::-1])
        row: list[list[Tensor]] = [[] for _ in above]
        pixels = []
        left: list[Tensor | None] = [None] * len(self.beside)
        cell = above[0].new_zeros(B, 2)
        for col in range(cols):
            features = cell
            for layer, scan in enumerate(self.beside):
                assert isinstance(scan, GridScan)
                state = scan.cell(features, left[layer], above[layer + 1][:, col, :hidden])
                left[layer] = state
                features = torch.cat([state, known[layer][col]], 1)
                row[layer + 1].append(features)
            pixels.append(_choose(self.head(features), generator))
            cell = self._encode(pixels[-1])
            row[0].append(cell)
        return torch.stack(pixels, 1), [torch.stack(part, 1) for part in row]

    def _cells(self, name: str, images: Tensor) -> Tensor:
        levels = self.config.levels
        if images.ndim != 3 or 0 in images.shape or images.is_floating_point():
            got = f"{tuple(images.shape)} of {images.dtype}"
            raise ValueError(f"{name} must be integers (B, rows, cols), every side at least 1, got {got}")
        low, high = (int(end) for end in images.aminmax())
        if low < 0 or high >= levels:
            raise ValueError(f"{name} must hold levels from 0 to {levels - 1}, got {low} to {high}")
        return self._encode(images)

    def _encode(self, pixels: Tensor) -> Tensor:
        """A level as a number from −1 to 1, and a 1 that tells a pixel from no pixel."""
        value = pixels.to(self.head.weight.dtype) * (2 / (self.config.levels - 1)) - 1
        return torch.stack([value, torch.ones_like(value)], -1)


def _choose(logits: Tensor, generator: torch.Generator | None) -> Tensor:
    """One level for each row of logits (B, levels)."""
    if generator is None:
        return logits.argmax(1)
    return torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0]
