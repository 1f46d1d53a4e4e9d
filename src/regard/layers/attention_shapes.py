"""The shapes of attention: with projections and any mixer, pooled, and without weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regard.layers.attention import Mixer, check_heads, check_mixer
from regard.layers.letters import Number
from regard.layers.norms import LayerNorm, Norm
from regard.layers.position import Position, Rotary
from regard.layers.shapes import ElementwiseShape, LinearShape, Shape, TreeShape, WeightsShape, function, tree
from regard.layers.softmax_mixer import Softmax
from regard.pattern import Full, Pattern


@dataclass(frozen=True, kw_only=True)
class AttentionShape(Shape):
    """`regard.layers.Attention`: projections, any pattern and mixer, grouped heads, Rotary or Alibi.

    `head_norm` is a norm of each query and key by itself; True is an RMSNorm.
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
    head_norm: Norm | bool | None = None
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
        scales = 4 * D if isinstance(self.head_norm, LayerNorm) else 2 * D
        head_norms = WeightsShape(count=scales) + function("norm", both, kept=True)
        turned = (H + G) * self.position.turned_width(D) if isinstance(self.position, Rotary) else 0
        rotary = ElementwiseShape(multiplies=2 * turned, adds=turned, kept=both)
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
