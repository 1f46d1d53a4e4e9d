"""Image files as tensors of the size that a model takes, with a notice for everything that had to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.errors import check_int, need

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

KINDS = ("PNG", "JPEG", "WEBP")
STILLS = (*KINDS, "MPO", "BMP", "GIF", "TIFF", "PPM")  # what a data set may be made of
WORDS = "PNG, JPEG or WebP"
GREYS = ("1", "L", "LA", "I", "F")
ORIENTATION = 0x0112  # of EXIF: from 5 to 8 the picture lies on its side
MOST_PIXELS = 64_000_000  # a larger picture is a mistake or an attack: it would take 256 MB and more


@dataclass(frozen=True)
class ImageRead:
    """A picture (channels,rows,cols) of uint8, and what was done to the file to get it."""

    picture: Tensor
    notices: tuple[str, ...]


def read_image(
    path: str | Path,
    size: tuple[int, int],
    channels: int = 3,
    *,
    kinds: tuple[str, ...] = KINDS,
    data: bytes | None = None,
) -> ImageRead:
    """Read a PNG, JPEG or WebP file as a picture of `size` (rows, cols) with 1 or 3 channels.

    Another shape is cut to its middle, another size resized, other modes converted: each with a notice.
    Whatever cannot be read is one ValueError. With `data`, the file's bytes, `path` is no more than its name.

    >>> read_image("no-such-file.png", (8, 8))
    Traceback (most recent call last):
        ...
    ValueError: no-such-file.png cannot be read: No such file or directory
    """
    for side in size:
        check_int("size", side, 1)
    if channels not in (1, 3):
        raise ValueError(f"channels must be 1 or 3, got {channels=}")
    path = Path(path)
    need("PIL", "images")
    from PIL import ImageOps

    with opened(path, kinds, data) as image:
        image.load()
        frames = getattr(image, "n_frames", 1)
        return _fit(ImageOps.exif_transpose(image), frames, size, channels, path.name)


@contextmanager
def opened(path: Path, kinds: tuple[str, ...] = KINDS, data: bytes | None = None) -> Iterator[Picture]:
    """An image file of one of these kinds, its pixels not yet read; whatever is wrong is one ValueError."""
    from PIL import Image, UnidentifiedImageError

    try:
        # Filters of warnings belong to all threads, so Pillow's are left as they are: raised or printed.
        with path.open("rb") if data is None else BytesIO(data) as file, Image.open(file) as image:
            if image.format not in kinds:
                raise ValueError(f"{path} must be {WORDS}, got {image.format}")
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(_too_large(path, f"{image.width}×{image.height}"))
            yield image
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ValueError(_too_large(path, "over 89 million pixels")) from error
    except UnidentifiedImageError as error:
        raise ValueError(f"{path} is no image that can be read: use {WORDS}") from error
    except OSError as error:
        if error.strerror is not None:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
        raise ValueError(f"{path} is a damaged image: {error}") from error
    except (SyntaxError, Warning, EOFError, MemoryError, OverflowError) as error:
        # What Pillow's decoders let through on files that lie about themselves.
        raise ValueError(f"{path} is a damaged image: {error}") from error


@dataclass(frozen=True)
class Header:
    """What an image file says of itself before its pixels are read."""

    rows: int
    cols: int
    grey: bool


def read_header(path: Path) -> Header:
    """The size of a picture as it will be seen, and whether it has no colours; an animation is refused."""
    need("PIL", "images")
    with opened(path, STILLS) as image:
        if getattr(image, "is_animated", False):
            raise ValueError(f"{path} is animated, which picture of it is meant cannot be known")
        turned = image.getexif().get(ORIENTATION, 1) in range(5, 9)
        rows, cols = (image.width, image.height) if turned else (image.height, image.width)
        return Header(rows, cols, image.mode in GREYS or image.mode.startswith("I;16"))


def _fit(image: Picture, frames: int, size: tuple[int, int], channels: int, name: str) -> ImageRead:
    from PIL import Image

    notices = [f"{name}: the first of {frames} frames"] if frames > 1 else []
    rows, cols = size
    if (image.height, image.width) != (rows, cols):
        words = f"{name}: {image.width}×{image.height} pixels"
        box = _middle(image.width, image.height, cols, rows)
        if (box[2] - box[0], box[3] - box[1]) != image.size:
            words += f", cut to the middle {box[2] - box[0]}×{box[3] - box[1]}"
        notices.append(f"{words}, resized to {cols}×{rows}")
    else:
        box = (0, 0, image.width, image.height)
    image, words = _convert(image, channels)
    if words:
        notices.append(f"{name}: {words}")
    if image.size != (cols, rows):
        # Cut before resizing: a box given to `resize` lets colours from outside bleed in.
        image = image.crop(box).resize((cols, rows), Image.Resampling.BILINEAR)
    data = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return ImageRead(data.view(rows, cols, channels).permute(2, 0, 1).contiguous(), tuple(notices))


def _convert(image: Picture, channels: int) -> tuple[Picture, str]:
    """The image with 1 or 3 channels of 8 bits, and what that took."""
    from PIL import Image

    wanted, done = {1: "L", 3: "RGB"}[channels], []
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        # Pillow itself would clip 16 bits at 255.
        image = image.convert("F").point(lambda value: value / 257).convert("L")
        done.append("16 bits brought down to 8")
    if image.has_transparency_data:
        clear = image.convert("RGBA")
        if min(clear.getchannel("A").tobytes()) < 255:
            done.append("transparency laid over white")
        image = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear).convert("RGB")
        if channels == 3:
            return image, ", ".join(done)
    if image.mode != wanted:
        grey = {"L", "1", "LA"}
        if channels == 1:
            done += [] if image.mode in grey else ["colours turned to grey"]
        elif image.mode in grey:
            done.append("grey used for all three colours")
        elif image.mode not in ("P", "RGBA"):
            done.append(f"converted from {image.mode} to RGB")
        image = image.convert(wanted)
    return image, ", ".join(done)


def _middle(wide: int, high: int, cols: int, rows: int) -> tuple[int, int, int, int]:
    """The largest box (left, top, right, bottom) in the middle with the shape of cols×rows.

    >>> _middle(640, 480, 32, 32)
    (80, 0, 560, 480)
    """
    if wide * rows > high * cols:
        keep = max(1, round(high * cols / rows))
        return (wide - keep) // 2, 0, (wide - keep) // 2 + keep, high
    keep = max(1, round(wide * rows / cols))
    return 0, (high - keep) // 2, wide, (high - keep) // 2 + keep


def _too_large(path: Path, size: str) -> str:
    return f"{path} must have at most {MOST_PIXELS:,} pixels, got {size}"
