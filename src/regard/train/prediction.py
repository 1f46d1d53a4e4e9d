"""A trained model asked about new images and texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.data import Augment, Tokenizer
from regard.probe import clean, read_image
from regard.probe.inputs import unknown
from regard.probe.texts import windows


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
    if not ids or unknown(ids, run.tokenizer):
        raise ValueError(f"no word of this text is known to the model: {text[:60]!r}")
    start = [] if run.tokenizer.start is None else [run.tokenizer.start]
    room = run.description["context"] - len(start)
    parts = windows(ids, room)
    device = next(run.model.parameters()).device
    found = [run.model(torch.tensor([[*start, *part]], device=device)).softmax(1)[0] for part in parts]
    chances = torch.stack(found).float().mean(0)
    return _prediction(text, run.description["classes"], chances, read_in(len(parts), room))


def read_in(count: int, room: int) -> str | None:
    """The notice on a text that was read in several windows.

    >>> read_in(3, 47)
    'read in 3 windows of at most 47 tokens, whose probabilities are averaged'
    """
    if count == 1:
        return None
    return f"read in {count} windows of at most {room} tokens, whose probabilities are averaged"


def _prediction(given: str, classes: list[str], chances: Tensor, notice: str | None) -> Prediction:
    best = int(chances.argmax())
    named = dict(zip(classes, chances.tolist(), strict=True))
    return Prediction(given, classes[best], float(chances[best]), named, notice)
