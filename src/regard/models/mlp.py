"""The plainest image classifier: every pixel to every unit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.layers.letters import Number, check_size
from regard.layers.shapes import (
    ImageShape,
    LinearShape,
    MovedShape,
    PerRowShape,
    classifier,
    function,
    tree,
)
from regard.sharing.sizes import pair


@dataclass(frozen=True, kw_only=True)
class MLPConfig:
    """The shape of an MLP over images; `image` is (rows, cols) or one number for both.

    >>> MLPConfig(image=(28, 28), classes=10).inputs
    784
    """

    image: int | tuple[int, int]
    classes: int
    channels: int = 1
    widths: tuple[int, ...] = (144, 144)

    def __post_init__(self) -> None:
        object.__setattr__(self, "image", pair("image", self.image, 1))
        object.__setattr__(self, "widths", check_widths(self.widths, least=0))
        check_size("classes", self.classes)
        check_size("channels", self.channels)

    @property
    def inputs(self) -> int:
        """How many numbers an image is."""
        rows, cols = pair("image", self.image, 1)
        return self.channels * rows * cols

    def shapes(self) -> ImageShape:
        """Linear layers with ReLU between them."""
        sides: list[Number] = [self.inputs, *self.widths]
        layers = {
            f"layers.{i}": PerRowShape(
                tree({"linear": LinearShape(inputs=a, outputs=b), "relu": function("relu", b)})
            )
            for i, (a, b) in enumerate(pairwise(sides))
        }
        parts = {"input": PerRowShape(MovedShape(width=self.inputs)), **layers}
        return ImageShape(shape=classifier(parts, sides[-1], self.classes), size=pair("image", self.image, 1))


class MLP(nn.Module):
    """Linear layers with ReLU between them, over flattened images.

    >>> MLP(MLPConfig(image=(4, 6), classes=10, widths=(8,)))(torch.zeros(5, 1, 4, 6)).shape
    torch.Size([5, 10])
    """

    def __init__(self, config: MLPConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        sides = [config.inputs, *config.widths]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sides))
        self.head = nn.Linear(sides[-1], config.classes)
        draw_by_fan_in(self, generator)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, channels, rows, cols) to logits (B, classes)."""
        check_images(images, self.config.channels, pair("image", self.config.image, 1))
        x = images.flatten(1)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


def check_images(images: Tensor, channels: int, size: tuple[int, int]) -> None:
    """Raise unless `images` is a batch of what the config describes."""
    if images.ndim != 4 or tuple(images.shape[1:]) != (channels, *size) or len(images) == 0:
        wanted = f"(B, {channels}, {size[0]}, {size[1]})"
        raise ValueError(f"images must be {wanted}, got {tuple(images.shape)}")


def check_widths(widths: tuple[int, ...], least: int) -> tuple[int, ...]:
    """The widths as a tuple of at least `least` positive integers."""
    if not isinstance(widths, tuple | list) or len(widths) < least:
        raise ValueError(f"widths must be a tuple of at least {least} integers, got widths={widths!r}")
    for width in widths:
        check_int("widths", width, 1)
    return tuple(widths)


@torch.no_grad()
def draw_by_fan_in(model: nn.Module, generator: torch.Generator | None) -> None:
    """Set every weight to the scale that ReLU layers keep, the head's to a small one, and biases to zero."""
    for name, weight in model.named_parameters():
        if weight.ndim == 1:
            weight.zero_()
        else:
            gain = 1.0 if name.startswith("head.") else 2.0
            weight.normal_(0.0, (gain / weight[0].numel()) ** 0.5, generator=generator)
