"""Keys of a bounded cache: where they stand travels with the tensor, from the cache to attention."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regard.hub.rotation import Shift
from regard.pattern import Pattern

NOTE = "regard_held"  # the attribute of a tensor of keys


@dataclass(frozen=True, eq=False)
class SlottedKeys:
    """Where the keys (B,G,M,D) of a bounded cache stand, −1 nowhere; queries begin at `start`."""

    positions: Tensor  # M
    start: int
    pattern: Pattern  # what bounds the cache
    padding: int = 0  # how many tokens in front of a row may be padding
    shift: Shift | None = None  # how the first keys move along, for positions counted in the cache


def noted(key: Tensor, held: SlottedKeys) -> Tensor:
    """The same keys in a tensor of their own, which says where they stand."""
    key = key.view(key.shape)
    setattr(key, NOTE, held)
    return key


def held_keys(key: Tensor) -> SlottedKeys | None:
    """Where keys stand that a bounded cache gave, or None."""
    return getattr(key, NOTE, None)
