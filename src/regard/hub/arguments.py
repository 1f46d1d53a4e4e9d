"""What a model asks of `attend` beside queries, keys, values and the pattern."""

from __future__ import annotations

from typing import TypedDict

from torch import Tensor


class Arguments(TypedDict, total=False):
    """Named arguments of `attend`."""

    scale: float | None
    dropout: float
    softcap: float | None
    sinks: Tensor | None
    mask: Tensor
    bias: Tensor
    segments: Tensor
    key_segments: Tensor
    return_weights: bool


def masked(given: Arguments, seen: Tensor) -> Arguments:
    """The same, where a key must also be seen."""
    out = given.copy()
    out["mask"] = seen & given["mask"] if "mask" in given else seen
    return out
