"""What an image classifier saw in a few images: answers and maps in one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.paper.quantities import chance
from regard.probe.attribution import input_gradient, integrated_gradients
from regard.probe.maps import has_attention, head_attention, mean_attention, patch_map, relative, rollout, see
from regard.probe.twin import evaluated

METHODS = ("attention", "rollout", "gradient")


@dataclass(frozen=True)
class ImageLook:
    """Answers and maps for B images.

    `maps` holds, by name, (B,rows,cols) of patches: "attention" (the reader's, mean of all layers and heads)
    and "rollout" as multiples of the even share, "gradient" as signed shares of the logit. `heads` is
    (B,L,H,rows,cols). A model without attention has the gradient alone, per pixel, and no `heads`; one
    without `classes` has attention alone, and gives no answers.
    """

    pictures: Tensor
    probabilities: Tensor
    maps: dict[str, Tensor]
    heads: Tensor | None
    classes: tuple[str, ...]
    labels: Tensor | None = None
    names: tuple[str, ...] = ()

    @property
    def predicted(self) -> Tensor:
        """The most likely class of each image, (B,)."""
        return self.probabilities.argmax(1)

    @property
    def spans(self) -> dict[str, tuple[float, float]]:
        """The least and the greatest value of all maps of a name."""
        return {name: (float(maps.min()), float(maps.max())) for name, maps in self.maps.items()}

    def title(self, i: int) -> str:
        """The answer for image i and its probability; nothing from a model without classes."""
        if not self.classes:
            return ""
        best = int(self.predicted[i])
        return f"{self.classes[best]} ({chance(float(self.probabilities[i, best]))})"

    def truth(self, i: int) -> str | None:
        """The true label of image i."""
        return None if self.labels is None else self.classes[int(self.labels[i])]

    def right(self, i: int) -> bool | None:
        """Whether the answer is the true label, where there is one."""
        known = self.labels is not None and self.classes
        return bool(self.predicted[i] == self.labels[i]) if known else None  # type: ignore[index]

    def as_dict(self) -> dict[str, object]:
        """Answers, labels, probabilities and maps as plain values, but no pictures and single heads."""
        return {
            "names": list(self.names),
            "predicted": [self.classes[int(i)] for i in self.predicted] if self.classes else None,
            "labels": None if self.labels is None else [self.classes[int(i)] for i in self.labels],
            "probabilities": [
                dict(zip(self.classes, row, strict=True)) for row in self.probabilities.tolist()
            ],
            "maps": {name: maps.tolist() for name, maps in self.maps.items()},
        }


def look_images(
    model: nn.Module,
    inputs: Tensor,
    pictures: Tensor,
    classes: Sequence[str],
    *,
    labels: Tensor | None = None,
    names: Sequence[str] = (),
    steps: int = 32,
) -> ImageLook:
    """Look at images: `inputs` (B,C,rows,cols) as the model takes them, `pictures` (uint8) as people do.

    >>> from regard.models import ViT, ViTConfig
    >>> model = ViT(ViTConfig(image=(4, 6), patch=2, channels=1, classes=2, depth=2, width=8, heads=2))
    >>> pictures = torch.zeros(5, 1, 4, 6, dtype=torch.uint8)
    >>> found = look_images(model, pictures / 255, pictures, ["cat", "dog"])
    >>> list(found.maps), found.maps["rollout"].shape, found.heads.shape
    (['attention', 'rollout', 'gradient'], torch.Size([5, 2, 3]), torch.Size([5, 2, 2, 2, 3]))
    """
    _check(inputs, pictures, classes, labels, names)
    maps: dict[str, Tensor] = {}
    heads = None
    if has_attention(model):
        seen, grid, front = see(model, inputs), grid_of(model, inputs), getattr(model, "front", 1)
        maps["attention"] = relative(patch_map(mean_attention(seen), grid, front))
        maps["rollout"] = relative(patch_map(rollout(seen), grid, front))
        heads = relative(patch_map(head_attention(seen), grid, front))
        logits = seen.logits
    else:
        with torch.no_grad():
            logits = evaluated(model)(inputs.to(next(model.parameters()).device)).float().cpu()
    if logits.shape[1] != len(classes):
        raise ValueError(f"classes must name {logits.shape[1]} classes, got {len(classes)}")
    if classes:
        found = integrated_gradients(model, inputs, steps=steps).scores
        maps["gradient"] = pool(found, grid) if heads is not None else found
    return ImageLook(
        pictures.cpu(), logits.softmax(1), maps, heads, tuple(classes), labels, tuple(map(str, names))
    )


def score_images(model: nn.Module, inputs: Tensor, *, method: str = "attention", batch: int = 256) -> Tensor:
    """One map (B,rows,cols) for each of many images, a batch at a time; "gradient" is |input × gradient|.

    >>> from regard.models import ViT, ViTConfig
    >>> model = ViT(ViTConfig(image=(4, 6), patch=2, channels=1, classes=2, depth=2, width=8, heads=2))
    >>> score_images(model, torch.zeros(5, 1, 4, 6), method="rollout", batch=2).shape
    torch.Size([5, 2, 3])
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method=}")
    check_int("batch", batch, 1)
    found = []
    for part in inputs.split(batch):
        grid = grid_of(model, part)
        if method == "gradient":
            found.append(pool(input_gradient(model, part).scores, grid).abs())
        else:
            seen = see(model, part)
            scores = mean_attention(seen) if method == "attention" else rollout(seen)
            found.append(patch_map(scores, grid))
    return torch.cat(found)


def grid_of(model: nn.Module, images: Tensor) -> tuple[int, int]:
    """How many patches (rows, cols) the model cuts these images into."""
    patches = getattr(model, "patches", None)
    if patches is None:
        raise ValueError(f"model must cut images into patches, as ViT does, got {type(model).__name__}")
    rows, cols = patches.grid(images)
    return rows, cols


def pool(pixels: Tensor, grid: tuple[int, int]) -> Tensor:
    """Sums (B,rows,cols) over patches of scores (B,height,width) of pixels.

    >>> pool(torch.ones(1, 4, 6), (2, 3)).tolist()
    [[[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]]
    """
    rows, cols = grid
    return pixels.unflatten(2, (cols, -1)).unflatten(1, (rows, -1)).sum((2, 4))


def _check(
    inputs: Tensor, pictures: Tensor, classes: Sequence[str], labels: Tensor | None, names: Sequence[str]
) -> None:
    if inputs.ndim != 4 or not len(inputs) or not inputs.is_floating_point():
        raise ValueError(f"inputs must be floats (B, C, rows, cols), B at least 1, got {tuple(inputs.shape)} "
                         f"of {inputs.dtype}")  # fmt: skip
    if pictures.dtype != torch.uint8 or pictures.ndim != 4 or pictures.shape[1] not in (1, 3):
        raise ValueError(f"pictures must be uint8 (B, 1 or 3, rows, cols), got {tuple(pictures.shape)} "
                         f"of {pictures.dtype}")  # fmt: skip
    for name, count in (("pictures", len(pictures)), ("labels", None if labels is None else len(labels)),
                        ("names", len(names) if names else None)):  # fmt: skip
        if count not in (None, len(inputs)):
            raise ValueError(f"{name} must be as many as inputs, got {count} and {len(inputs)}")
    if labels is not None and len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < len(classes):
        raise ValueError(f"labels must lie from 0 to {len(classes) - 1}, got {labels.tolist()}")
