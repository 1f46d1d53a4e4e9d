"""Scores as colours: one scale for attention, one with two signs for gradients, and pictures as PNG bytes.

The attention scale rises evenly in brightness from violet to yellow, and the two signs are orange and blue,
so that a grey print and a colour-blind reader see the same order.
"""

from __future__ import annotations

import struct
import zlib

import torch
from torch import Tensor

from regard.probe.maps import upsample

HEAT = ((46, 15, 94), (122, 28, 109), (197, 54, 84), (242, 120, 48), (253, 226, 120))
FOR, AGAINST = (235, 120, 10), (38, 104, 220)


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


def overlay(picture: Tensor, shares: Tensor, *, side: int = 224, signed: bool = False) -> Tensor:
    """A map (rows,cols), from 0 to 1 (or −1 to 1 if signed), laid over the grey picture: uint8 (…,…,3)."""
    big = enlarge(picture, side)
    size = big.shape[0], big.shape[1]
    grey = big.float() @ torch.tensor([0.299, 0.587, 0.114])
    # Patches stay visible as soft squares: smoother maps promise a sharpness that attention does not have.
    over = 0.5 * (
        upsample(shares[None], size) + upsample(shares[None], size, mode="nearest")
    )[0]  # fmt: skip
    if signed:
        strength = over.abs().clamp(max=1)[..., None]
        colour = torch.where(over[..., None] > 0, torch.tensor(FOR), torch.tensor(AGAINST)).float()
        paper = 0.55 * grey[..., None] + 60
        return (paper * (1 - 0.85 * strength) + colour * 0.85 * strength).round().to(torch.uint8)
    # The picture only darkens the colours, so that a bright pixel is never taken for a strong one.
    shade = 0.6 + 0.4 * grey[..., None] / 255
    return (heat(over) * shade).round().clamp(0, 255).to(torch.uint8)


def blend(share: float, sign: int = 0) -> tuple[int, int, int]:
    """The background of a word: from pale to strong, orange for (or attention), blue against.

    >>> blend(1.0, sign=-1) == AGAINST
    True
    """
    strong = AGAINST if sign < 0 else FOR
    pale = (222, 233, 253) if sign < 0 else (254, 236, 214)
    share = min(max(share, 0.0), 1.0)
    red, green, blue = (round(a * (1 - share) + b * share) for a, b in zip(pale, strong, strict=True))
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
