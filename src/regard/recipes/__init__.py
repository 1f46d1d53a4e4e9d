"""One file per run: a function that returns a `Recipe`, under a docstring that says what to expect."""

import pkgutil
from importlib import import_module

from regard.errors import did_you_mean
from regard.train import Recipe


def names() -> list[str]:
    """The recipes there are.

    >>> "digits-vit" in names()
    True
    """
    return sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__))


def get(name: str) -> Recipe:
    """A recipe by its name.

    >>> get("digits-vit").name
    'digits-vit'
    """
    return _module(name).recipe()


def about(name: str) -> str:
    """The first line of a recipe's docstring."""
    return (_module(name).__doc__ or "").strip().splitlines()[0]


def _module(name: str):  # type: ignore[no-untyped-def]
    if name not in names():
        hint = did_you_mean(name, names())
        raise ValueError(f"no recipe is called {name!r}{hint or ';'} recipes: {', '.join(names())}")
    return import_module(f"{__name__}.{name.replace('-', '_')}")
