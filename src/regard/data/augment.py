"""Pictures changed at random on their device: crop, flip, colour, erase, mixup, cutmix.

All chance comes first, as one tensor of uniform numbers; what they do to a batch is a plain function of them,
without branches on values and without a word to the host, so a compiler can fuse it into a few kernels and a
CUDA graph can hold it. In order: the colours of a whole picture change; it is shifted and flipped; what comes
from beyond its border, and what is erased, is black; two neighbours in the batch are mixed; the result is
normalised.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import reduce
from math import isfinite, log, pi
from operator import and_
from typing import NamedTuple

import torch
from torch import Tensor

from regard.errors import check_int

GREY = (0.299, 0.587, 0.114)  # the share of red, green and blue in brightness, ITU-R BT.601
ERASED = (0.02, 1 / 3)  # least and greatest share of a picture that is erased
MOST = {"flip": 1, "colour": 1, "erase": 1, "turn": 180, "zoom": 1}  # of the settings that have a limit
SLANT = 3.3  # how many times as tall as wide an erased part may be, or as wide as tall


class Draws(NamedTuple):
    """What is drawn for every picture, each uniform in [0, 1) of shape (B,), used or not.

    A part that is switched on or off so leaves the draws of all others as they were.
    """

    top: Tensor
    left: Tensor
    flip: Tensor
    brightness: Tensor
    contrast: Tensor
    saturation: Tensor
    erase: Tensor
    erase_area: Tensor
    erase_slant: Tensor
    erase_top: Tensor
    erase_left: Tensor
    mix: Tensor
    mix_radius: Tensor
    mix_angle: Tensor
    mix_top: Tensor
    mix_left: Tensor
    turn: Tensor
    zoom: Tensor


@dataclass(frozen=True, kw_only=True)
class Augment:
    """How pictures are changed for training; as it stands, they are only normalised.

    `crop` is how many pixels a picture may move each way, `border` what comes in there (black, or the picture
    mirrored), `turn` how many degrees it may turn and `zoom` by what share it may grow or shrink (to the
    nearest pixel), `flip` and `erase` probabilities, `colour` how far brightness, contrast and saturation may
    change, `mixup` and `cutmix` the α of the Beta(α, α) that mixes two pictures; with both, half the pictures
    get one and half the other.

    >>> augment = Augment(classes=3, mean=(0.5,), std=(0.25,), crop=2, flip=0.5, mixup=0.2)
    >>> images = torch.randint(256, (4, 1, 6, 8), dtype=torch.uint8)
    >>> x, targets = augment(images, torch.tensor([0, 1, 2, 1]), generator=torch.Generator().manual_seed(0))
    >>> x.shape, targets.sum(1)
    (torch.Size([4, 1, 6, 8]), tensor([1., 1., 1., 1.]))
    """

    classes: int
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    crop: int = 0
    border: str = "black"
    flip: float = 0.0
    colour: float = 0.0
    erase: float = 0.0
    mixup: float = 0.0
    cutmix: float = 0.0
    turn: float = 0.0
    zoom: float = 0.0

    def __post_init__(self) -> None:
        check_int("classes", self.classes, least=1)
        check_int("crop", self.crop, least=0)
        if self.border not in ("black", "mirror"):
            raise ValueError(f"border must be 'black' or 'mirror', got border={self.border!r}")
        for field in fields(self)[5:]:
            value = getattr(self, field.name)
            most = MOST.get(field.name, float("inf"))
            if not 0 <= value <= most or not isfinite(value):
                raise ValueError(f"{field.name} must be a number from 0 to {most}, got {field.name}={value}")
        object.__setattr__(self, "mean", tuple(map(float, self.mean)))  # a list, as JSON gives, has no hash
        object.__setattr__(self, "std", tuple(map(float, self.std)))
        if not self.mean or len(self.mean) != len(self.std) or not all(s > 0 for s in self.std):
            got = f"mean={self.mean}, std={self.std}"
            raise ValueError(f"mean and std must have one number per channel, std above 0, got {got}")

    def __call__(
        self, images: Tensor, labels: Tensor, *, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Changed and normalised images, float32 (B, C, rows, cols), and targets (B, classes) that sum to 1.

        A CUDA graph that captures the call must have the generator registered with it.
        """
        return self.apply(images, labels, self.draw(len(images), images.device, generator))

    def draw(self, count: int, device: torch.device, generator: torch.Generator | None = None) -> Draws:
        """All the chance that `count` pictures need, in one kernel."""
        return Draws(*torch.rand(len(Draws._fields), count, device=device, generator=generator))

    def apply(self, images: Tensor, labels: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
        """What the call gives for these draws; a pure function."""
        self._check(images, labels)
        x, seen = images, []
        if self.crop or self.flip or self.turn or self.zoom:
            row, col = self._source(images, draws)
            x = self._moved(images, row, col)
            if self.border == "black":
                seen += [_inside(row, images.shape[2])[:, None], _inside(col, images.shape[3])[:, None]]
        if self.erase:
            seen.append(self._not_erased(images, draws))
        x = self._coloured(x.float(), images, draws)
        x = torch.where(reduce(and_, seen), x, 0.0) if seen else x
        targets = (labels[:, None] == torch.arange(self.classes, device=labels.device)).float()
        if self.mixup or self.cutmix:
            share, own = self._shares(images, draws)
            x = torch.lerp(x.roll(1, 0), x, share)
            targets = torch.lerp(targets.roll(1, 0), targets, own[:, None])
        return self._normalised(x), targets

    def normalise(self, images: Tensor) -> Tensor:
        """The images as they are, float32 and normalised, for validation.

        >>> images = torch.tensor([[[[0, 51]]]], dtype=torch.uint8)
        >>> Augment(classes=2, mean=(0.5,), std=(0.5,)).normalise(images)
        tensor([[[[-1.0000, -0.6000]]]])
        """
        self._check(images, None)
        return self._normalised(images.float())

    def _source(self, images: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
        """The row and column in the old picture of each place in the new, broadcast to (B, rows, cols)."""
        R, S = images.shape[2:]
        row = torch.arange(R, device=images.device)[None, :, None]
        col = torch.arange(S, device=images.device)[None, None, :]
        col = torch.where(draws.flip[:, None, None] < self.flip, S - 1 - col, col)
        if self.turn or self.zoom:
            row, col = self._turned(row - (R - 1) / 2, col - (S - 1) / 2, draws)
            row, col = (row + (R - 1) / 2).round().long(), (col + (S - 1) / 2).round().long()
        return row + self._shift(draws.top), col + self._shift(draws.left)

    def _turned(self, down: Tensor, right: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
        """Steps from the middle, turned and stretched."""
        angle = (2 * draws.turn - 1) * (self.turn * pi / 180)
        scale = torch.exp((2 * draws.zoom - 1) * log(1 + self.zoom))
        cos, sin = ((scale * part)[:, None, None] for part in (torch.cos(angle), torch.sin(angle)))
        return cos * down - sin * right, sin * down + cos * right

    def _shift(self, u: Tensor) -> Tensor:
        return (_below(u, 2 * self.crop + 1) - self.crop)[:, None, None]

    def _moved(self, images: Tensor, row: Tensor, col: Tensor) -> Tensor:
        B, C, R, S = images.shape
        if self.border == "mirror":
            row, col = _mirrored(row, R), _mirrored(col, S)
        # What is beyond becomes black later; here it only has to be a valid index.
        row, col = row.clamp(0, R - 1), col.clamp(0, S - 1)
        picture = torch.arange(B, device=images.device)[:, None, None, None]
        channel = torch.arange(C, device=images.device)[:, None, None]
        return images[picture, channel, row[:, None], col[:, None]]  # indices that broadcast to B C R S

    def _not_erased(self, images: Tensor, draws: Draws) -> Tensor:
        """Which pixels (B, 1, rows, cols) stay."""
        R, S = images.shape[2:]
        root = (ERASED[0] + (ERASED[1] - ERASED[0]) * draws.erase_area).sqrt()
        slant = torch.exp((2 * draws.erase_slant - 1) * (log(SLANT) / 2))  # √(height / width)
        height = (R * root * slant).round().clamp(1, R).long()
        width = (S * root / slant).round().clamp(1, S).long()
        top, left = _below(draws.erase_top, R - height + 1), _below(draws.erase_left, S - width + 1)
        box = _box(images, top, top + height, left, left + width)
        return ~(box & (draws.erase < self.erase)[:, None, None])[:, None]

    def _coloured(self, x: Tensor, images: Tensor, draws: Draws) -> Tensor:
        """Brightness, contrast around the mean grey, saturation: together one linear map, clamped."""
        if not self.colour:
            return x
        light, contrast, saturation = (
            (1 + self.colour * (2 * u - 1))[:, None, None, None]
            for u in (draws.brightness, draws.contrast, draws.saturation)
        )
        middle = self._grey(images.mean((2, 3), keepdim=True, dtype=torch.float32))
        return (
            light * (contrast * (saturation * x + (1 - saturation) * self._grey(x)) + (1 - contrast) * middle)
        ).clamp(0, 255)

    def _grey(self, x: Tensor) -> Tensor:
        if x.shape[1] != len(GREY):
            return x.mean(1, keepdim=True)
        return x[:, 0:1] * GREY[0] + x[:, 1:2] * GREY[1] + x[:, 2:3] * GREY[2]

    def _shares(self, images: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
        """How much of each pixel (B, 1, rows or 1, cols or 1), and of each target (B,), stays its own."""
        own = symmetric_beta(self.mixup, draws.mix_radius, draws.mix_angle) if self.mixup else None
        if not self.cutmix:
            assert own is not None
            return own[:, None, None, None], own
        R, S = images.shape[2:]
        side = (1 - symmetric_beta(self.cutmix, draws.mix_radius, draws.mix_angle)).clamp(0, 1).sqrt()
        height, width = (R * side).round().long(), (S * side).round().long()
        # The middle may be anywhere, so a part may reach beyond the border; it counts as what it covers.
        top, left = _below(draws.mix_top, R) - height // 2, _below(draws.mix_left, S) - width // 2
        (top, bottom), (left, right) = _span(top, height, R), _span(left, width, S)
        share = 1 - _box(images, top, bottom, left, right).float()
        kept = 1 - (bottom - top) * (right - left) / (R * S)
        if own is not None:
            pick = draws.mix < 0.5
            share = torch.where(pick[:, None, None], own[:, None, None], share)
            kept = torch.where(pick, own, kept)
        return share[:, None], kept

    def _normalised(self, x: Tensor) -> Tensor:
        scale = _channels([1 / (255 * s) for s in self.std], x)
        shift = _channels([-m / s for m, s in zip(self.mean, self.std, strict=True)], x)
        return torch.addcmul(shift, x, scale)

    def _check(self, images: Tensor, labels: Tensor | None) -> None:
        shape = tuple(images.shape)
        if images.dtype != torch.uint8 or images.ndim != 4:
            raise ValueError(f"images must be uint8 (B, C, rows, cols), got {images.dtype} {shape}")
        if len(self.mean) not in (1, shape[1]):
            raise ValueError(f"mean must have one number per channel of images {shape}, got mean={self.mean}")
        if self.border == "mirror" and self.crop >= min(shape[2:]):
            raise ValueError(f"crop must be less than the sides of images {shape}, got crop={self.crop}")
        if labels is not None and labels.shape != shape[:1]:
            raise ValueError(f"labels must be one for each of {shape[0]} images, got {tuple(labels.shape)}")


def symmetric_beta(alpha: float, u: Tensor, v: Tensor) -> Tensor:
    """Beta(α, α) from two uniform numbers, without the rejection that a CUDA graph could not hold.

    The formula is from Devroye, "Random variate generation in one line of code", 1996.
    """
    c, power = torch.cos(2 * pi * v), u ** (1 / alpha)
    return 0.5 + 0.5 * c / torch.sqrt(c * c + power / (1 - power))


def _below(u: Tensor, end: Tensor | int) -> Tensor:
    """Integers from 0 to end − 1 out of uniform numbers; rounding may reach end itself."""
    i = (u * end).long()
    return i.clamp(max=end - 1) if isinstance(end, int) else torch.minimum(i, end - 1)


def _inside(i: Tensor, size: int) -> Tensor:
    return (i >= 0) & (i < size)


def _mirrored(i: Tensor, size: int) -> Tensor:
    """Positions beyond the border reflected in the outermost pixel."""
    return size - 1 - (size - 1 - i.abs()).abs()


def _span(start: Tensor, size: Tensor, end: int) -> tuple[Tensor, Tensor]:
    """Where a stretch starts and ends inside of 0 to `end`."""
    return start.clamp(0, end), (start + size).clamp(0, end)


def _box(images: Tensor, top: Tensor, bottom: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Which pixels (B, rows, cols) lie in each picture's box."""
    row = torch.arange(images.shape[2], device=images.device)
    col = torch.arange(images.shape[3], device=images.device)
    inside_rows = (row >= top[:, None]) & (row < bottom[:, None])
    inside_cols = (col >= left[:, None]) & (col < right[:, None])
    return inside_rows[:, :, None] & inside_cols[:, None, :]


def _channels(values: Sequence[float], x: Tensor) -> Tensor:
    """One number per channel (C, 1, 1), made on the device, because a capture allows no copy to it."""
    out = x.new_full((len(values), 1, 1), values[0])
    channel = torch.arange(len(values), device=x.device)[:, None, None]
    for c, value in enumerate(values[1:], start=1):
        out = torch.where(channel == c, value, out)
    return out
