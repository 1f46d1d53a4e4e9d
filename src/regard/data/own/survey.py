"""What is at a path: its kind, counts, sizes, classes, parts, samples, and everything that is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import torch
from torch import Tensor

from regard.data.kinds import Corpus, Images, Reviews, held_out
from regard.data.own.corpora import StoredCorpus
from regard.data.own.images import measured
from regard.data.own.opening import Opened, look_at_shapes, open_source
from regard.data.own.problems import BadData, DataProblem
from regard.data.own.source import LARGEST, VALIDATION, Source
from regard.values import Json

PREVIEW = (64, 64)  # to which pictures of many sizes are brought where no size was asked for
SAMPLES = 5
WIDE = 100  # characters of a sample


@dataclass(frozen=True)
class Survey:
    """A data set of one's own as `regard data` tells of it."""

    path: str
    kind: str
    parts: dict[str, int]
    classes: dict[str, int]
    sizes: dict[str, int]
    facts: dict[str, object]
    samples: tuple[str, ...]
    notes: tuple[str, ...]
    problems: tuple[DataProblem, ...]

    def as_dict(self) -> Json:
        """All of it, as JSON."""
        return asdict(self)


def survey(source: Source) -> tuple[Survey, Images | Corpus | Reviews | None]:
    """What is at a source, and the set itself; where nothing can be used, the problems alone."""
    notes: list[str] = []
    try:
        if source.size is None and source.kind in (None, "images"):
            source, notes = _previewed(source)
        opened = open_source(source)
    except BadData as error:
        return Survey(source.path, "nothing", {}, {}, {}, {}, (), (), error.problems), None
    found = opened.found
    if isinstance(found, Images):
        out = _images(source, opened, found)
    elif isinstance(found, Reviews):
        out = _reviews(source, found)
    else:
        out = _corpus(source, found)
    return replace(out, notes=(*notes, *opened.notes), problems=opened.problems), found


def _previewed(source: Source) -> tuple[Source, list[str]]:
    """With a size for the preview, where the pictures have none that could be taken."""
    shapes = look_at_shapes(source)
    if shapes is None or (shapes.size is not None and max(shapes.size) <= LARGEST):
        return source, []
    rows, cols = PREVIEW
    return replace(source, size=PREVIEW), [
        f"images of many sizes: training resizes them, here to {rows}x{cols}"
    ]


def _counted(labels: Sequence[Tensor], classes: Sequence[str]) -> dict[str, int]:
    counts = torch.cat(list(labels)).bincount(minlength=len(classes))
    return dict(zip(classes, counts.tolist(), strict=True))


def _parts(found: Images | Reviews) -> dict[str, int]:
    learn, held = (len(found.train.take(at)) for at in held_out(found, VALIDATION))
    return {"train": learn, "validation": held, "test": len(found.test)}


def _images(source: Source, opened: Opened, found: Images) -> Survey:
    assert opened.shapes is not None
    sizes = {f"{rows}x{cols}": count for (rows, cols), count in opened.shapes.sizes}
    mean, std = measured(found.train.images)
    facts = {
        "channels": int(found.train.images.shape[1]),
        "size": list(found.train.images.shape[2:]),
        "mean": list(mean),
        "std": list(std),
    }
    classes = _counted((found.train.labels, found.test.labels), found.classes)
    return Survey(source.path, "images", _parts(found), classes, sizes, facts, (), (), ())


def _reviews(source: Source, found: Reviews) -> Survey:
    classes = _counted((found.train.labels, found.test.labels), found.classes)
    lengths = sorted(len(text.split()) for text in found.train.texts)
    facts: dict[str, object] = {"median words": lengths[len(lengths) // 2], "most words": lengths[-1]}
    samples = tuple(
        f"{found.classes[int(label)]}: {_short(text)}"
        for text, label in zip(found.train.texts[:SAMPLES], found.train.labels[:SAMPLES], strict=True)
    )
    return Survey(source.path, "reviews", _parts(found), classes, {}, facts, samples, (), ())


def _corpus(source: Source, found: Corpus) -> Survey:
    assert isinstance(found, StoredCorpus)
    seen: Counter[str] = Counter()
    characters, first = 0, ""
    for stretch in found.stretches(0.0, held=False):
        first = first or stretch
        characters += len(stretch)
        seen.update(set(stretch))
    parts = {
        f"{name} bytes": sum(b - a for a, b in found.spans(VALIDATION, held=name == "validation"))
        for name in ("train", "validation")
    }
    facts: dict[str, object] = {
        "documents": found.stored.meta["documents"],
        "characters": characters,
        "different characters": len(seen),
    }
    samples = tuple(_short(line) for line in first.splitlines() if line.strip())[:SAMPLES]
    return Survey(source.path, "corpus", parts, {}, {}, facts, samples, (), ())


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= WIDE else f"{text[: WIDE - 1]}…"
