"""The fields of a recipe and its parts, with type, default and meaning: `regard recipe --explain`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass

from regard.errors import did_you_mean
from regard.train.meanings import meaning
from regard.train.recipe import Recipe
from regard.train.recipe_data import KINDS
from regard.values import Json

PREFIXES = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])")


@dataclass(frozen=True)
class FieldEntry:
    """One field: how it is set, its type, its default or None where it must be given, and its meaning."""

    path: str
    type: str
    default: str | None
    meaning: str

    def as_dict(self) -> Json:
        """The four, as JSON."""
        return asdict(self)


def explain_kind(kind: type, prefix: str = "") -> list[FieldEntry]:
    """The fields of one class.

    >>> explain_kind(KINDS["Cosine"])[0]  # doctest: +ELLIPSIS
    FieldEntry(path='warmup', type='float', default='0.05', meaning='the share of the run over which ...
    """
    return [
        FieldEntry(
            prefix + field.name,
            PREFIXES.sub("", field.type if isinstance(field.type, str) else _shown(field.type)),
            _default(field.default, field.default_factory),
            meaning(kind.__name__, field.name) or "of one's own",
        )
        for field in fields(kind)
        if field.init
    ]


def explain(recipe: Recipe) -> list[tuple[str, FieldEntry, str]]:
    """Every field of a recipe and its parts, by the path that --set takes: (class, field, value)."""
    return list(_inside(recipe, ""))


def _inside(value: object, prefix: str) -> Iterable[tuple[str, FieldEntry, str]]:
    assert is_dataclass(value)
    kind = type(value)
    for field, entry in zip(
        (one for one in fields(value) if one.init), explain_kind(kind, prefix), strict=True
    ):
        inner = getattr(value, field.name)
        nested = is_dataclass(inner) and not isinstance(inner, type) and type(inner).__name__ in KINDS
        nested |= is_dataclass(inner) and hasattr(inner, "build")
        yield kind.__name__, entry, type(inner).__name__ if nested else str(inner)
        if nested:
            # A task's fields, and those of execution and checks, are set by their own names.
            flat = isinstance(value, Recipe) and field.name in ("task", "execution", "checks")
            yield from _inside(inner, "" if flat else f"{entry.path}.")


def find_kind(name: str) -> type:
    """A class that a recipe may hold, by its name."""
    kind = KINDS.get(name)
    if not isinstance(kind, type):
        raise ValueError(f"no part of a recipe is called {name!r}{did_you_mean(name, KINDS)}")
    return kind


def _shown(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def _default(default: object, factory: object) -> str | None:
    if factory is not MISSING and callable(factory):
        default = factory()
    if default is MISSING:
        return None
    if is_dataclass(default) and not isinstance(default, type):
        changed = repr(default)
        return f"{type(default).__name__}()" if len(changed) > 40 else changed
    return repr(default)
