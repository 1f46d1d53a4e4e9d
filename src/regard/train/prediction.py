"""A trained model asked about new images and texts."""

from __future__ import annotations

import html
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.data import Augment, Tokenizer
from regard.errors import need

MODES = {1: "L", 3: "RGB"}


@dataclass(frozen=True)
class Prediction:
    """What a model takes one input for; `notice` says what had to be done to the input."""

    input: str
    label: str
    probability: float
    probabilities: dict[str, float]
    notice: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return asdict(self)


class Trained(Protocol):
    """A model for use: a run's, or one of the zoo."""

    @property
    def model(self) -> nn.Module:
        """The model."""

    @property
    def description(self) -> dict[str, Any]:
        """What its task says about using it."""

    @property
    def tokenizer(self) -> Tokenizer | None:
        """Its tokenizer, where it has one."""


def predict(run: Trained, inputs: list[str]) -> list[Prediction]:
    """One prediction for each input: the path of an image, or a text."""
    kind = run.description["task"]
    if kind == "images":
        return [_image(run, path) for path in inputs]
    if kind == "texts":
        return [_text(run, text) for text in inputs]
    hint = "; use regard generate" if kind == "language" else ""
    raise ValueError(f"predict needs a classifier of images or texts, this model is for {kind}{hint}")


def read_image(path: str | Path, shape: tuple[int, int, int]) -> tuple[Tensor, str | None]:
    """An image file as uint8 (channels, rows, cols), with a notice where it had to be changed."""
    pictures = need("PIL.Image", "data")
    channels, rows, cols = shape
    try:
        with pictures.open(path) as file:
            file.load()
            picture = file.copy()
    except FileNotFoundError as error:
        raise ValueError(f"{path} is not there") from error
    except (OSError, ValueError, SyntaxError, pictures.DecompressionBombError) as error:
        raise ValueError(f"{path} is no image that can be read: {error}") from error
    done = []
    if "A" in picture.getbands() or "transparency" in picture.info:
        ground = pictures.new("RGBA", picture.size, "white")
        picture = pictures.alpha_composite(ground, picture.convert("RGBA")).convert("RGB")
        done.append("put on white")
    if picture.mode != MODES[channels]:
        if picture.mode not in ("RGB", "P"):
            done.append(f"turned from {picture.mode} to {MODES[channels]}")
        elif channels == 1:
            done.append("turned to grey")
        picture = picture.convert(MODES[channels])
    if picture.size != (cols, rows):
        done.append(f"resized from {picture.size[0]}×{picture.size[1]} to {cols}×{rows} pixels")
        picture = picture.resize((cols, rows), pictures.Resampling.LANCZOS)
    flat = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8)
    return flat.view(rows, cols, channels).permute(2, 0, 1).contiguous(), ", ".join(done) or None


@torch.no_grad()
def _image(run: Trained, path: str) -> Prediction:
    channels, rows, cols = run.description["image"]
    image, notice = read_image(path, (channels, rows, cols))
    classes, mean, std = (run.description[name] for name in ("classes", "mean", "std"))
    normal = Augment(classes=len(classes), mean=tuple(mean), std=tuple(std))
    device = next(run.model.parameters()).device
    chances = run.model(normal.normalise(image[None].to(device))).softmax(1)[0]
    return _prediction(path, classes, chances, notice)


def cleaned(text: str) -> str:
    """A text without tags, with entities as the characters they mean.

    >>> cleaned("Great!<br /><br />Tom &amp; Jerry")
    'Great! Tom & Jerry'
    """
    return " ".join(html.unescape(re.sub(r"<[^<>]{0,200}>", " ", text)).split())


@torch.no_grad()
def _text(run: Trained, text: str) -> Prediction:
    """The mean over windows of the context where a text is longer than that."""
    if not isinstance(text, str) or not (clean := cleaned(text)):
        raise ValueError(f"a text must have something in it, got {text!r}")
    assert run.tokenizer is not None
    ids = run.tokenizer.encode(clean)
    if not ids or all(i == run.tokenizer.unk for i in ids):
        raise ValueError(f"no word of this text is known to the model: {text[:60]!r}")
    start = [] if run.tokenizer.start is None else [run.tokenizer.start]
    room = run.description["context"] - len(start)
    pieces = [ids[i : i + room] for i in range(0, len(ids), room)]
    if len(pieces) > 1 and len(pieces[-1]) < room // 2:
        pieces[-1] = ids[-room:]  # the last window reaches back, so that none is a mere scrap
    device = next(run.model.parameters()).device
    found = [run.model(torch.tensor([[*start, *piece]], device=device)).softmax(1)[0] for piece in pieces]
    notice = f"read in {len(pieces)} windows of {room} tokens" if len(pieces) > 1 else None
    return _prediction(text, run.description["classes"], torch.stack(found).mean(0), notice)


def _prediction(given: str, classes: list[str], chances: Tensor, notice: str | None) -> Prediction:
    best = int(chances.argmax())
    named = dict(zip(classes, chances.tolist(), strict=True))
    return Prediction(given, classes[best], float(chances[best]), named, notice)
