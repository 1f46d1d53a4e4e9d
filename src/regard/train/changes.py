"""What of a recipe may change while a run goes on: what cannot change its past."""

import json
from dataclasses import fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import cast

from regard.train.recipe import LIMITS, PART_OF, Recipe

FREE = ("keep", "save_every", "parallel.context")
IN_PLACE = (*LIMITS, *FREE)
KEPT = f"{', '.join(FREE[:-1])} and {FREE[-1]}"


def differences(a: object, b: object, path: str = "") -> list[str]:
    """The fields in which two values of a recipe differ, as `--set` names them.

    >>> one = Recipe(name="x", task=None, batch=1, steps=1)
    >>> differences(one, Recipe(name="x", task=None, batch=2, steps=1))
    ['batch']
    """
    if a == b:
        return []
    if type(a) is not type(b) or not is_dataclass(a):
        return [path]
    return [
        name
        for field in fields(a)
        for name in differences(getattr(a, field.name), getattr(b, field.name), _inside(path, field.name))
    ]


def _inside(path: str, name: str) -> str:
    return path if name in PART_OF.values() else f"{path}.{name}".lstrip(".")


def value_at(recipe: Recipe, path: str) -> float | None:
    """The number that a recipe holds where `differences` names a field.

    >>> value_at(Recipe(name="x", task=None, batch=1, steps=1), "keep")
    2
    """
    value: object = recipe
    for name in path.split("."):
        inside = isinstance(value, Recipe) and name in PART_OF
        value = getattr(getattr(value, PART_OF[name]) if inside else value, name)
    return cast("float | None", value)


def changed(folder: Path, old: Recipe, new: Recipe) -> list[str]:
    """What changes as a run goes on, in words; a ValueError where that would need another run.

    >>> from dataclasses import replace
    >>> old = Recipe(name="x", task=None, batch=1, steps=10)
    >>> changed(Path("run"), old, old.but(keep=3))
    ['keep is 3 from here on, before it was 2']
    >>> changed(Path("run"), old, replace(old, steps=5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: run holds a run with another recipe: steps=5 is less than its 10; while a run goes on, ...
    """
    said, refused = [], []
    for name in differences(old, new):
        if name not in IN_PLACE:
            refused.append(f"{name} differs")
            continue
        before, now = value_at(old, name), value_at(new, name)
        told = f"{name} is {now} from here on, before it was {before}"
        if name not in LIMITS:
            said.append(told)
        elif before is None or now is None:
            refused.append(f"{name} differs")
        elif now < before:
            refused.append(f"{name}={now} is less than its {before}")
        else:
            goes_on = "what is trained stays, and the learning rate goes on by the longer schedule"
            said.append(f"{told}: {goes_on}")
    if refused:
        raise ValueError(
            f"{folder} holds a run with another recipe: {', '.join(refused)}; while a run goes on, "
            f"steps, epochs or minutes may grow and {KEPT} change; for all else begin a new run "
            f"from one of its checkpoints: regard train --from {folder} --set … --out ANOTHER"
        )
    return said


def recipe_digest(data: object) -> str:
    """The SHA-256 of a recipe as JSON, whatever its spaces and its order."""
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
