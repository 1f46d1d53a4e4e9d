"""A recipe as a Python file to begin with: imports, and one call with every field not at its default."""

from __future__ import annotations

import json
from dataclasses import MISSING, Field, fields, is_dataclass
from textwrap import wrap

from regard.importing import name_of
from regard.pattern import Pattern
from regard.train.meanings import meaning
from regard.train.recipe import Recipe

WIDE = 100
# From where a reader would import our parts: the shortest room that gives them.
ROOMS = ("regard.train", "regard.models", "regard.layers", "regard.data", "regard.pattern")


def as_python(recipe: Recipe, about: str = "") -> str:
    """The text of a file whose `recipe()` gives an equal recipe.

    >>> from regard.train import Recipe
    >>> "\\n        batch=8,\\n" in as_python(Recipe(name="x", task=None, batch=8, steps=1))
    True
    """
    imports: dict[str, set[str]] = {"regard.train": {"Recipe"}}
    body = _written(recipe, imports, 4)
    lines = [f"from {room} import {', '.join(sorted(names))}" for room, names in sorted(imports.items())]
    said = "\n".join(wrap(about or "A recipe of one's own.", WIDE))
    head = [
        f'"""{said}',
        "",
        "Command: regard train THIS_FILE.py",
        "Fields can be changed here, or for one run: --set batch=64. What is left out is at its default;",
        "regard recipe --explain tells them all.",
        '"""',
        "",
    ]
    return "\n".join([*head, *lines, "", "", "def recipe() -> Recipe:", f"    return {body}", ""])


def _written(  # noqa: PLR0911 - one line for each kind
    value: object, imports: dict[str, set[str]], indent: int
) -> str:
    """A value as Python writes it, in lines of bearable length."""
    if isinstance(value, Pattern):
        imports.setdefault("regard.pattern", set()).add("parse")
        return f"parse({json.dumps(str(value), ensure_ascii=False)})"
    if isinstance(value, tuple):
        inner = ", ".join(_written(one, imports, indent) for one in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if is_dataclass(value) and not isinstance(value, type):
        name = _named(type(value), imports)
        given = [
            f"{field.name}={_written(getattr(value, field.name), imports, indent + 4)}"
            for field in fields(value)
            if field.init and not _default(field, getattr(value, field.name))
        ]
        line = f"{name}({', '.join(given)})"
        if len(line) + indent < WIDE - 8 and "\n" not in line and not isinstance(value, Recipe):
            return line
        space = " " * (indent + 4)
        told = [_told(type(value), one, space) for one in given]
        return f"{name}(\n" + "".join(f"{space}{one},\n" for one in told) + " " * indent + ")"
    if callable(value):
        return _named(value, imports)
    return repr(value)


def _told(kind: type, line: str, space: str) -> str:
    """A field under a comment that says what it means, for those of a recipe and of its own parts."""
    said = meaning(kind.__name__, line.partition("=")[0]) if space in (" " * 8, " " * 12) else None
    return line if said is None else f"# {said}\n{space}{line}"


def _named(value: object, imports: dict[str, set[str]]) -> str:
    """The name of a class or a function, which is then imported."""
    room, _, name = name_of(value).partition(":")
    if room.startswith("regard."):
        room = next((one for one in ROOMS if _gives(one, name, value)), room)
    imports.setdefault(room, set()).add(name)
    return name


def _gives(room: str, name: str, value: object) -> bool:
    import importlib

    return getattr(importlib.import_module(room), name, None) is value


def _default(field: Field[object], value: object) -> bool:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return type(default) is type(value) and bool(default == value)
