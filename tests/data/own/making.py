"""Small data sets, good and bad, written for tests."""

from pathlib import Path

import numpy as np
from PIL import Image

SIZE = (6, 8)  # rows, cols


def picture(seed: int = 0, size: tuple[int, int] = SIZE, mode: str = "RGB") -> Image.Image:
    values = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    return Image.fromarray(values).convert(mode)


def photos(root: Path, classes: tuple[str, ...] = ("cat", "dog"), count: int = 12, **how: object) -> Path:
    for at, name in enumerate(classes):
        (root / name).mkdir(parents=True, exist_ok=True)
        for i in range(count):
            picture(100 * at + i, **how).save(root / name / f"{i}.png")
    return root


def table(path: Path, *lines: str, header: str = "text,label", count: int = 12) -> Path:
    good = [f"this is text {i},{'good' if i % 2 else 'bad'}" for i in range(count)]
    path.write_text("\n".join([header, *lines, *good]) + "\n", encoding="utf-8")
    return path
