"""A small convolutional classifier: shared filters, pooled until one vector is left."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d

from regard.layers.image_shapes import ConvolutionShape
from regard.layers.letters import check_size, is_letter
from regard.layers.shapes import GridShape, ImageShape, MeanShape, MovedShape, classifier, function, tree
from regard.models.mlp import check_images, check_widths, draw_by_fan_in
from regard.sharing.sizes import pair


@dataclass(frozen=True, kw_only=True)
class ConvNetConfig:
    """The shape of a ConvNet: one convolution per entry of `widths`, halving the image between them.

    >>> ConvNetConfig(image=(28, 20), classes=10, widths=(8, 16, 32)).grids
    ((28, 20), (14, 10), (7, 5))
    """

    image: int | tuple[int, int]
    classes: int
    channels: int = 1
    widths: tuple[int, ...] = (32, 80, 160)
    kernel: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "image", pair("image", self.image, 1))
        object.__setattr__(self, "widths", check_widths(self.widths, least=1))
        check_size("classes", self.classes)
        check_size("channels", self.channels)
        check_size("kernel", self.kernel)
        if not is_letter(self.kernel) and self.kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, so that it has a middle, got kernel={self.kernel}")
        if 0 in self.grids[-1]:
            halvings = len(self.widths) - 1
            raise ValueError(
                f"image must stay at least 1×1 after {halvings} halvings, got image={self.image}"
            )

    @property
    def grids(self) -> tuple[tuple[int, int], ...]:
        """The size of the image at each convolution."""
        rows, cols = pair("image", self.image, 1)
        return tuple((rows // 2**i, cols // 2**i) for i in range(len(self.widths)))

    def shapes(self) -> ImageShape:
        """Convolutions with ReLU, maxima between them, the mean over places, a classifier."""
        sides = [self.channels, *self.widths]
        layers = {}
        for i, ((a, b), grid) in enumerate(zip(pairwise(sides), self.grids, strict=True)):
            conv = ConvolutionShape(inputs=a, outputs=b, kernel=self.kernel, padding="same")
            pool = function("max", a) if i > 0 else None
            shape = tree({"pool": pool, "conv": conv, "relu": function("relu", b)})
            layers[f"layers.{i}"] = GridShape(shape=shape, grid=grid)
        parts = {
            "input": MovedShape(width=self.channels),
            **layers,
            "mean": GridShape(shape=MeanShape(width=sides[-1]), grid=self.grids[-1]),
        }
        return ImageShape(shape=classifier(parts, sides[-1], self.classes), size=pair("image", self.image, 1))


class ConvNet(nn.Module):
    """Convolutions with ReLU, maxima over 2×2 between them, the mean over what is left, one linear head.

    >>> config = ConvNetConfig(image=(8, 12), classes=10, channels=3, widths=(4, 8))
    >>> ConvNet(config)(torch.zeros(5, 3, 8, 12)).shape
    torch.Size([5, 10])
    """

    def __init__(self, config: ConvNetConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        sides = [config.channels, *config.widths]
        self.layers = nn.ModuleList(
            nn.Conv2d(a, b, config.kernel, padding=config.kernel // 2) for a, b in pairwise(sides)
        )
        self.head = nn.Linear(sides[-1], config.classes)
        draw_by_fan_in(self, generator)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, channels, rows, cols) to logits (B, classes)."""
        check_images(images, self.config.channels, pair("image", self.config.image, 1))
        x = images
        for i, layer in enumerate(self.layers):
            x = torch.relu(layer(max_pool2d(x, 2) if i > 0 else x))
        return self.head(x.mean((2, 3)))
