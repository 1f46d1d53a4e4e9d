"""A recipe on other data: its task reads them, and its model and augmentation follow from what is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.data import Corpus, Images, Reviews, Source, load
from regard.data.own.corpora import StoredCorpus
from regard.data.own.images import measured
from regard.data.own.opening import look_at_shapes
from regard.data.own.source import VALIDATION
from regard.data.sets import NAMES
from regard.models import GPTConfig
from regard.sharing.sizes import pair
from regard.train.folder import RECIPE, read_recipe
from regard.train.overrides import override
from regard.train.recipe import Recipe, Start
from regard.train.tasks.building import context_of
from regard.train.tasks.completion import CompleteImages
from regard.train.tasks.course import CourseGPT, CourseViT
from regard.train.tasks.images import ClassifyImages, ImageConfig
from regard.train.tasks.language import Language
from regard.train.tasks.sources import Data, data_name
from regard.train.tasks.text_classes import ClassifyTexts

WANTED = {ClassifyImages: "images", CompleteImages: "images", Language: "corpus", ClassifyTexts: "reviews"}
KINDS = {"images": Images, "corpus": Corpus, "reviews": Reviews}
SMALL = 96  # pixels on a side up to which pictures are taken as they are; larger ones as the recipe has them
VALIDATIONS = 10  # of a run at least: what suits a recipe's own data may be rarer than a short run is long
WORTH_COMPILING = 10.0  # minutes of a run below which compiling for a CPU takes longer than it saves
PROMPT = 24  # characters that a sample begins with
USUAL = 28  # pixels on a side for a model that takes any size


def on_data(
    recipe: Recipe,
    source: Source,
    settings: Iterable[str] = (),
    resumed: Path | None = None,
    *,
    data_dir: str | Path | None = None,
) -> Recipe:
    """The recipe on the data at a source, or of a set's name; `settings` are those of --set, which win.

    A run that is resumed keeps what followed from its data as they were.
    """
    settings = list(settings)
    kind = WANTED.get(type(recipe.task))
    if kind is None:
        names = ", ".join(sorted(one.__name__ for one in WANTED))
        raise ValueError(f"--data is for {names}, {recipe.name} is a {type(recipe.task).__name__}")
    data: Data = source.path
    if source.path not in NAMES and (":" not in source.path or source.root.exists()):
        data = replace(source.resolved(), kind=kind if source.kind is None else source.kind)
    named = replace(recipe, name=run_name(recipe, data_name(data)))
    if resumed is not None and (resumed / RECIPE).exists():
        return override(_known(data, resumed), settings)
    set_by_hand = {setting.partition("=")[0].strip().removeprefix("task.") for setting in settings}
    task: Any = named.task
    if isinstance(data, Source) and kind == "images":
        data = _sized(data, task, set_by_hand)
    found = load(data, folder=data_dir)
    if not isinstance(found, KINDS[kind]):
        raise ValueError(f"{recipe.name} needs {kind}, {source.path} holds {type(found).__name__.lower()}")
    if isinstance(data, Source) and "validation" not in set_by_hand:
        task = replace(task, validation=VALIDATION)
    task = replace(task, data=data, **_followed(task, found, set_by_hand))
    checks = named.checks
    if isinstance(data, Source) and not {"validations", "checks.validations"} & set_by_hand:
        checks = replace(checks, validations=VALIDATIONS)
    how = named.execution
    short = named.minutes is not None and named.minutes < WORTH_COMPILING
    if isinstance(data, Source) and short and not {"compile", "execution.compile"} & set_by_hand:
        how = replace(how, compile="auto" if how.compile == "compile" else how.compile)
    return replace(named, task=task, before=_before(named.before, data), checks=checks, execution=how)


def run_name(recipe: Recipe, path: str) -> str:
    """How a run of the recipe on these data is called.

    >>> run_name(Recipe(name="vit", task=None, batch=1, steps=1), "my photos/")
    'vit-my-photos'
    """
    return f"{recipe.name}-{_slug(path)}"


def _slug(path: str) -> str:
    stem = Path(path.rstrip("/\\")).name
    stem = stem.rsplit(".", 1)[0] if not stem.startswith(".") else stem
    return re.sub(r"[^\w]+", "-", stem).strip("-").lower() or "data"


def _known(data: Data, folder: Path) -> Recipe:
    """The recipe of a run that goes on, if it is one on these data."""
    old = read_recipe(folder)
    was = old.task.data
    same = isinstance(was, Source) and isinstance(data, Source) and was.path == data.path
    if not same and was != data:
        raise ValueError(
            f"{folder} was trained on {data_name(was)}, got {data_name(data)}: resume it without --data"
        )
    return old


def _before(first: Recipe | Start | None, data: Data) -> Recipe | Start | None:
    """The stage before it reads the same data; a model that is only begun with reads none."""
    return replace(first, task=replace(first.task, data=data)) if isinstance(first, Recipe) else first


def _sized(source: Source, task: Any, by_hand: set[str]) -> Source:
    """The source with a size and a number of channels that a model of this task can take."""
    shapes = look_at_shapes(source)
    model = task.model
    grey = isinstance(task, CompleteImages)
    channels = 1 if grey else None
    if not grey and ("model.channels" in by_hand or shapes is None):
        channels = getattr(model, "channels", None)
    size = source.size
    if size is None and "model.image" in by_hand:
        size = pair("image", model.image, 1)
    if size is None:
        size = None if shapes is None else shapes.size
        if size is None or max(size) > SMALL:
            size = pair("image", getattr(model, "image", USUAL), 1)
        size = _in_patches(size, model)
    if shapes is not None and channels is None:
        channels = shapes.channels
    return replace(source, size=size, channels=channels)


def _in_patches(size: tuple[int, int], model: object) -> tuple[int, int]:
    """The nearest size that patches fill, and a square where the model knows no other."""
    if isinstance(model, CourseViT):
        size = (max(size), max(size))
    patch = pair("patch", getattr(model, "patch", 1), 1)
    return tuple(max(p, round(side / p) * p) for side, p in zip(size, patch, strict=True))  # type: ignore[return-value]


def _followed(task: Any, found: Images | Corpus | Reviews, by_hand: set[str]) -> Mapping[str, object]:
    """What of a task follows from data, but for what was set by hand."""
    if isinstance(task, ClassifyImages):
        assert isinstance(found, Images)
        channels, rows, cols = found.train.images.shape[1:]
        square = isinstance(task.model, CourseViT) and rows == cols
        model = {
            "image": rows if square else (rows, cols),
            "channels": channels,
            "classes": len(found.classes),
        }
        mean, std = measured(found.train.images)
        normal = {"classes": len(found.classes), "mean": mean, "std": std}
        fits: dict[str, object] = {"augment": replace(task.augment, **_free(normal, "augment", by_hand))}
        if isinstance(task.model, ImageConfig):  # what makes one's own is told when it is called
            fits["model"] = replace(task.model, **_free(model, "model", by_hand))
        return fits
    if isinstance(task, Language) and isinstance(found, StoredCorpus):
        own = not isinstance(task.model, GPTConfig | CourseGPT)
        context = context_of(task.model, task.context)
        says: dict[str, str] = {}
        if "prompt" not in by_hand:
            says["prompt"] = first_words(found, min(PROMPT, max(1, context // 2)))
        if ("context" if own else "model.context") in by_hand:
            return says
        # Some windows must fit into the smaller part; a character has a byte at least.
        smaller = min(
            sum(b - a for a, b in found.spans(task.validation, held=held)) for held in (True, False)
        )
        while context > 8 and 4 * context > smaller:
            context //= 2
        says = {name: value[: max(1, context // 2)] for name, value in says.items()}
        if isinstance(task.model, GPTConfig | CourseGPT):
            return says | {"model": replace(task.model, context=context)}
        return says | {"context": context}
    return {}


def first_words(corpus: StoredCorpus, most: int) -> str:
    """What samples of a model of this text begin with: the words that it begins with itself."""
    text = next(corpus.stretches(0.0, held=False), "").lstrip()
    line = text[: 10 * most].splitlines()[0].rstrip() if text else ""
    return line if len(line) <= most else line[:most].rpartition(" ")[0].rstrip() or line[:most]


def _free(values: dict[str, Any], part: str, by_hand: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if f"{part}.{name}" not in by_hand}
