"""The textbook's vision transformer as a config, so that the same loop can train it untouched."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from regard.course import VisionTransformer
from regard.errors import check_sizes


@dataclass(frozen=True, kw_only=True)
class CourseViT:
    """The arguments of `regard.course.VisionTransformer`, under this package's names.

    >>> model = CourseViT(image=8, patch=4, channels=1, classes=10, depth=1, width=8, heads=2).build()
    >>> type(model).__name__
    'VisionTransformer'
    """

    image: int
    patch: int
    channels: int = 3
    classes: int = 10
    depth: int = 6
    width: int = 128
    heads: int = 3
    head_width: int = 64
    hidden: int = 128

    def __post_init__(self) -> None:
        check_sizes(**{name: getattr(self, name) for name in self.__dataclass_fields__})

    def build(self, generator: torch.Generator | None = None) -> VisionTransformer:
        """The model; torch's own layers draw their first weights from torch's generator, seeded from ours."""
        seed = 0 if generator is None else generator.initial_seed()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return VisionTransformer(
                self.channels, self.classes, self.image, self.patch,
                self.width, self.head_width, self.hidden, self.heads, self.depth,
            )  # fmt: skip
