"""A contact sheet: pictures of every class in rows, as one image file."""

from pathlib import Path

import torch
from torch import Tensor

from regard.data.kinds import Images
from regard.errors import need

COLUMNS, GAP, LEAST, NAMES = 10, 2, 48, 120  # pictures a row, pixels between, of a side, and for a name
MOST = 40  # classes that are shown


def contact_sheet(found: Images, path: str | Path) -> Path:
    """Write the first pictures of each class of the training part, a row for each, and give the path."""
    need("PIL", "images")
    from PIL import Image, ImageDraw

    path = Path(path)
    if path.suffix.lower() not in (".png", ".jpg", ".jpeg", ".webp"):
        raise ValueError(f"out must end in .png, .jpg or .webp, got out={str(path)!r}")
    rows, cols = found.train.images.shape[2:]
    scale = max(1, -(-LEAST // min(rows, cols)))
    high, wide = rows * scale + GAP, cols * scale + GAP
    shown = found.classes[:MOST]
    sheet = Image.new("RGB", (NAMES + COLUMNS * wide, len(shown) * high), "white")
    pen = ImageDraw.Draw(sheet)
    for row, name in enumerate(shown):
        pen.text((4, row * high + high // 2 - 6), name[:18].encode("ascii", "replace").decode(), fill="black")
        for col, at in enumerate(_first(found.train.labels, row)):
            picture = found.train.images[at].expand(3, -1, -1).permute(1, 2, 0).contiguous()
            one = Image.fromarray(picture.numpy()).resize(
                (cols * scale, rows * scale), Image.Resampling.NEAREST
            )
            sheet.paste(one, (NAMES + col * wide, row * high))
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)
    return path


def _first(labels: Tensor, label: int) -> list[int]:
    return torch.nonzero(labels == label)[:COLUMNS, 0].tolist()
