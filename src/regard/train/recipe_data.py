"""Recipes as JSON, and every class that one may hold; those that earlier versions wrote are read too."""

from regard.data import Source
from regard.data.augment import Augment
from regard.models.files import MODELS, with_mixers
from regard.models.files import PARTS as MODEL_PARTS
from regard.train.optimizers import AdamW, Muon
from regard.train.recipe import PART_OF, Checks, Execution, Parallelism, Recipe, Start
from regard.train.schedules import Cosine, Linear, Trapezoid
from regard.train.tasks.completion import CompleteImages
from regard.train.tasks.course import CourseGPT, CourseViT
from regard.train.tasks.images import ClassifyImages
from regard.train.tasks.language import Language
from regard.train.tasks.masked import MaskedText
from regard.train.tasks.text_classes import ClassifyTexts
from regard.train.tasks.tokens import BytePairs, Characters, Words
from regard.values import Json, Kinds
from regard.values import from_data as value_from_data
from regard.values import to_data as value_to_data

OWN = (Recipe, Start, Execution, Checks, Parallelism, Augment, Source, AdamW, Muon, Cosine, Linear, Trapezoid)
TASKS = (ClassifyImages, CompleteImages, ClassifyTexts, Language, MaskedText)
PARTS = (CourseGPT, CourseViT, BytePairs, Characters, Words)
KINDS: dict[str, object] = {
    **MODEL_PARTS,
    **{kind.__name__: kind for kind in (*(config for config, _ in MODELS.values()), *OWN, *TASKS, *PARTS)},
}


def to_data(recipe: Recipe) -> object:
    """A recipe as what JSON can hold.

    >>> data = to_data(Recipe(name="x", task=None, batch=8, steps=1, schedule=Cosine(warmup=0.1)))
    >>> data["schedule"]
    {'part': 'Cosine', 'warmup': 0.1, 'floor': 0.0}
    """
    return value_to_data(recipe, KINDS)


def from_data(data: object, own: Kinds | None = None) -> Recipe:
    """The inverse of `to_data`, or a ValueError that says what it is instead; `own` holds code from outside.

    >>> from_data({"part": "Recipe", "name": "x", "task": None, "batch": 8, "steps": 1}).checks.keep
    2
    """
    found = value_from_data(_in_parts(_open(with_mixers(data))), KINDS | dict(own or {}))
    if not isinstance(found, Recipe):
        raise ValueError(f"a recipe is needed, got a {type(found).__name__}")
    return found


def _open(data: object) -> object:
    """A vocabulary that the data decides on is None; earlier versions wrote 1."""
    if isinstance(data, list):
        return [_open(one) for one in data]
    if not isinstance(data, dict):
        return data
    return {name: None if (name, one) == ("vocab", 1) else _open(one) for name, one in data.items()}


def _in_parts(data: object) -> object:
    """What earlier versions wrote, in which every field stood in the recipe itself, as it is written now."""
    if not isinstance(data, dict) or data.get("part") != Recipe.__name__:
        return data
    found: Json = {name: one for name, one in data.items() if name not in PART_OF}
    for part, kind in (("execution", Execution), ("checks", Checks)):
        if flat := {name: one for name, one in data.items() if PART_OF.get(name) == part}:
            inner = data.get(part, {})
            if not isinstance(inner, dict):
                raise ValueError(f"{part} must be a {kind.__name__}, got {inner!r}")
            found[part] = {"part": kind.__name__, **inner, **flat}
    return found | {"before": _in_parts(data.get("before"))}
