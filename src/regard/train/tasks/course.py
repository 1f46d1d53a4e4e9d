"""The textbook's models as configs, so that the same loop can train them untouched."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import nn

from regard.course import DialogueGPT, VisionTransformer
from regard.errors import check_sizes
from regard.models.trunk import WithVocab

Model = TypeVar("Model", bound=nn.Module)


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
        check_sizes(**vars(self))

    def build(self, generator: torch.Generator | None = None) -> VisionTransformer:
        """The model, with first weights by the generator's seed."""
        sizes = self.channels, self.classes, self.image, self.patch
        stack = self.width, self.head_width, self.hidden, self.heads, self.depth
        return _seeded(lambda: VisionTransformer(*sizes, *stack), generator)


@dataclass(frozen=True, kw_only=True)
class CourseGPT(WithVocab):
    """The arguments of `regard.course.DialogueGPT`; `vocab` is set from the data.

    >>> type(CourseGPT(vocab=9, context=8, depth=1, width=8, heads=2).build()).__name__
    'DialogueGPT'
    """

    vocab: int | None = None
    context: int
    depth: int = 6
    width: int = 128
    heads: int = 3
    head_width: int = 64
    hidden: int = 128

    def __post_init__(self) -> None:
        self.check_vocab()
        check_sizes(**{name: value for name, value in vars(self).items() if name != "vocab"})

    def build(self, generator: torch.Generator | None = None) -> DialogueGPT:
        """The model, with first weights by the generator's seed."""
        stack = self.width, self.head_width, self.hidden, self.heads, self.depth
        return _seeded(lambda: DialogueGPT(self.vocab_size, self.context, *stack), generator)


def _seeded(build: Callable[[], Model], generator: torch.Generator | None) -> Model:
    """Torch's own layers draw their first weights from torch's generator, seeded here from ours."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0 if generator is None else generator.initial_seed())
        return build()
