"""Pictures of one's own, decoded once into files of bytes that training maps into memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from struct import pack

import torch
from torch import Tensor

from regard.data.kinds import Images, Pictures
from regard.data.own.items import Item, Items
from regard.data.own.problems import DataProblem
from regard.data.own.source import LARGEST
from regard.data.own.store import PreparationBar, Prepared, beginning, key_of, prepared
from regard.data.pictures import STILLS, read_header, read_image
from regard.values import Json

EVERY = 1000  # pictures between two notes of how far it is
FILES = ("train.images", "train.labels", "train.draws", "test.images", "test.labels")


@dataclass(frozen=True)
class Shapes:
    """The sizes (rows, cols) of pictures and how many have each, the most frequent first."""

    sizes: tuple[tuple[tuple[int, int], int], ...]
    channels: int
    bad: tuple[tuple[int, str], ...]

    @property
    def size(self) -> tuple[int, int] | None:
        """The size of all of them, if they have one."""
        return self.sizes[0][0] if len(self.sizes) == 1 else None


def shapes_of(name: str, items: Items) -> Shapes:
    """What the headers of all pictures say, read once."""
    meta = prepared(key_of("headers", items.key()), lambda folder: _headers(name, items)).meta
    return Shapes(
        tuple(((rows, cols), count) for rows, cols, count in meta["shapes"]),
        meta["channels"],
        tuple((at, what) for at, what in meta["bad"]),
    )


def _headers(name: str, items: Items) -> Json:
    sizes: Counter[tuple[int, int]] = Counter()
    grey, bad, bar = True, [], PreparationBar(f"{name}: headers", len(items.found), "images")
    for at, item in enumerate(items.found):
        try:
            header = read_header(item.path)
        except ValueError as error:
            bad.append([at, _reason(error, item)])
            continue
        sizes[header.rows, header.cols] += 1
        grey &= header.grey
        bar.at(at)
    bar.close()
    return {
        "shapes": [[*size, count] for size, count in sizes.most_common()],
        "channels": 1 if grey and sizes else 3,
        "bad": bad,
    }


def _reason(error: ValueError, item: Item) -> str:
    """Why, without the path, which is said before it."""
    return str(error).removeprefix(f"{item.path} ")


def chosen_size(name: str, shapes: Shapes, size: tuple[int, int] | None) -> tuple[int, int]:
    """The size that was asked for, or that all pictures have; a ValueError where neither is there."""
    if size is not None:
        return size
    if not shapes.sizes:
        raise ValueError(f"{name} holds no image that can be read")
    if shapes.size is None:
        listed = ", ".join(f"{count:,} of {rows}x{cols}" for (rows, cols), count in shapes.sizes[:3])
        more = ", …" if len(shapes.sizes) > 3 else ""
        raise ValueError(
            f"the images of {name} have {len(shapes.sizes):,} sizes ({listed}{more}): "
            f"say to which they are resized, as in --size 32x32 (size=(32, 32))"
        )
    if max(shapes.size) > LARGEST:
        rows, cols = shapes.size
        raise ValueError(f"the images of {name} have {rows}x{cols} pixels: say a --size of at most {LARGEST}")
    return shapes.size


def prepare_images(name: str, items: Items, shapes: Shapes, size: tuple[int, int], channels: int) -> Prepared:
    """All pictures at one size as files of bytes, made once; what cannot be read is noted and left out."""
    key = key_of("images", items.key(), list(size), channels)
    return prepared(key, lambda folder: _decode(folder, name, items, shapes, (channels, *size)))


def _decode(folder: Path, name: str, items: Items, shapes: Shapes, shape: tuple[int, int, int]) -> Json:
    note, files = beginning(folder, FILES)
    number = {label: at for at, label in enumerate(items.classes)}
    done, bad, known = note.get("done", 0), note.get("bad", []), dict(shapes.bad)
    rows = note.get("rows", {"train": 0, "test": 0})
    channels, *size = shape
    counts: Counter[str] = Counter(note.get("counts", {}))
    bar = PreparationBar(name, len(items.found), "images")
    try:
        for at in range(done, len(items.found)):
            item = items.found[at]
            picture, why = None, known.get(at)
            if why is None:
                try:
                    picture = read_image(item.path, (size[0], size[1]), channels, kinds=STILLS).picture
                except ValueError as error:
                    why = _reason(error, item)
            if why is not None:
                bad.append([item.inner, why])
            if picture is not None:
                files.add(f"{item.part}.images", picture.numpy().tobytes())
                files.add(f"{item.part}.labels", number[item.label].to_bytes(8, "little"))
                if item.part == "train":
                    files.add("train.draws", pack("<d", item.draw))
                rows[item.part] += 1
                counts[item.label] += 1
            if (at + 1) % EVERY == 0:
                files.settled({"done": at + 1, "bad": bad, "rows": rows, "counts": counts})
            bar.at(at)
    finally:
        files.close()
        bar.close()
    return {
        "classes": list(items.classes),
        "shape": list(shape),
        "rows": rows,
        "bad": bad,
        "counts": {label: counts[label] for label in items.classes},
    }


def bad_images(found: Prepared) -> list[DataProblem]:
    """The files that could not be read."""
    return [DataProblem(inner, what) for inner, what in found.meta["bad"]]


def measured(images: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and deviation of each channel of pictures uint8 (N,C,rows,cols), a share at a time.

    >>> measured(torch.tensor([0, 255], dtype=torch.uint8).view(1, 1, 1, 2))
    ((0.5,), (0.5,))
    """
    sums = torch.zeros(2, images.shape[1], dtype=torch.float64)
    for part in images.split(EVERY):
        x = part.double() / 255
        sums += torch.stack([x.sum((0, 2, 3)), (x * x).sum((0, 2, 3))])
    mean, square = sums / max(1, images.numel() // images.shape[1])
    std = (square - mean * mean).clamp(min=1e-6).sqrt().tolist()
    return tuple(round(one, 3) for one in mean.tolist()), tuple(max(0.001, round(one, 3)) for one in std)


def open_images(name: str, found: Prepared) -> Images:
    """The prepared pictures as a set whose tensors lie on the disk."""
    shape, rows = found.meta["shape"], found.meta["rows"]

    def part(which: str) -> Pictures:
        count = rows[which]
        images = found.tensor(f"{which}.images", torch.uint8, count, *shape)
        return Pictures(images, found.tensor(f"{which}.labels", torch.int64, count))

    draws = found.tensor("train.draws", torch.float64, rows["train"])
    return Images(name, tuple(found.meta["classes"]), part("train"), part("test"), draws, found.digest)
