"""The shapes of attention: with projections, over a pattern, linear, pooled, and without weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regard.layers.letters import Number, divides, ratio
from regard.layers.linear_mixer import LinearAttention
from regard.layers.position import Alibi, Position, Rotary
from regard.layers.shapes import ElementwiseShape, LinearShape, Shape, TreeShape, WeightsShape, function, tree
from regard.pattern import Full, Pattern


@dataclass(frozen=True, kw_only=True)
class AttentionShape(Shape):
    """`regard.layers.Attention`: projections, any pattern, grouped heads, Rotary or Alibi.

    `head_norm` is an RMSNorm on each query and key head.
    """

    width: Number
    heads: Number = 1
    kv_heads: Number | None = None
    head_width: Number | None = None
    pattern: Pattern = Full()  # noqa: RUF009 - a frozen value
    position: Position | None = None
    qkv_bias: bool = True
    out_bias: bool = True
    head_norm: bool = False
    sizes: ClassVar = ("width", "heads", "kv_heads", "head_width")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head_width is None and not divides(self.heads, self.width):
            got = f"{self.width} and {self.heads}"
            raise ValueError(f"heads must divide width unless head_width is given, got {got}")
        if self.kv_heads is not None and not divides(self.kv_heads, self.heads):
            raise ValueError(f"kv_heads must divide heads, got {self.heads} and {self.kv_heads}")

    def shapes(self) -> TreeShape:
        """Projections, turned or biased scores, weighted sums, and the way back."""
        H, G, D = filled(self.width, self.heads, self.kv_heads, self.head_width)
        both = (H + G) * D  # the queries and keys of a token
        head_norms = WeightsShape(count=2 * D) + function("norm", both, kept=True)
        rotary = ElementwiseShape(multiplies=2 * both, adds=both, kept=both)
        if isinstance(self.pattern, LinearAttention):
            mix: Shape = LinearMixShape(heads=H, kv_heads=G, head_width=D, featured=True)
        else:
            biased = isinstance(self.position, Alibi)
            mix = SoftmaxShape(heads=H, kv_heads=G, head_width=D, pattern=self.pattern, biased=biased)
        return tree(
            {
                "qkv": LinearShape(inputs=self.width, outputs=(H + 2 * G) * D, bias=self.qkv_bias),
                "head_norms": head_norms if self.head_norm else None,
                "rotary": rotary if isinstance(self.position, Rotary) else None,
                "mix": mix,
                "out": LinearShape(inputs=H * D, outputs=self.width, bias=self.out_bias),
            }
        )


@dataclass(frozen=True, kw_only=True)
class LinearAttentionShape(Shape):
    """Projections as in `AttentionShape`, but with `linear_attend` between them."""

    width: Number
    heads: Number = 1
    kv_heads: Number | None = None
    head_width: Number | None = None
    feature: str = "identity"
    sizes: ClassVar = ("width", "heads", "kv_heads", "head_width")

    def shapes(self) -> TreeShape:
        """Projections, running sums, and the way back."""
        H, G, D = filled(self.width, self.heads, self.kv_heads, self.head_width)
        featured = self.feature != "identity"
        return tree(
            {
                "qkv": LinearShape(inputs=self.width, outputs=(H + 2 * G) * D),
                "mix": LinearMixShape(heads=H, kv_heads=G, head_width=D, featured=featured),
                "out": LinearShape(inputs=H * D, outputs=self.width),
            }
        )


@dataclass(frozen=True, kw_only=True)
class SoftmaxShape(Shape):
    """Scores, softmax and weighted sums over a pattern; keys are cached where it looks back only."""

    heads: Number
    kv_heads: Number
    head_width: Number
    pattern: Pattern = Full()  # noqa: RUF009 - a frozen value
    biased: bool = False
    cached: bool = True


@dataclass(frozen=True, kw_only=True)
class LinearMixShape(Shape):
    """Linear attention: running sums in place of keys, of features of queries and keys or of themselves."""

    heads: Number
    kv_heads: Number
    head_width: Number
    featured: bool


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


def filled(
    width: Number, heads: Number, kv_heads: Number | None, head_width: Number | None
) -> tuple[Number, Number, Number]:
    """(heads, kv_heads, head_width), unset sizes filled in as the layers do."""
    whole = ratio(width, heads) if head_width is None else head_width
    return heads, heads if kv_heads is None else kv_heads, whole
