"""Images whose lower part a model made up from their upper part."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import check_int
from regard.models import GridCompletion


@dataclass(frozen=True)
class Completion:
    """True images and completed ones, integers (B,rows,cols) below `levels`; `known` rows were given."""

    truth: Tensor
    completed: Tensor
    known: int
    levels: int
    way: str

    @property
    def same(self) -> float:
        """The share of made-up pixels that hit the true level."""
        return float((self.truth == self.completed)[:, self.known :].float().mean())

    def as_dict(self) -> dict[str, object]:
        """The images as nested lists, and how they were made."""
        return {
            "known": self.known,
            "levels": self.levels,
            "way": self.way,
            "same": self.same,
            "truth": self.truth.tolist(),
            "completed": self.completed.tolist(),
        }


def complete_images(
    model: GridCompletion,
    images: Tensor,
    *,
    known: int | None = None,
    generator: torch.Generator | None = None,
) -> Completion:
    """Give the first `known` rows (half of them unless given) and let the model make the rest.

    With a generator pixels are drawn from the model; without one each is the most likely level.

    >>> from regard.models import GridCompletionConfig
    >>> model = GridCompletion(GridCompletionConfig(levels=4, hidden=8))
    >>> found = complete_images(model, torch.zeros(2, 6, 4, dtype=torch.long))
    >>> found.known, found.completed.shape
    (3, torch.Size([2, 6, 4]))
    """
    if images.ndim != 3 or images.shape[1] < 2:
        raise ValueError(f"images must be (B, rows, cols) of at least 2 rows, got {tuple(images.shape)}")
    rows = images.shape[1]
    known = rows // 2 if known is None else known
    check_int("known", known, 1, rows - 1)
    place = next(model.parameters()).device
    completed = model.complete(images[:, :known].to(place), rows, generator=generator).cpu()
    way = "most likely levels" if generator is None else "drawn from the model"
    return Completion(images.cpu(), completed, known, model.config.levels, way)


def to_levels(pictures: Tensor, levels: int) -> Tensor:
    """Pictures (B,1 or 3,rows,cols) of uint8 as integers (B,rows,cols) below `levels`; colours are averaged.

    >>> to_levels(torch.tensor([[[[0, 127, 128, 255]]]], dtype=torch.uint8), levels=2).tolist()
    [[[0, 0, 1, 1]]]
    """
    check_int("levels", levels, 2, 256)
    grey = pictures.float().mean(1)
    return (grey * levels / 256).long()
