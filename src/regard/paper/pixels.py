"""Scores as colours: one scale for attention, one with two signs for gradients, and pictures as PNG files.

The attention scale rises evenly in brightness from violet to yellow, and the two signs are orange and blue,
so that a grey print and a colour-blind reader see the same order.
"""

from __future__ import annotations

import struct
import zlib

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from regard.paper.ink import AGAINST, FOR, HEAT, PALE_AGAINST, PALE_FOR, Colour


def heat(values: Tensor) -> Tensor:
    """Values from 0 to 1, of any shape, as colours (…,3) from 0 to 255.

    >>> heat(torch.tensor([0.0, 1.0])).tolist()
    [[46.0, 15.0, 94.0], [253.0, 226.0, 120.0]]
    """
    anchors = torch.tensor(HEAT, dtype=torch.float32)
    place = values.clamp(0, 1) * (len(HEAT) - 1)
    low = place.long().clamp(max=len(HEAT) - 2)
    part = (place - low)[..., None]
    return anchors[low] * (1 - part) + anchors[low + 1] * part


def stretch(maps: Tensor, low: float | None = None, high: float | None = None) -> Tensor:
    """Values as shares of the way from `low` to `high`, by default from the least to the greatest.

    >>> stretch(torch.tensor([1.0, 2.0, 5.0])).tolist()
    [0.0, 0.25, 1.0]
    """
    low = float(maps.min()) if low is None else low
    high = float(maps.max()) if high is None else high
    # A flat map has no strongest place, so it gets the middle of the scale throughout.
    return ((maps - low) / (high - low)).clamp(0, 1) if high > low else torch.full_like(maps, 0.5)


def enlarge(picture: Tensor, side: int) -> Tensor:
    """A picture (1 or 3,rows,cols) of uint8 as (rows',cols',3), sharp, its longer side at least `side`.

    >>> enlarge(torch.zeros(1, 2, 4, dtype=torch.uint8), 10).shape
    torch.Size([6, 12, 3])
    """
    rows, cols = picture.shape[1:]
    times = max(1, -(-side // max(rows, cols)))
    big = picture.expand(3, -1, -1).repeat_interleave(times, 1).repeat_interleave(times, 2)
    return big.permute(1, 2, 0)


def upsample(maps: Tensor, size: tuple[int, int], *, mode: str = "bilinear") -> Tensor:
    """Maps (B,rows,cols) stretched over images of `size`: "bilinear" is smooth, "nearest" shows patches.

    >>> upsample(torch.tensor([[[0.0, 1.0]]]), (1, 4), mode="nearest").tolist()
    [[[0.0, 0.0, 1.0, 1.0]]]
    """
    if mode not in ("bilinear", "nearest"):
        raise ValueError(f"mode must be 'bilinear' or 'nearest', got {mode=}")
    if maps.ndim != 3:
        raise ValueError(f"maps must be (B, rows, cols), got {tuple(maps.shape)}")
    align = False if mode == "bilinear" else None
    return interpolate(maps[:, None], size, mode=mode, align_corners=align)[:, 0]


def overlay(picture: Tensor, shares: Tensor, *, side: int = 224, signed: bool = False) -> Tensor:
    """A map (rows,cols), from 0 to 1 (or −1 to 1 if signed), laid over the grey picture: uint8 (…,…,3)."""
    big = enlarge(picture, side)
    size = big.shape[0], big.shape[1]
    grey = big.float() @ torch.tensor([0.299, 0.587, 0.114])
    # Patches stay visible as soft squares: smoother maps promise a sharpness that attention does not have.
    both = (upsample(shares[None], size, mode=mode)[0] for mode in ("bilinear", "nearest"))
    over = 0.5 * sum(both, start=torch.zeros(size))
    if signed:
        strength = over.abs().clamp(max=1)[..., None]
        colour = torch.where(over[..., None] > 0, torch.tensor(FOR), torch.tensor(AGAINST)).float()
        paper = 0.55 * grey[..., None] + 60
        return (paper * (1 - 0.85 * strength) + colour * 0.85 * strength).round().to(torch.uint8)
    # The picture only darkens the colours, so that a bright pixel is never taken for a strong one.
    shade = 0.6 + 0.4 * grey[..., None] / 255
    return (heat(over) * shade).round().clamp(0, 255).to(torch.uint8)


def blend(share: float) -> Colour:
    """The ground of a word, from pale to strong: orange for (or attention), blue, below 0, against.

    >>> blend(-1.0) == AGAINST
    True
    """
    pale, strong = (PALE_AGAINST, AGAINST) if share < 0 else (PALE_FOR, FOR)
    part = min(abs(share), 1.0)
    red, green, blue = (round(a * (1 - part) + b * part) for a, b in zip(pale, strong, strict=True))
    return red, green, blue


def png(pixels: Tensor) -> bytes:
    """A PNG file from pixels (rows,cols,3) of uint8, without any library.

    >>> png(torch.zeros(2, 3, 3, dtype=torch.uint8))[1:4]
    b'PNG'
    """
    if pixels.dtype != torch.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"pixels must be uint8 (rows, cols, 3), got {tuple(pixels.shape)} of {pixels.dtype}")
    rows, cols, _ = pixels.shape
    # Every line begins with its filter: 0, none.
    lines = torch.cat([torch.zeros(rows, 1, dtype=torch.uint8), pixels.cpu().flatten(1)], 1)
    header = struct.pack(">IIBBBBB", cols, rows, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(lines.flatten().tolist()), 9)
    parts = [(b"IHDR", header), (b"IDAT", body), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
