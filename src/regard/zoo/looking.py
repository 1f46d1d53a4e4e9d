"""A run asked where it looked in images, texts, prompts and half images, by what it was trained for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.data import Augment
from regard.models import GridCompletion
from regard.probe import (
    Completion,
    ImageLook,
    ImageRead,
    TextLook,
    clean,
    complete_images,
    look_images,
    look_text,
    read_image,
    to_levels,
)
from regard.probe.inputs import read_text
from regard.train import Run, held_out, load_run
from regard.zoo.shelf import load

HELD = 10  # pictures that are shown where none is named
LONGEST = 500_000  # characters of one text: far beyond any review, and some minutes of reading


@dataclass(frozen=True)
class Look:
    """What was found in all inputs: one of `images`, `texts` and `completion`, and notices on the inputs."""

    kind: str
    images: ImageLook | None = None
    texts: tuple[TextLook, ...] = ()
    completion: Completion | None = None
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "kind": self.kind,
            "images": None if self.images is None else self.images.as_dict(),
            "texts": [text.as_dict() for text in self.texts],
            "completion": None if self.completion is None else self.completion.as_dict(),
            "notices": list(self.notices),
        }


def open_run(name: str | Path) -> Run:
    """A run by its folder, or a model of the zoo by `zoo:NAME`."""
    text = str(name)
    return load(text.removeprefix("zoo:")) if text.startswith("zoo:") else load_run(name)


def look(
    run: Run,
    inputs: Sequence[str] = (),
    *,
    labels: Sequence[str] | None = None,
    steps: int = 32,
    data_dir: str | Path | None = None,
) -> Look:
    """Look at image files or texts (or files of text), by what the run was trained for.

    `labels` are the true classes of images, where they are known. Without inputs a run for images is shown
    the first ten that its training held out, from the data set that it names.
    """
    kind = str(run.description["task"])
    if labels is not None and (kind != "images" or not inputs):
        raise ValueError(f"labels are for images that are given, got a run for {kind}, {len(inputs)} inputs")
    if kind == "images":
        return _images(run, _shown(run, inputs, labels, data_dir), steps)
    if kind == "completion":
        return _completion(run, _shown(run, inputs, None, data_dir))
    if kind in ("texts", "language"):
        if not inputs:
            raise ValueError(f"inputs must be at least one text for a run that reads {kind}, got none")
        return Look(kind, texts=tuple(_text(run, one, steps) for one in inputs))
    raise ValueError(f"look needs a run for images, texts, language or completion, got one for {kind}")


@dataclass(frozen=True)
class _Shown:
    """Pictures uint8 (N,C,rows,cols) with their names, their classes where known, and notices on them."""

    pictures: torch.Tensor
    names: tuple[str, ...]
    labels: torch.Tensor | None
    notices: tuple[str, ...]


def _shown(
    run: Run, inputs: Sequence[str], labels: Sequence[str] | None, data_dir: str | Path | None
) -> _Shown:
    """The files that were named, or else pictures that training held out."""
    if not inputs:
        held = held_out(run, HELD, data_dir=data_dir)
        said = f"the first {len(held)} images of {run.description['data']} that training held out"
        return _Shown(held.images, tuple(f"held-out {i + 1}" for i in range(len(held))), held.labels, (said,))
    *channels, rows, cols = run.description["image"]
    read = [read_image(path, (rows, cols), *channels or [1]) for path in inputs]
    true = None if labels is None else _numbers(labels, run.description["classes"], len(inputs))
    pictures = torch.stack([one.picture for one in read])
    return _Shown(pictures, tuple(Path(path).name for path in inputs), true, _notices(read))


def _images(run: Run, shown: _Shown, steps: int) -> Look:
    classes = run.description["classes"]
    normal = Augment(
        classes=len(classes), mean=tuple(run.description["mean"]), std=tuple(run.description["std"])
    )
    found = look_images(
        run.model,
        normal.normalise(shown.pictures),
        shown.pictures,
        classes,
        labels=shown.labels,
        names=list(shown.names),
        steps=steps,
    )
    return Look("images", images=found, notices=shown.notices)


def _text(run: Run, given: str, steps: int) -> TextLook:
    assert run.tokenizer is not None
    classifies = run.description["task"] == "texts"
    tokens, pieces, joined = read_text(clean(content(given)), run.tokenizer, words=classifies)
    classes = run.description.get("classes")
    if classes is None:
        classes = [run.tokenizer.decode([i]) for i in range(run.tokenizer.vocab)]
    return look_text(
        run.model,
        tokens,
        pieces,
        classes,
        first=run.tokenizer.start if classifies else None,
        joined=joined,
        window=run.description["context"] if classifies else None,
        steps=steps,
    )


def _completion(run: Run, shown: _Shown) -> Look:
    assert isinstance(run.model, GridCompletion)
    levels = to_levels(shown.pictures, run.model.config.levels)
    draw = torch.Generator(next(run.model.parameters()).device).manual_seed(0)
    found = complete_images(run.model, levels, generator=draw)
    return Look("completion", completion=found, notices=shown.notices)


def content(given: str) -> str:
    """The text itself, or that of the file that it names; what is no text raises.

    >>> content("Not one dull minute.")
    'Not one dull minute.'
    >>> content("no-such-review.txt")
    Traceback (most recent call last):
        ...
    ValueError: no-such-review.txt cannot be read: No such file or directory
    """
    if not isinstance(given, str):
        raise ValueError(f"text must be a string, got {type(given).__name__}")
    if any("\ud800" <= one <= "\udfff" for one in given):  # how Python hands on an argument's stray bytes
        raise ValueError(f"text must be UTF-8, got bytes that are none: {given[:60]!a}")
    if not names_file(given):
        return _short(given)
    try:
        return _short(Path(given).read_text(encoding="utf-8"), given)
    except UnicodeDecodeError as error:
        raise ValueError(f"{given} must be text in UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise ValueError(f"{given} cannot be read: {error.strerror}") from error


def names_file(given: str) -> bool:
    """Whether an input is meant as a file: something of this name is there, or it ends in .txt."""
    return (given.lower().endswith(".txt") and "\n" not in given) or os.path.exists(given)


def _short(text: str, name: str = "text") -> str:
    if len(text) > LONGEST:
        raise ValueError(f"{name} must have at most {LONGEST:,} characters, got {len(text):,}")
    if "\0" in text:
        raise ValueError(f"{name} must be text, got something binary: it holds zero bytes")
    return text


def _numbers(labels: Sequence[str], classes: Sequence[str], count: int) -> torch.Tensor:
    if len(labels) != count:
        raise ValueError(f"labels must be one per image, got {len(labels)} for {count} images")
    if strange := [label for label in labels if label not in classes]:
        raise ValueError(f"labels must be among {', '.join(classes)}, got {strange[0]!r}")
    return torch.tensor([list(classes).index(label) for label in labels])


def _notices(read: Sequence[ImageRead]) -> tuple[str, ...]:
    return tuple(notice for one in read for notice in one.notices)
