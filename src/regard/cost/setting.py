"""What a price is asked for: how many tokens, how many rows of a batch, training or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from regard.cost.result import Number
from regard.errors import check_int


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The sizes around a model; numbers may be symbols."""

    batch: Number = 1
    tokens: Number | None = None
    image: tuple[Number, Number] | None = None
    training: bool = False
    decode: bool = False
    each: int = 4  # bytes of one number
    segments: Tensor | None = None
    letters: Mapping[str, Any] = field(default_factory=dict)  # pattern fields left symbolic, by their letter


def number(name: str, value: Any, least: int = 1) -> Number:
    """A whole number, or a letter: a name or a sympy expression."""
    if isinstance(value, str):
        if not value.isidentifier():
            raise ValueError(f"{name} must be a whole number or a letter, got {name}={value!r}")
        return symbol(value)
    if not is_symbolic(value):
        check_int(name, value, least)
    return value


def symbol(name: str) -> Any:
    """A letter without assumptions, as `Pattern.formula` uses them."""
    import sympy

    return sympy.Symbol(name)


def is_symbolic(value: Any) -> bool:
    """Whether a number is an expression; sympy is not imported to find out."""
    return type(value).__module__.partition(".")[0] == "sympy"


def less_one(count: Number) -> Number:
    """The adds that summing `count` terms takes."""
    return count - 1 if is_symbolic(count) else max(count - 1, 0)


def ratio(a: Number, b: Number) -> Number:
    """a / b where b divides a."""
    return a / b if is_symbolic(a) or is_symbolic(b) else a // b
