"""GridRNN: an image is read by recurrences from its corners."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.layers import recurrent
from regard.layers.letters import check_size
from regard.layers.recurrent_shapes import GridRNNShape
from regard.layers.shapes import ImageShape, MeanShape, MovedShape, NormShape, PerRowShape, classifier
from regard.models.mlp import check_images
from regard.recurrence import STARTS, activation_by_name
from regard.sharing.sizes import pair


@dataclass(frozen=True, kw_only=True)
class GridRNNConfig:
    """The shape of a GridRNN classifier; `image` and `patch` are (rows, cols) or one number for both.

    Each layer scans from every corner in `starts`, with `hidden` states each, and joins what it finds.

    >>> config = GridRNNConfig(image=(28, 20), patch=4, classes=10, hidden=64)
    >>> config.grid, config.width
    ((7, 5), 256)
    """

    image: int | tuple[int, int]
    classes: int
    channels: int = 1
    patch: int | tuple[int, int] = 1
    hidden: int = 64
    layers: int = 2
    starts: tuple[str, ...] = tuple(STARTS)
    activation: str = "tanh"

    def __post_init__(self) -> None:
        object.__setattr__(self, "image", pair("image", self.image, 1))
        object.__setattr__(self, "patch", pair("patch", self.patch, 1))
        for name in ("classes", "channels", "hidden", "layers"):
            check_size(name, getattr(self, name))
        recurrent.check_starts(self.starts)
        object.__setattr__(self, "starts", tuple(self.starts))
        activation_by_name(self.activation)
        (rows, cols), (high, wide) = pair("image", self.image, 1), pair("patch", self.patch, 1)
        if rows % high or cols % wide:
            raise ValueError(f"patches must tile the image, got image={(rows, cols)}, patch={(high, wide)}")

    @property
    def grid(self) -> tuple[int, int]:
        """How many cells the recurrence runs over, (rows, cols)."""
        (rows, cols), (high, wide) = pair("image", self.image, 1), pair("patch", self.patch, 1)
        return rows // high, cols // wide

    @property
    def cell(self) -> int:
        """How many numbers one cell of the grid holds."""
        high, wide = pair("patch", self.patch, 1)
        return self.channels * high * wide

    @property
    def width(self) -> int:
        """The states of one cell, over all corners."""
        return self.hidden * len(self.starts)

    def shapes(self) -> ImageShape:
        """Recurrences over the grid of patches, the mean over all cells, a norm, a classifier."""
        scans = GridRNNShape(
            channels=self.cell,
            hidden=self.hidden,
            layers=self.layers,
            starts=len(self.starts),
            activation=self.activation,
            bias=True,
        )
        parts = {
            "input": MovedShape(width=self.cell),
            **dict(scans.shapes().parts),
            "mean": MeanShape(width=self.width),
            "norm": PerRowShape(NormShape(width=self.width)),
        }
        return ImageShape(
            shape=classifier(parts, self.width, self.classes),
            size=pair("image", self.image, 1),
            patch=pair("patch", self.patch, 1),
        )


class GridRNN(nn.Module):
    """An image classifier: recurrences over the grid of patches, the mean over all cells, a linear head.

    >>> model = GridRNN(GridRNNConfig(image=(4, 6), patch=2, channels=3, classes=10, hidden=8))
    >>> model(torch.zeros(5, 3, 4, 6)).shape
    torch.Size([5, 10])
    """

    def __init__(self, config: GridRNNConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.scans = recurrent.GridRNNStack(
            config.cell,
            config.hidden,
            layers=config.layers,
            starts=config.starts,
            activation=config.activation,
            bias=True,
            generator=generator,
        )
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.classes)
        with torch.no_grad():
            self.head.weight.normal_(0.0, config.width**-0.5, generator=generator)
            self.head.bias.zero_()

    def features(self, images: Tensor) -> Tensor:
        """Map images (B, channels, rows, cols) to the last layer's states (B, *grid, width)."""
        check_images(images, self.config.channels, pair("image", self.config.image, 1))
        (rows, cols), (high, wide) = self.config.grid, pair("patch", self.config.patch, 1)
        x = images.unflatten(3, (cols, wide)).unflatten(2, (rows, high))  # B c rows high cols wide
        return self.scans(x.permute(0, 2, 4, 1, 3, 5).flatten(3))  # B rows cols c·high·wide

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, channels, rows, cols) to logits (B, classes)."""
        return self.head(self.norm(self.features(images).mean((1, 2))))
