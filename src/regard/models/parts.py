"""Configs as plain data: patterns as their text, parts by their name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from regard.layers import (
    Alibi,
    CourseBlock,
    Gelu,
    LayerNorm,
    Learned,
    Natural,
    PostNorm,
    PreNorm,
    RMSNorm,
    Rotary,
    Scaled,
    Sinusoidal,
    SwiGLU,
)
from regard.models.encoder import EncoderConfig
from regard.models.gpt import Tied, Untied
from regard.pattern import Pattern, parse

KINDS: tuple[type, ...] = (
    *(PreNorm, PostNorm, CourseBlock, LayerNorm, RMSNorm, Gelu, SwiGLU, Tied, Untied),
    *(Natural, Scaled, Sinusoidal, Learned, Rotary, Alibi),
    EncoderConfig,  # a model that is part of another
)
PARTS = {kind.__name__: kind for kind in KINDS}


def to_data(value: Any) -> Any:
    """A config's field as what JSON can hold.

    >>> from regard.pattern import Causal, Strided
    >>> to_data((Strided(back=3), Causal()))
    [{'pattern': 'strided(3)'}, {'pattern': 'causal'}]
    >>> to_data(Rotary())
    {'part': 'Rotary', 'base': 10000.0}
    """
    if isinstance(value, Pattern):
        return {"pattern": str(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return {"part": type(value).__name__, **fields_of(value)}
    if isinstance(value, tuple | list):
        return [to_data(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"a config can hold numbers, texts, patterns and parts, got {value!r}")


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a config or part, each as plain data."""
    return {field.name: to_data(getattr(value, field.name)) for field in fields(value)}


def from_data(data: Any) -> Any:
    """The inverse of `to_data`; lists become tuples.

    >>> from_data({"part": "Gelu", "hidden": 8, "tanh": False})
    Gelu(hidden=8, tanh=False)
    """
    if isinstance(data, list):
        return tuple(from_data(one) for one in data)
    if not isinstance(data, dict):
        return data
    if set(data) == {"pattern"}:
        return parse(data["pattern"])
    name = data.get("part")
    if name not in PARTS:
        raise ValueError(f"a part must be one of {', '.join(PARTS)}, got {name!r}")
    return build(PARTS[name], {key: one for key, one in data.items() if key != "part"})


def build(kind: type, data: dict[str, Any]) -> Any:
    """A dataclass from plain data, or a ValueError that names the fields at fault."""
    known = {field.name for field in fields(kind)}
    if strange := sorted(set(data) - known):
        raise ValueError(f"{kind.__name__} has no field {', '.join(strange)}")
    try:
        return kind(**{name: from_data(one) for name, one in data.items()})
    except TypeError as error:
        raise ValueError(f"{kind.__name__} cannot be made from {data!r}: {error}") from error
