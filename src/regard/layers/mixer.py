"""How a layer mixes its tokens: a softmax over a pattern, or linear attention."""

from __future__ import annotations

from regard.layers.linear_mixer import LinearAttention
from regard.layers.position import Position
from regard.layers.softmax_mixer import Softmax
from regard.pattern import Pattern

Mixer = Softmax | LinearAttention


def check_mixer(mixer: Mixer, pattern: Pattern, position: Position | None) -> None:
    """Raise unless a layer can mix so, under this pattern and with this position.

    >>> from regard.pattern import Strided
    >>> check_mixer(LinearAttention(), Strided(back=3), None)
    Traceback (most recent call last):
        ...
    ValueError: pattern must be Causal() or Full() under mixer=LinearAttention(), got pattern=strided(3)
    """
    if not isinstance(mixer, Mixer):
        raise ValueError(f"mixer must be Softmax() or LinearAttention(), got {mixer=}")
    mixer.check(pattern, position)
