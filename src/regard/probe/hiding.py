"""How far to trust a map: hide the patches that it calls important and watch the accuracy.

If a map points at what the model uses, hiding its strongest patches hurts sooner than hiding random ones,
and hiding its weakest hurts later. Where the three curves lie together, the map says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.probe.images import grid_of
from regard.probe.twin import evaluated

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class HidingCurve:
    """Accuracy against the share of patches hidden, with the 95 % Wilson interval over the images."""

    order: str
    accuracy: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class HidingCheck:
    """The three curves: the most, random and the least attended patches hidden."""

    shares: tuple[float, ...]
    curves: tuple[HidingCurve, ...]
    images: int
    repeats: int

    def curve(self, order: str) -> HidingCurve:
        """One of "most", "random" and "least"."""
        return next(curve for curve in self.curves if curve.order == order)

    @property
    def advantage(self) -> float:
        """How much lower, on average over the shares, "most" lies than "random": points of accuracy."""
        pairs = zip(self.curve("random").accuracy, self.curve("most").accuracy, strict=True)
        return 100 * sum(a - b for a, b in pairs) / len(self.shares)

    def as_dict(self) -> dict[str, object]:
        """The curves, their shares and the advantage."""
        return asdict(self) | {"advantage": self.advantage}


def check_by_hiding(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    scores: Tensor,
    *,
    generator: torch.Generator,
    shares: Sequence[float] = SHARES,
    repeats: int = 5,
    batch: int = 256,
) -> HidingCheck:
    """Hide a growing share of the patches by `scores` (B,rows,cols), at random, and by −`scores`.

    Hidden patches are taken away altogether: no token attends to them, so no made-up colour takes their
    place. "random" is the mean of `repeats` orders.

    >>> from regard.models import ViT, ViTConfig
    >>> model = ViT(ViTConfig(image=(4, 6), patch=2, channels=1, classes=2, depth=1, width=8, heads=2))
    >>> images, labels = torch.randn(9, 1, 4, 6), torch.zeros(9, dtype=torch.long)
    >>> draw = torch.Generator().manual_seed(0)
    >>> found = check_by_hiding(model, images, labels, torch.rand(9, 2, 3), generator=draw, shares=(0, 0.5))
    >>> [curve.order for curve in found.curves], len(found.curve("most").accuracy)
    (['most', 'random', 'least'], 2)
    """
    shares = tuple(float(share) for share in shares)
    _check(model, images, labels, scores, shares)
    check_int("repeats", repeats, 1)
    check_int("batch", batch, 1)
    ranks = _ranks(scores.flatten(1).cpu())  # B P, 0 for the strongest
    B, P = ranks.shape
    orders = {
        "most": [ranks],
        "random": [torch.rand(B, P, generator=generator).argsort(1).argsort(1) for _ in range(repeats)],
        "least": [P - 1 - ranks],
    }
    curves = []
    for order, tried in orders.items():
        right = [
            sum(_right(model, images, labels, one, share, batch) for one in tried) / len(tried)
            for share in shares
        ]
        low, high = zip(*(wilson(count, B) for count in right), strict=True)
        curves.append(HidingCurve(order, tuple(count / B for count in right), low, high))
    return HidingCheck(shares, tuple(curves), B, repeats)


def _ranks(scores: Tensor) -> Tensor:
    # Ties go to the earlier patch, so that the result does not depend on the sort.
    return scores.argsort(dim=1, descending=True, stable=True).argsort(1)


@torch.no_grad()
def _right(
    model: nn.Module, images: Tensor, labels: Tensor, ranks: Tensor, share: float, batch: int
) -> float:
    """How many images are recognised when the first `share` of the ranks is hidden."""
    place, P = next(model.parameters()).device, ranks.shape[1]
    hidden = round(share * P)
    right, model = 0, evaluated(model)
    for x, y, rank in zip(images.split(batch), labels.split(batch), ranks.split(batch), strict=True):
        segments = torch.where(rank < hidden, -1, 0).to(place)
        found = model(x.to(place), segments=segments).argmax(1).cpu()
        right += int((found == y.cpu()).sum())
    return float(right)


def wilson(right: float, count: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's 95 % interval for a share of `right` in `count`.

    >>> low, high = wilson(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    share, z2 = right / count, z * z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = z / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def _check(
    model: nn.Module, images: Tensor, labels: Tensor, scores: Tensor, shares: tuple[float, ...]
) -> None:
    grid = grid_of(model, images)
    if not len(images) or labels.shape != (len(images),):
        raise ValueError(f"labels must be one per image, got {tuple(labels.shape)} for {len(images)} images")
    if scores.shape != (len(images), *grid):
        raise ValueError(f"scores must be {(len(images), *grid)}, got {tuple(scores.shape)}")
    if not shares or not all(0 <= share <= 1 for share in shares):
        raise ValueError(f"shares must lie from 0 to 1, got {shares}")
