"""One file per run: a function that returns a `Recipe`, under a docstring that says what to expect."""

import pkgutil
from importlib import import_module
from pathlib import Path

from regard.errors import did_you_mean
from regard.plugins import RECIPES, owner, plugins
from regard.train import Recipe
from regard.train.finding import find_recipe, is_place


def shipped() -> list[str]:
    """The recipes that come with the package."""
    return sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__))


def names() -> list[str]:
    """The recipes there are, those of other installed packages too.

    >>> "digits-vit" in names()
    True
    """
    return sorted({*shipped(), *plugins(RECIPES)})


def get(name: str | Path, *, trust: bool = False) -> Recipe:
    """A recipe by its name, or from where its name says: a file, `module:function`, a run's recipe.json.

    >>> get("digits-vit").name
    'digits-vit'
    """
    text = str(name)
    if text in shipped():
        return _module(text).recipe()
    if text in (others := plugins(RECIPES)):
        return find_recipe(others[text].value)
    return find_recipe(name, trust=trust) if is_place(text) else _module(text).recipe()


def about(name: str) -> str:
    """The first line of a recipe's docstring; of one that another package brings, which package."""
    if name not in shipped() and name in (others := plugins(RECIPES)):
        return owner(others[name])
    return (_module(name).__doc__ or "").strip().splitlines()[0]


def _module(name: str):  # type: ignore[no-untyped-def]
    if name not in shipped():
        hint = did_you_mean(name, names())
        raise ValueError(f"no recipe is called {name!r}{hint or ';'} recipes: {', '.join(names())}")
    return import_module(f"{__name__}.{name.replace('-', '_')}")
