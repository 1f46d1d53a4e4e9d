"""Simple pictures drawn in code, to try a model on where the pictures it was trained on are not at hand."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from regard.data import Images, Pictures
from regard.errors import need

Colour = tuple[int, int, int]
Shape = tuple[str, Colour, tuple[float, ...]]  # what to draw, its colour, points in shares of the side

LIGHT, MIDDLE, DARK = (225, 225, 225), (160, 160, 160), (70, 70, 70)
SKY, SEA, GRASS, ROAD = (135, 180, 225), (40, 90, 150), (95, 140, 70), (120, 120, 120)
WHITE, RED, TYRE, GLASS, BROWN = (235, 235, 240), (190, 30, 35), (25, 25, 25), (60, 80, 105), (120, 80, 45)

CLOTHES: dict[str, tuple[Shape, ...]] = {
    "Trouser": (
        ("polygon", LIGHT, (0.3, 0.04, 0.7, 0.04, 0.76, 0.97, 0.57, 0.97, 0.5, 0.3, 0.43, 0.97, 0.24, 0.97)),
    ),
    "T-shirt/top": (
        ("polygon", LIGHT, (0.3, 0.08, 0.42, 0.12, 0.58, 0.12, 0.7, 0.08, 0.97, 0.3, 0.86, 0.46, 0.74, 0.38,
                            0.74, 0.95, 0.26, 0.95, 0.26, 0.38, 0.14, 0.46, 0.03, 0.3)),
    ),
    "Dress": (
        ("polygon", LIGHT, (0.36, 0.03, 0.44, 0.1, 0.56, 0.1, 0.64, 0.03, 0.66, 0.3, 0.6, 0.45, 0.74, 0.97,
                            0.26, 0.97, 0.4, 0.45, 0.34, 0.3)),
    ),
    "Bag": (
        ("arc", LIGHT, (0.28, 0.12, 0.72, 0.62, 180, 360)),
        ("polygon", LIGHT, (0.1, 0.36, 0.9, 0.36, 0.95, 0.88, 0.05, 0.88)),
        ("polygon", MIDDLE, (0.1, 0.42, 0.9, 0.42, 0.9, 0.5, 0.1, 0.5)),
    ),
    "Ankle boot": (
        ("polygon", LIGHT, (0.42, 0.1, 0.82, 0.1, 0.86, 0.5, 0.95, 0.86, 0.05, 0.86, 0.04, 0.7,
                            0.28, 0.58, 0.42, 0.4)),
        ("polygon", MIDDLE, (0.04, 0.86, 0.95, 0.86, 0.95, 0.93, 0.04, 0.93)),
    ),
    "Sneaker": (
        ("polygon", LIGHT, (0.03, 0.62, 0.28, 0.54, 0.5, 0.38, 0.62, 0.44, 0.88, 0.36, 0.96, 0.42,
                            0.97, 0.66, 0.03, 0.7)),
        ("polygon", MIDDLE, (0.03, 0.68, 0.97, 0.64, 0.97, 0.74, 0.03, 0.75)),
    ),
}  # fmt: skip
THINGS: dict[str, tuple[Shape, ...]] = {
    "airplane": (
        ("polygon", SKY, (0, 0, 1, 0, 1, 1, 0, 1)),
        ("ellipse", WHITE, (0.1, 0.44, 0.92, 0.58)),
        ("polygon", WHITE, (0.48, 0.5, 0.62, 0.5, 0.36, 0.86, 0.26, 0.86)),
        ("polygon", MIDDLE, (0.5, 0.48, 0.62, 0.48, 0.46, 0.22, 0.38, 0.22)),
        ("polygon", WHITE, (0.1, 0.5, 0.22, 0.47, 0.1, 0.24, 0.03, 0.24)),
    ),
    "ship": (
        ("polygon", SKY, (0, 0, 1, 0, 1, 0.6, 0, 0.6)),
        ("polygon", SEA, (0, 0.6, 1, 0.6, 1, 1, 0, 1)),
        ("polygon", DARK, (0.06, 0.52, 0.94, 0.52, 0.84, 0.72, 0.14, 0.72)),
        ("polygon", WHITE, (0.3, 0.36, 0.72, 0.36, 0.72, 0.52, 0.3, 0.52)),
        ("polygon", RED, (0.5, 0.2, 0.6, 0.2, 0.6, 0.36, 0.5, 0.36)),
    ),
    "automobile": (
        ("polygon", WHITE, (0, 0, 1, 0, 1, 0.62, 0, 0.62)),
        ("polygon", ROAD, (0, 0.62, 1, 0.62, 1, 1, 0, 1)),
        ("polygon", RED, (0.05, 0.48, 0.24, 0.44, 0.36, 0.27, 0.7, 0.27, 0.82, 0.45, 0.95, 0.5,
                          0.95, 0.7, 0.05, 0.7)),
        ("polygon", GLASS, (0.3, 0.44, 0.39, 0.31, 0.52, 0.31, 0.52, 0.44)),
        ("polygon", GLASS, (0.55, 0.44, 0.55, 0.31, 0.67, 0.31, 0.75, 0.44)),
        ("ellipse", TYRE, (0.14, 0.58, 0.34, 0.8)),
        ("ellipse", TYRE, (0.66, 0.58, 0.86, 0.8)),
    ),
    "truck": (
        ("polygon", SKY, (0, 0, 1, 0, 1, 0.7, 0, 0.7)),
        ("polygon", ROAD, (0, 0.7, 1, 0.7, 1, 1, 0, 1)),
        ("polygon", WHITE, (0.04, 0.16, 0.66, 0.16, 0.66, 0.72, 0.04, 0.72)),
        ("polygon", RED, (0.68, 0.34, 0.86, 0.34, 0.96, 0.54, 0.96, 0.72, 0.68, 0.72)),
        ("polygon", GLASS, (0.74, 0.38, 0.84, 0.38, 0.91, 0.53, 0.74, 0.53)),
        ("ellipse", TYRE, (0.12, 0.64, 0.28, 0.84)),
        ("ellipse", TYRE, (0.36, 0.64, 0.52, 0.84)),
        ("ellipse", TYRE, (0.74, 0.64, 0.9, 0.84)),
    ),
    "horse": (
        ("polygon", SKY, (0, 0, 1, 0, 1, 0.6, 0, 0.6)),
        ("polygon", GRASS, (0, 0.6, 1, 0.6, 1, 1, 0, 1)),
        ("ellipse", BROWN, (0.2, 0.36, 0.72, 0.62)),
        ("polygon", BROWN, (0.6, 0.46, 0.74, 0.14, 0.82, 0.12, 0.96, 0.3, 0.9, 0.36, 0.8, 0.28, 0.72, 0.52)),
        ("polygon", BROWN, (0.24, 0.5, 0.33, 0.5, 0.31, 0.92, 0.25, 0.92)),
        ("polygon", BROWN, (0.34, 0.5, 0.42, 0.5, 0.41, 0.9, 0.36, 0.9)),
        ("polygon", BROWN, (0.54, 0.5, 0.62, 0.5, 0.61, 0.92, 0.56, 0.92)),
        ("polygon", BROWN, (0.63, 0.5, 0.71, 0.5, 0.71, 0.9, 0.66, 0.9)),
        ("polygon", TYRE, (0.22, 0.4, 0.26, 0.46, 0.16, 0.74, 0.12, 0.72)),
    ),
}  # fmt: skip
SETS = {"fashion-mnist": (CLOTHES, (0, 0, 0), 1, 28), "cifar10": (THINGS, SKY, 3, 32)}
FINER = 8  # drawn so much larger, then made smaller: soft edges, as photographs have


@lru_cache(maxsize=4)
def sketches(data: str) -> Images | None:
    """A few sketches of what a set shows, in its size; None for a set of other things.

    >>> sketches("fashion-mnist").test.images.shape
    torch.Size([6, 1, 28, 28])
    """
    if data not in SETS:
        return None
    things, ground, channels, side = SETS[data]
    made = torch.stack([_draw(shapes, ground, channels, side) for shapes in things.values()])
    part = Pictures(made, torch.arange(len(things)))
    return Images(data, tuple(things), part, part)


def _draw(shapes: tuple[Shape, ...], ground: Colour, channels: int, side: int) -> torch.Tensor:
    need("PIL", "images")
    from PIL import Image, ImageDraw

    big = side * FINER
    picture = Image.new("RGB", (big, big), ground)
    pen: Any = ImageDraw.Draw(picture)
    for kind, colour, points in shapes:
        if kind == "arc":
            *box, start, end = points
            pen.arc([x * big for x in box], start, end, fill=colour, width=big // 18)
        else:
            getattr(pen, kind)([x * big for x in points], fill=colour)
    small = picture.resize((side, side), Image.Resampling.BOX).convert({1: "L", 3: "RGB"}[channels])
    flat = torch.frombuffer(bytearray(small.tobytes()), dtype=torch.uint8)
    return flat.view(side, side, channels).permute(2, 0, 1).contiguous()
