"""The shapes of attention: with projections and any mixer, pooled, and without weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regard.layers.attention import Mixer, check_heads, check_mixer
from regard.layers.letters import Number
from regard.layers.position import Position, Rotary
from regard.layers.shapes import ElementwiseShape, LinearShape, Shape, TreeShape, WeightsShape, function, tree
from regard.layers.softmax_mixer import Softmax
from regard.pattern import Full, Pattern


@dataclass(frozen=True, kw_only=True)
class AttentionShape(Shape):
    """`regard.layers.Attention`: projections, any pattern and mixer, grouped heads, Rotary or Alibi.

    `head_norm` is an RMSNorm on each query and key head.
    """

    width: Number
    heads: Number = 1
    kv_heads: Number | None = None
    head_width: Number | None = None
    pattern: Pattern = Full()  # noqa: RUF009 - a frozen value
    mixer: Mixer = Softmax()  # noqa: RUF009 - a frozen value
    position: Position | None = None
    qkv_bias: bool = True
    out_bias: bool = True
    head_norm: bool = False
    sizes: ClassVar = ("width", "heads", "kv_heads", "head_width")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.width, self.heads, self.kv_heads, self.head_width, self.position)
        check_mixer(self.mixer, self.pattern, self.position)

    def shapes(self) -> TreeShape:
        """Projections, turned or biased scores, weighted sums, and the way back."""
        G, D = check_heads(self.width, self.heads, self.kv_heads, self.head_width, self.position)
        H = self.heads
        both = (H + G) * D  # the queries and keys of a token
        head_norms = WeightsShape(count=2 * D) + function("norm", both, kept=True)
        rotary = ElementwiseShape(multiplies=2 * both, adds=both, kept=both)
        return tree(
            {
                "qkv": LinearShape(inputs=self.width, outputs=(H + 2 * G) * D, bias=self.qkv_bias),
                "head_norms": head_norms if self.head_norm else None,
                "rotary": rotary if isinstance(self.position, Rotary) else None,
                "mix": self.mixer.shape((H, G, D), self.pattern, self.position),
                "out": LinearShape(inputs=H * D, outputs=self.width, bias=self.out_bias),
            }
        )


@dataclass(frozen=True, kw_only=True)
class CrossShape(Shape):
    """Queries of what is written over keys and values of all that an encoder read, which are held."""

    heads: Number
    head_width: Number
    scaled: bool | None = None  # None: by 1/√head_width


@dataclass(frozen=True, kw_only=True)
class PooledAttentionShape(Shape):
    """`pooled_attend` of the course sheet, in the "linear" or the "plain" arrangement."""

    width: Number
    head_width: Number
    value_width: Number
    arrangement: str = "linear"
    sizes: ClassVar = ("width", "head_width", "value_width")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arrangement not in ("linear", "plain"):
            raise ValueError(f"arrangement must be 'linear' or 'plain', got arrangement={self.arrangement!r}")


@dataclass(frozen=True, kw_only=True)
class WeightlessShape(Shape):
    """`self_attend`: queries = keys = values = x, nothing learned."""

    width: Number
    scale: float = 1.0
    sizes: ClassVar = ("width",)
