"""How the tokens of an encoder or a ViT become the vector that a head reads, as values of a config."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.layers.letters import Number, check_size
from regard.layers.shapes import LinearShape, PerRowShape, function

POOLS = ("class", "mean")
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}


@dataclass(frozen=True)
class Pooler:
    """The class token through a Linear and an activation; as wide as the model, or `width`.

    >>> Pooler("relu").shape(8).shape.terms[0]
    LinearShape(inputs=8, outputs=8, bias=True, tied=False, split=())
    """

    activation: str = "tanh"
    width: int | None = None

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}")
        if self.width is not None:
            check_int("width", self.width, 1)

    def width_of(self, width: Number) -> Number:
        """The width of what comes out in a model of this width."""
        return width if self.width is None else self.width

    def build(self, width: int) -> nn.Linear:
        """The Linear."""
        return nn.Linear(width, self.width_of(width))

    def apply(self, x: Tensor) -> Tensor:
        """The activation."""
        return ACTIVATIONS[self.activation](x)

    def shape(self, width: Number) -> PerRowShape:
        """The sizes in a model of this width."""
        wide = self.width_of(width)
        return PerRowShape(LinearShape(inputs=width, outputs=wide) + function(self.activation, wide))


@dataclass(frozen=True)
class ClassAndMean:
    """The class token and the mean of the patches side by side (the classifier of DINOv2)."""


@dataclass(frozen=True)
class Distilled:
    """A class token and, behind it, a distillation token (DeiT).

    One head reads the class token; with `heads=2` another reads the distillation token, and the logits are
    the mean of both.
    """

    heads: int = 1

    def __post_init__(self) -> None:
        if self.heads not in (1, 2):
            raise ValueError(f"heads must be 1 or 2, got heads={self.heads!r}")


EncoderPool = str | Pooler
ViTPool = str | Pooler | ClassAndMean | Distilled


def pooler_of(pool: ViTPool) -> Pooler | None:
    """What a class token goes through, where it goes through anything."""
    return pool if isinstance(pool, Pooler) else None


def special_tokens(pool: ViTPool) -> int:
    """How many tokens there are beside the patches of an image."""
    return 2 if isinstance(pool, Distilled) else 0 if pool == "mean" else 1


def check_pool(pool: object, classes: int | None, kinds: tuple[type, ...]) -> None:
    """Raise unless a model can read its tokens so, for at least one class or none at all."""
    if classes is not None:
        check_size("classes", classes)
    if pool not in POOLS and not isinstance(pool, kinds):
        parts = "".join(f", {kind.__name__}()" for kind in kinds)
        raise ValueError(f"pool must be one of {POOLS}{parts}, got pool={pool!r}")
    if pool == Distilled(heads=2) and classes is None:
        raise ValueError("two heads need classes, got pool=Distilled(heads=2), classes=None")
