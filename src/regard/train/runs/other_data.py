"""Other data for a run that is there: the same folder where it lies now, or another set of its classes."""

from dataclasses import replace
from pathlib import Path

from regard.data import Corpus, Images, Reviews, Source, load
from regard.data.sets import NAMES
from regard.train.tasks.sources import Data, source_in
from regard.values import Json

KINDS = {"images": "images", "completion": "images", "texts": "reviews", "language": "corpus"}
Found = Images | Reviews | Corpus


def read_as(description: Json, source: Source) -> Data:
    """A set's name, or the source, read as the run's own data were but for what the source says itself.

    >>> read_as({"task": "images", "image": [1, 8, 8], "data": "digits"}, Source("new")).size
    (8, 8)
    """
    if source.path in NAMES:
        return source.path
    was = source_in(description)
    old = was if isinstance(was, Source) else _shaped(description)
    given = {name: value for name in ("text", "label") if (value := getattr(source, name)) is not None}
    path = source.resolved().path
    return replace(old, path=path, skip_bad=source.skip_bad or old.skip_bad, **given)


def _shaped(description: Json) -> Source:
    """How data of one's own must be read to fit a run that was trained on a set with a name."""
    kind = KINDS.get(str(description.get("task")))
    image = description.get("image")
    if kind != "images" or image is None:
        return Source("data", kind)
    *channels, rows, cols = image
    return Source("data", kind, size=(rows, cols), channels=(channels or [1])[0])


def loaded(description: Json, data: Data, folder: str | Path | None) -> Found:
    """The data, whose classes must be those of the run."""
    found = load(data, folder=folder)
    mine = description.get("classes")
    theirs = None if isinstance(found, Corpus) else list(found.classes)
    if (mine is None) != (theirs is None):
        raise ValueError(f"the run is for {description.get('task')}, {found.name} is {type(found).__name__}")
    if mine is not None and theirs is not None and list(mine) != theirs:
        raise ValueError(
            f"the classes of {found.name} must be those of the run: {_named(mine)}, got {_named(theirs)}"
        )
    return found


def _named(classes: list[str]) -> str:
    return ", ".join(classes[:8]) + (f" and {len(classes) - 8} more" if len(classes) > 8 else "")
