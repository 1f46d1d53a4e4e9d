"""Recipes as JSON: every part by its name and fields, read back to an equal value."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from regard.models.files import MODELS
from regard.models.parts import PARTS
from regard.pattern import Pattern, parse


def to_data(value: Any) -> Any:
    """A recipe, or a part of one, as what JSON can hold.

    >>> from regard.train.schedules import Cosine
    >>> to_data(Cosine(warmup=0.1))
    {'part': 'Cosine', 'warmup': 0.1, 'floor': 0.0}
    """
    if isinstance(value, Pattern):
        return {"pattern": str(value)}
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        if kinds().get(name) is not type(value):
            raise ValueError(f"a recipe cannot hold a {name}; it can hold {', '.join(sorted(kinds()))}")
        return {"part": name, **{field.name: to_data(getattr(value, field.name)) for field in fields(value)}}
    if isinstance(value, tuple | list):
        return [to_data(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"a recipe holds numbers, texts, patterns and parts, got {value!r}")


def from_data(data: Any) -> Any:
    """The inverse of `to_data`; lists become tuples.

    >>> from_data({"part": "Cosine", "warmup": 0.1, "floor": 0.0})
    Cosine(warmup=0.1, floor=0.0)
    """
    if isinstance(data, list):
        return tuple(from_data(one) for one in data)
    if not isinstance(data, dict):
        return data
    if set(data) == {"pattern"}:
        return parse(data["pattern"])
    kind = kinds().get(data.get("part", ""))
    if kind is None:
        raise ValueError(f"no part is called {data.get('part')!r}; parts: {', '.join(sorted(kinds()))}")
    values = {key: from_data(one) for key, one in data.items() if key != "part"}
    if values.get("vocab") == 1:
        values["vocab"] = None  # so earlier recipes said that the data decides on it
    if strange := sorted(set(values) - {field.name for field in fields(kind)}):
        raise ValueError(f"{kind.__name__} has no field {', '.join(strange)}")
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"{kind.__name__} cannot be made from {data!r}: {error}") from error


@cache
def kinds() -> dict[str, type]:
    """Every dataclass that a recipe may hold, by name."""
    from regard.data.augment import Augment
    from regard.train import optimizers, schedules, tasks
    from regard.train.recipe import Recipe

    own = (Recipe, Augment, optimizers.AdamW, optimizers.Muon)
    more = (schedules.Cosine, schedules.Linear, schedules.Trapezoid, *tasks.PARTS)
    configs = {config.__name__: config for config, _ in MODELS.values()}
    return {**PARTS, **configs, **{kind.__name__: kind for kind in (*own, *more)}}
