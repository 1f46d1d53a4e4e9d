"""Checks of arguments at the public edge, hints at names, the error for a library that is not installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches
from operator import index
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def check_int(name: str, value: object, least: int, most: int | None = None) -> int:
    """The integer that `value` is, NumPy's too; raise unless it is at least `least` and at most `most`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"{name} must be an integer, got {name}={value!r}")
    try:
        value = index(value)
    except TypeError:  # what has the method and no whole number, as a float tensor
        raise ValueError(f"{name} must be an integer, got {name}={value!r}") from None
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {name}={value}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most:,}, got {name}={value}")
    return value


def check_sizes(**sizes: int) -> None:
    """Raise unless every size is an integer of at least 1."""
    for name, value in sizes.items():
        check_int(name, value, least=1)


def check_shares(**shares: object) -> None:
    """Raise unless every one is a number from 0 to 1.

    >>> check_shares(warmup=1.5)
    Traceback (most recent call last):
        ...
    ValueError: warmup must be a share from 0 to 1, got warmup=1.5
    """
    for name, value in shares.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1, got {name}={value!r}")


def check_rates(**rates: object) -> None:
    """Raise unless every one is a number of at least 0."""
    for name, value in rates.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise ValueError(f"{name} must be a number of at least 0, got {name}={value!r}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless the value is one of these words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {name}={value!r}")


def check_kind(name: str, value: object, kinds: tuple[type, ...], otherwise: str = "") -> None:
    """Raise unless the value is of one of these classes.

    >>> check_kind("model", 3, (str,))
    Traceback (most recent call last):
        ...
    ValueError: model must be a str, got model=3
    """
    if not isinstance(value, kinds):
        named = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"{name} must be a {named}, got {name}={value!r}{otherwise}")


def check_shape(name: str, x: Tensor, *shape: int | str) -> None:
    """Raise unless `x` has this shape, in which a letter stands for any size and B may be missing."""
    shapes = (shape, shape[1:]) if shape[0] == "B" else (shape,)
    wanted = shapes[-1] if x.ndim < len(shape) else shape
    same = [isinstance(want, str) or want == have for want, have in zip(wanted, x.shape, strict=False)]
    if x.ndim != len(wanted) or not all(same):
        rule = " or ".join(f"({', '.join(map(str, one))})" for one in shapes)
        raise ValueError(f"{name} must have shape {rule}, got {tuple(x.shape)}")


def did_you_mean(
    name: object, known: Iterable[str], otherwise: str = "", *, before: str = "; ", least: float = 0.5
) -> str:
    """A hint at the nearest known name with what comes `before` it; without a near one, at something else.

    Near is one that is alike by `least`, of 1 for the same name.

    >>> did_you_mean("bach", ["batch", "steps"]), did_you_mean("x", ["batch"], "fields: batch", before=", ")
    ("; did you mean 'batch'?", ', fields: batch')
    """
    near = get_close_matches(str(name), list(known), n=1, cutoff=least)
    hint = f"did you mean {near[0]!r}?" if near else otherwise
    return f"{before}{hint}" if hint else ""


def need(module: str, extra: str) -> ModuleType:
    """Import an optional library, or say which extra of this package brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{module} is not installed: {how_to_install(extra)}") from error


def how_to_install(extra: str) -> str:
    """The command that brings an extra, for how this package is here: installed, or as a checkout.

    Where it is installed, pip takes what is there and adds the extra. A checkout stays one by `-e`.
    """
    source = Path(__file__).parents[2]
    if not (source / "pyproject.toml").is_file():
        return f'pip install "regard[{extra}]"'
    where = "." if Path.cwd() == source else source
    return f'pip install -e "{where}[{extra}]"'


def visible(name: str) -> str:
    """A name on one line: what would break it, or colour a terminal, by its escape.

    >>> print(visible("a\\nb"), visible("größer"))
    a\\nb größer
    """
    return "".join(one if one.isprintable() or one == "\u200d" else ascii(one)[1:-1] for one in name)
