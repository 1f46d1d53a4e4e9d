"""Pictures to show a model: of its own test set, sketches where that is not here, and what visitors send."""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from regard.data import Images, Pictures, load
from regard.data.fetch import VARIABLE
from regard.data.sets import EMBEDDED, PUBLISHED
from regard.errors import need
from regard.studio.limits import FieldError
from regard.studio.sketches import sketches
from regard.train.runs.images import ImageRun

EVEN = 20.0  # standard deviation of a border that is one ground, of 255
HELD = 60  # pictures that a run on one's own data held out


@dataclass(frozen=True)
class Samples:
    """Pictures to try a model on, whose they are, and how sure their classes are."""

    name: str
    classes: tuple[str, ...]
    pictures: Pictures
    words: str
    own: bool  # of the set that the model was trained on
    sure: str = "truly"


@lru_cache(maxsize=4)
def test_set(data: str) -> Images | None:
    """The set that a model was trained on, if it is on this machine; nothing is downloaded."""
    if data in PUBLISHED:
        source = PUBLISHED[data][0]
        places = [os.environ.get(VARIABLE), need("pooch", "data").os_cache("regard")]
        if not any(place and (Path(place).expanduser() / source.folder).is_dir() for place in places):
            return None
    elif data not in EMBEDDED:
        return None
    found = load(data)
    return found if isinstance(found, Images) else None


def samples(run: ImageRun) -> Samples:
    """Pictures to try a model on: its own test pictures, or sketches where those are not here."""
    data = str(run.description.get("data"))
    own, absent = test_set(data), f"the pictures of {data} are not on this machine: these are"
    if own is not None:
        return Samples(own.name, own.classes, own.test, f"test pictures of {data}, never trained on", True)
    drawn = sketches(data)
    if drawn is not None:
        return Samples(data, drawn.classes, drawn.test, f"{absent} sketches drawn in code", False, "meant as")
    if data not in PUBLISHED:
        try:
            held = run.held_out(HELD)
            return Samples(data, tuple(run.classes), held, "pictures that its training held out", True)
        except (ValueError, OSError):  # moved, or of a plugin that is not here
            pass
    digits = test_set("digits")
    assert digits is not None
    return Samples("digits", digits.classes, digits.test, f"{absent} digits, new to the model", False)


def fitted(picture: Tensor, image: tuple[int, int, int]) -> Tensor:
    """A picture of uint8 (C,rows,cols) at the size and with the channels that a model takes."""
    channels, rows, cols = image
    if tuple(picture.shape) == image:
        return picture
    wanted = picture.float()
    if len(picture) != channels:
        wanted = wanted.mean(0, keepdim=True).expand(channels, -1, -1)
    if picture.shape[1:] != (rows, cols):
        resize = torch.nn.functional.interpolate
        wanted = resize(wanted[None], (rows, cols), mode="bilinear", antialias=True)[0]
    return wanted.round().clamp(0, 255).to(torch.uint8).contiguous()


def shape_of(run: ImageRun) -> tuple[int, int, int]:
    """Channels, rows and columns of what a model takes."""
    *channels, rows, cols = run.description["image"]
    return (channels or [1])[0], rows, cols


def unpacked(text: str, shape: list[object], most: int, field: str = "pixels") -> Tensor:
    """The picture (C,rows,cols) that a page sent as base64."""
    fine = len(shape) == 3 and all(isinstance(side, int) and 0 < side <= most for side in shape)
    if not fine or shape[0] not in (1, 3):
        raise FieldError(
            field, f"a picture must be [1 or 3, rows, cols], each up to {most}, got {shape!r:.60}"
        )
    channels, rows, cols = (int(side) for side in shape)  # type: ignore[call-overload]
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise FieldError(field, f"{field} must be base64") from None
    if len(data) != channels * rows * cols:
        raise FieldError(field, f"{field} must be {channels * rows * cols:,} bytes, got {len(data):,}")
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(channels, rows, cols)


def packed(picture: Tensor) -> str:
    """A picture of uint8 as base64."""
    return base64.b64encode(bytes(picture.flatten().tolist())).decode()


def exchanged(picture: Tensor, run: ImageRun) -> bool:
    """Whether the even ground of a grey picture is dark where that of the model's own pictures is light.

    Ink on paper is dark on light, and the usual data sets of digits and clothes are the reverse.
    """
    if len(picture) != 1:
        return False
    one = picture[0].float()
    border = torch.cat([one[0], one[-1], one[1:-1, 0], one[1:-1, -1]])
    ground_is_light = float(run.description["mean"][0]) > 0.5
    return float(border.std(unbiased=False)) < EVEN and (float(border.mean()) > 127) != ground_is_light


def filled(there: Samples) -> tuple[float, float] | None:
    """The shares of height and width that things fill in a model's own pictures, on their even ground."""
    if not there.own or len(there.pictures) < HELD or there.pictures.images.shape[1] != 1:
        return None
    images = there.pictures.images[:500, 0].float()
    seen = (images - images[:, 0, 0].median()).abs() > 60
    return float(seen.any(2).float().mean()), float(seen.any(1).float().mean())
