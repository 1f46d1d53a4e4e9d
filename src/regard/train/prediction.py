"""A trained model asked about new images and texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.data import Augment, Tokenizer
from regard.probe import clean, read_image


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


@torch.no_grad()
def _image(run: Trained, path: str) -> Prediction:
    channels, rows, cols = run.description["image"]
    read = read_image(path, (rows, cols), channels)
    classes, mean, std = (run.description[name] for name in ("classes", "mean", "std"))
    normal = Augment(classes=len(classes), mean=tuple(mean), std=tuple(std))
    device = next(run.model.parameters()).device
    chances = run.model(normal.normalise(read.picture[None].to(device))).softmax(1)[0]
    return _prediction(path, classes, chances, ", ".join(read.notices) or None)


@torch.no_grad()
def _text(run: Trained, text: str) -> Prediction:
    """The mean over windows of the context where a text is longer than that."""
    assert run.tokenizer is not None
    ids = run.tokenizer.encode(clean(text))
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
