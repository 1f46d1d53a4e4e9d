"""Simple pictures drawn in code, to try a model on where the pictures it was trained on are not at hand."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import torch

from regard.data import Images, Pictures
from regard.errors import need
from regard.paper.ink import Colour

DRAWN = Path(__file__).with_name("sketches.json")  # of each thing its shapes, in shares of the side
FINER = 8  # drawn so much larger, then made smaller: soft edges, as photographs have


@lru_cache(maxsize=4)
def sketches(data: str) -> Images | None:
    """A few sketches of what a set shows, in its size; None for a set of other things.

    >>> sketches("fashion-mnist").test.images.shape
    torch.Size([6, 1, 28, 28])
    """
    drawn = json.loads(DRAWN.read_text(encoding="utf-8"))
    if data not in drawn["sets"]:
        return None
    one = drawn["sets"][data]
    made = []
    for shapes in one["things"].values():
        coloured = [(kind, tuple(drawn["colours"][name]), points) for kind, name, points in shapes]
        made.append(_draw(coloured, tuple(one["ground"]), one["channels"], one["side"]))
    part = Pictures(torch.stack(made), torch.arange(len(made)))
    return Images(data, tuple(one["things"]), part, part)


def _draw(
    shapes: list[tuple[str, Colour, list[float]]], ground: Colour, channels: int, side: int
) -> torch.Tensor:
    need("PIL", "images")
    from PIL import Image, ImageDraw

    big = side * FINER
    picture = Image.new("RGB", (big, big), ground)
    pen = ImageDraw.Draw(picture)
    for kind, colour, points in shapes:
        if kind == "arc":
            *box, start, end = points
            pen.arc([x * big for x in box], start, end, fill=colour, width=big // 18)
        else:
            getattr(pen, kind)([x * big for x in points], fill=colour)
    small = picture.resize((side, side), Image.Resampling.BOX).convert({1: "L", 3: "RGB"}[channels])
    flat = torch.frombuffer(bytearray(small.tobytes()), dtype=torch.uint8)
    return flat.view(side, side, channels).permute(2, 0, 1).contiguous()
