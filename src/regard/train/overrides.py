"""`--set model.depth=8`: any field of a recipe changed by its path, checked against the field's type."""

import ast
import collections.abc
import types
import typing
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from regard.errors import did_you_mean
from regard.importing import Importable, imported
from regard.pattern import Pattern, parse
from regard.train.recipe import LIMITS, PART_OF, Recipe
from regard.train.recipe_data import KINDS
from regard.values import read_part


def override(recipe: Recipe, settings: Iterable[str]) -> Recipe:
    """The recipe with each `path=value` set; what it lacks is looked for in its parts and its task.

    >>> override(Recipe(name="x", task=None, batch=32, steps=9), ["batch=64", "schedule.warmup=0.2"]).batch
    64
    >>> override(Recipe(name="x", task=None, batch=32, steps=9), ["bach=64"])
    Traceback (most recent call last):
        ...
    ValueError: Recipe has no field 'bach'; did you mean 'batch'?
    """
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path.strip():
            raise ValueError(f"--set takes path=value, for example model.depth=8, got {setting!r}")
        recipe = _set(recipe, path.strip().split("."), text.strip())
    return recipe


def names_of(value: object) -> list[str]:
    """The fields of a dataclass, or none."""
    return [field.name for field in fields(value)] if is_dataclass(value) else []


def _set(value: Any, names: list[str], text: str) -> Any:
    name, *rest = names
    choices = names_of(value)
    if isinstance(value, Recipe):
        if name in LIMITS and not rest:
            # The three exclude each other: setting one unsets the others.
            new = read(text, typing.get_type_hints(Recipe)[name], name)
            return value.but(**{**dict.fromkeys(LIMITS), name: new})
        inside = dict.fromkeys(names_of(value.task), "task") | PART_OF
        if name not in choices and name in inside:
            return _set(value, [inside[name], *names], text)
        choices += inside
    if name not in choices:
        if not choices:
            raise ValueError(f"there is no field {name!r} in {value!r}")
        hint = did_you_mean(name, choices, f"fields: {', '.join(choices)}")
        raise ValueError(f"{type(value).__name__} has no field {name!r}{hint}")
    if rest:
        return replace(value, **{name: _set(getattr(value, name), rest, text)})
    hints = typing.get_type_hints(type(value))
    return replace(value, **{name: read(text, hints[name], name)})


def read(text: str, kind: object, name: str) -> object:
    """A value of this type from its text.

    >>> read("8", int, "depth"), read("none", float | None, "ema"), read("causal", Pattern, "pattern")
    (8, None, Causal())
    >>> read("8.5", int, "depth")
    Traceback (most recent call last):
        ...
    ValueError: depth must be int, got depth='8.5'
    """
    why = ""
    for choice in _choices(kind):
        try:
            return _read_one(text, choice)
        except (ValueError, KeyError, SyntaxError, TypeError) as error:
            if (
                choice is Pattern or ";" in text or (":" in text and typing.get_origin(choice) is not None)
            ):  # what is wrong, and of a pattern then where
                why = f": {str(error).splitlines()[0]}"
    shown = " or ".join(_name(choice) for choice in _choices(kind))
    raise ValueError(f"{name} must be {shown}, got {name}={text!r}{why}")


def _choices(kind: object) -> list[object]:
    """The members of a union, those that take any text last."""
    union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    members = list(typing.get_args(kind)) if union else [kind]
    return sorted(members, key=lambda member: member in (str, Any))


def _read_one(text: str, kind: object) -> object:  # noqa: PLR0911 - one line for each type
    if kind is type(None):
        return {"none": None}[text.lower()]
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    if kind is int:
        return int(text.replace("_", "").replace(",", ""))
    if kind is float:
        return float(text)
    if kind is str:
        return text
    if isinstance(kind, type) and issubclass(kind, Pattern):
        return parse(text, Importable())
    if typing.get_origin(kind) is collections.abc.Callable:
        found = imported(text)  # a config of one's own, or what makes a model
        return found() if isinstance(found, type) and is_dataclass(found) else found
    if kind is Any:
        return read_part(text, KINDS)
    if isinstance(kind, type) and is_dataclass(kind):
        return read_part(text, {kind.__name__: kind})
    return _sequence(text, kind)


def _sequence(text: str, kind: object) -> tuple[object, ...]:
    """A tuple: `(4, 2)`, or patterns or parts, with semicolons between them."""
    inner = [member for member in typing.get_args(kind) if member is not Ellipsis]
    if inner and not {int, float, str} & set(inner):
        return tuple(read(part.strip(), inner[0], "each") for part in text.split(";"))
    found = ast.literal_eval(text)
    fits = isinstance(found, tuple | list)
    if not fits or (inner and not all(isinstance(one, tuple(set(inner))) for one in found)):
        raise ValueError(text)
    return tuple(found)


def _name(kind: object) -> str:
    return "none" if kind is type(None) else getattr(kind, "__name__", str(kind))
