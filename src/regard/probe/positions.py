"""How alike a model's positions are: neighbours in the image should be neighbours in the table."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from regard.errors import check_int
from regard.layers.position import Computed, LearnedTable


@dataclass(frozen=True)
class PositionSimilarity:
    """Cosines between position vectors: (rows,cols,rows,cols) over a grid, (T,T) along a text."""

    similarity: Tensor
    grid: tuple[int, int] | None

    def as_dict(self) -> dict[str, object]:
        """The grid, and the cosines as nested lists."""
        return {"grid": self.grid, "similarity": self.similarity.tolist()}


@torch.no_grad()
def position_similarity(model: nn.Module, length: int | None = None) -> PositionSimilarity:
    """Cosines between the vectors that a model adds for its positions, of which a text may ask `length`.

    >>> from regard.models import ViT, ViTConfig
    >>> model = ViT(ViTConfig(image=(4, 6), patch=2, channels=1, classes=2, depth=1, width=8, heads=2))
    >>> found = position_similarity(model)
    >>> found.similarity.shape, round(float(found.similarity[1, 2, 1, 2]), 4)
    (torch.Size([2, 3, 2, 3]), 1.0)
    """
    config, part = getattr(model, "config", None), getattr(model, "position", None)
    grid = getattr(config, "grid", None)
    if isinstance(part, LearnedTable):
        table = part.weight.float().cpu()
    elif isinstance(part, Computed):
        table = part.position.encode(config.context, part.width).expand(-1, part.width)  # type: ignore[union-attr]
    else:
        raise ValueError(f"model must add positions to its tokens, got {type(model).__name__} with {part}")
    if length is not None:
        check_int("length", length, 1, len(table))
        if grid is not None:
            raise ValueError(f"length is for texts; this model has a grid, got {length=}, {grid=}")
        table = table[:length]
    unit = normalize(table.double(), dim=1)
    cosines = (unit @ unit.T).float()
    if grid is not None:
        cosines = cosines.unflatten(1, grid).unflatten(0, grid)
    return PositionSimilarity(cosines, grid)
