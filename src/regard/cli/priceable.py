"""What `regard cost NAME` prices: a preset, a recipe, a run or a config.json, with fields changed."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

from regard.cli.options import pattern_of
from regard.errors import did_you_mean
from regard.models.files import PARTS
from regard.models.presets import PRESETS, preset
from regard.train.priceable import from_path, from_recipe
from regard.values import read_part


def find(name: str, trust: bool = False) -> tuple[object, str]:
    """(what to price, what it is) of a preset, a config file, a run folder or a recipe."""
    if name in PRESETS:
        what = preset(name)
        return what, type(what).__name__
    from regard import recipes
    from regard.train.finding import is_place

    path = Path(name)
    if path.exists() and path.suffix != ".py":
        return from_path(path, trust)
    if name in recipes.names() or is_place(name):
        return from_recipe(recipes.get(name, trust=trust), f"recipe {name}")
    known = [*PRESETS, *recipes.names()]
    hint = did_you_mean(name, known, f"names: {', '.join(known)}")
    raise ValueError(f"{name!r} is no preset, no recipe and no file or folder{hint}")


def changed(what: object, changes: list[str]) -> object:
    """The config with fields set from texts: patterns and parts as `regard train` does, else as JSON."""
    for text in changes:
        field, sign, value = text.partition("=")
        names = [f.name for f in fields(what)] if is_dataclass(what) else []
        if not sign:
            raise ValueError(f"--set must be FIELD=VALUE such as depth=6, got {text!r} without a value")
        if field not in names:
            hint = did_you_mean(field, names)
            raise ValueError(
                f"{type(what).__name__} has no field {field!r}{hint}; fields: {', '.join(names)}"
            )
        assert is_dataclass(what)  # it has fields
        assert not isinstance(what, type)
        what = replace(what, **{field: _value(field, value)})
    return what


def _value(field: str, text: str) -> object:
    words = [word.strip() for word in text.split(";")]
    if field == "pattern":
        found: list[object] = [pattern_of(word) for word in words]
    elif all(word.partition("(")[0] in PARTS for word in words):
        found = [read_part(word, PARTS) for word in words]
    else:
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            return text
        return tuple(value) if isinstance(value, list) else value
    return found[0] if len(found) == 1 else tuple(found)


def sides(text: str) -> tuple[int, int]:
    """Rows and columns from 28 or 28x20."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) > 2 or not all(part.isdigit() for part in parts):
        raise ValueError(f"image must be a number or ROWSxCOLS such as 28x20, got image={text!r}")
    return int(parts[0]), int(parts[-1])
