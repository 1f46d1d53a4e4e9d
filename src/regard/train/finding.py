"""A recipe wherever it is: a value, `my_recipe.py`, `module:function`, or a run's recipe.json."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path

from regard.importing import import_file, imported, reason
from regard.train.folder import RECIPE, recipe_in
from regard.train.recipe import Recipe
from regard.trust import Untrusted

FUNCTION = "recipe"  # what a file of a recipe defines


def is_place(name: str) -> bool:
    """Whether a recipe's name says where it is: a file, a folder, or a function in a module.

    >>> [is_place(name) for name in ("digits-vit", "my_recipe.py", "my.module:small", "runs/a/recipe.json")]
    [False, True, True, True]
    """
    return name.endswith((".py", ".json")) or ":" in name or "/" in name or Path(name).exists()


def find_recipe(name: str | Path, *, trust: bool = False) -> Recipe:
    """The recipe of a Python file, a function or a run; a ValueError of one line where there is none."""
    text, path = str(name), Path(name).expanduser()
    if path.is_dir():
        if not (path / RECIPE).exists():
            raise ValueError(
                f"{path} is a folder without a {RECIPE}: name a recipe's file or a run's {RECIPE}"
            )
        path = path / RECIPE
    if path.suffix == ".json":
        return _from_json(path, trust)
    if path.suffix == ".py":
        return _from_file(path)
    if ":" in text:
        return _called(imported(text), text)
    raise ValueError(f"a recipe is my_recipe.py, module:function or a run's {RECIPE}, got {text!r}")


def _from_file(path: Path) -> Recipe:
    try:
        path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    module = import_file(path)
    if not hasattr(module, FUNCTION):
        near = [name for name, one in vars(module).items() if _gives_recipe(one)]
        hint = f"; name one of them: {', '.join(f'{path.stem}:{name}' for name in near)}" if near else ""
        raise ValueError(f"{path} must define {FUNCTION}(), a function that returns a Recipe{hint}")
    return _called(getattr(module, FUNCTION), f"{FUNCTION}() of {path}")


def _gives_recipe(value: object) -> bool:
    if not inspect.isfunction(value):
        return False
    return value.__annotations__.get("return") in (Recipe, Recipe.__name__)


def _called(found: object, name: str) -> Recipe:
    """What a function gives, or the value itself, if that is a recipe."""
    if isinstance(found, Recipe):
        return found
    if not callable(found):
        raise ValueError(f"{name} must be a function that returns a Recipe, got {type(found).__name__}")
    value = _result(found, name)
    if not isinstance(value, Recipe):
        raise ValueError(f"{name} must return a Recipe, it returned {type(value).__name__}")
    return value


def _result(function: Callable[..., object], name: str) -> object:
    try:
        needed = [
            one.name
            for one in inspect.signature(function).parameters.values()
            if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):
        needed = []
    if needed:
        raise ValueError(f"{name} must need no arguments, it needs {', '.join(needed)}")
    try:
        return function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may well call sys.exit
        raise ValueError(f"{name} fails: {reason(error)}") from error


def _from_json(path: Path, trust: bool) -> Recipe:
    try:
        return recipe_in(path, trust=trust)
    except Untrusted:
        raise
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} holds no recipe that this version reads: {error}") from error
