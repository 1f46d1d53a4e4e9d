"""Layers as values that can be priced: the sizes of a layer, each a number or a letter."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from regard.cost import attention as rules
from regard.cost import blocks, dense, recurrent
from regard.cost.models import grid_layers, need_tokens
from regard.cost.result import Cost, Number, together, tree
from regard.cost.setting import Setting, is_symbolic, number
from regard.layers import Gelu, LayerNorm
from regard.pattern import Full, Pattern
from regard.sharing import output_size
from regard.sharing.sizes import pair

SIZES = ("int", "Number", "Number | None")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What all shapes share: sizes are checked, and names become letters."""

    of_images: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type in SIZES and value is not None:
                object.__setattr__(self, field.name, number(field.name, value))

    def cost(self, s: Setting) -> Cost:
        """The price in a setting."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class LinearShape(Shape):
    """A Linear on every token, or on every row of the batch where no tokens are given."""

    inputs: Number
    outputs: Number
    bias: bool = True

    def cost(self, s: Setting) -> Cost:
        """One product."""
        rows = s.batch if s.tokens is None else s.batch * s.tokens
        return dense.linear(s, rows, self.inputs, self.outputs, bias=self.bias)


@dataclass(frozen=True, kw_only=True)
class NormShape(Shape):
    """A norm on every token."""

    width: Number
    norm: Any = LayerNorm()  # noqa: RUF009 - a frozen value

    def cost(self, s: Setting) -> Cost:
        """Elements alone."""
        return blocks.norm(s, self.norm, s.batch * need_tokens(s), self.width)


@dataclass(frozen=True, kw_only=True)
class EmbeddingShape(Shape):
    """A table of token vectors."""

    vocab: Number
    width: Number

    def cost(self, s: Setting) -> Cost:
        """A look-up per token."""
        return blocks.embedding(s, s.batch * need_tokens(s), self.vocab, self.width)


@dataclass(frozen=True, kw_only=True)
class PatchShape(Shape):
    """Patches (rows, cols) of an image to tokens."""

    channels: Number
    width: Number
    patch: Any
    of_images: ClassVar[bool] = True

    def cost(self, s: Setting) -> Cost:
        """One product over all patches."""
        (rows, cols), (high, wide) = need_image(s), pair("patch", self.patch, 1)
        if rows % high or cols % wide:
            raise ValueError(f"patches must tile the image, got image={(rows, cols)}, patch={(high, wide)}")
        places = s.batch * (rows // high) * (cols // wide)
        return dense.linear(s, places, self.channels * high * wide, self.width)


@dataclass(frozen=True, kw_only=True)
class AttentionShape(Shape):
    """`regard.layers.Attention`: projections, any pattern, grouped heads, Rotary or Alibi."""

    width: Number
    heads: Number = 1
    kv_heads: Number | None = None
    head_width: Number | None = None
    pattern: Pattern = Full()  # noqa: RUF009 - a frozen value
    position: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, whole, part in (
            ("heads must divide width unless head_width is given", self.width, self.heads),
            ("kv_heads must divide heads", self.heads, self.kv_heads),
        ):
            fits = part is None or is_symbolic(whole) or is_symbolic(part) or whole % part == 0
            if not fits and not (part is self.heads and self.head_width is not None):
                raise ValueError(f"{name}, got {whole} and {part}")

    def cost(self, s: Setting) -> Cost:
        """The layer."""
        h = blocks.heads_of(self.width, self.heads, self.kv_heads, self.head_width)
        return blocks.attention_layer(s, h, self.pattern, self.position, need_tokens(s))


@dataclass(frozen=True, kw_only=True)
class FeedForwardShape(Shape):
    """A feed-forward on every token."""

    width: Number
    part: Any = Gelu()  # noqa: RUF009 - a frozen value

    def cost(self, s: Setting) -> Cost:
        """Two products, three if gated."""
        return blocks.feedforward(s, self.part, s.batch * need_tokens(s), self.width)


@dataclass(frozen=True, kw_only=True)
class LinearAttentionShape(Shape):
    """Projections as in `AttentionShape`, but with `linear_attend` between them."""

    width: Number
    heads: Number = 1
    kv_heads: Number | None = None
    head_width: Number | None = None
    feature: str = "identity"

    def cost(self, s: Setting) -> Cost:
        """Linear in the tokens."""
        h, n = blocks.heads_of(self.width, self.heads, self.kv_heads, self.head_width), need_tokens(s)
        rows, D = s.batch * n, h.head_width
        mix = blocks.linear_mix(s, h, n, self.feature != "identity")
        return together(
            qkv=dense.linear(s, rows, h.width, (h.heads + 2 * h.kv_heads) * D),
            mix=mix,
            out=dense.linear(s, rows, h.heads * D, h.width),
        )


@dataclass(frozen=True, kw_only=True)
class PooledAttentionShape(Shape):
    """`pooled_attend` of the course sheet, in the "linear" or the "plain" arrangement."""

    width: Number
    head_width: Number
    value_width: Number
    arrangement: str = "linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arrangement not in ("linear", "plain"):
            raise ValueError(f"arrangement must be 'linear' or 'plain', got arrangement={self.arrangement!r}")

    def cost(self, s: Setting) -> Cost:
        """Linear in the tokens, or quadratic as it is written."""
        sizes = (self.width, self.head_width, self.value_width)
        count = 2 * self.width * self.head_width + self.width * self.value_width
        out = rules.pooled(s, need_tokens(s), *sizes, self.arrangement == "plain")
        return out + dense.weights(s, count)


@dataclass(frozen=True, kw_only=True)
class WeightlessShape(Shape):
    """`self_attend`: queries = keys = values = x, nothing learned."""

    width: Number
    scale: float = 1.0

    def cost(self, s: Setting) -> Cost:
        """All pairs."""
        return rules.weightless(s, need_tokens(s), self.width, self.scale != 1)


@dataclass(frozen=True, kw_only=True)
class RNNShape(Shape):
    """`regard.layers.RNN`: stacked recurrences along the tokens."""

    channels: Number
    hidden: Number
    layers: Number = 1
    activation: str = "tanh"
    bias: bool = True

    def cost(self, s: Setting) -> Cost:
        """T steps per layer."""
        n = need_tokens(s)
        kind: dict[str, Any] = {"activation": self.activation, "bias": self.bias}
        parts = [("layers.0", recurrent.rnn(s, n, self.channels, self.hidden, **kind))]
        if is_symbolic(self.layers) or self.layers > 1:
            rest = recurrent.rnn(s, n, self.hidden, self.hidden, **kind) * (self.layers - 1)
            parts.append((f"layers ×{self.layers - 1}", rest))
        return tree(parts)


@dataclass(frozen=True, kw_only=True)
class GridRNNShape(Shape):
    """`regard.layers.GridRNN`: stacked recurrences over a grid, from several corners."""

    channels: Number
    hidden: Number
    layers: Number = 1
    starts: int = 1
    activation: str = "tanh"
    bias: bool = False
    of_images: ClassVar[bool] = True

    def cost(self, s: Setting) -> Cost:
        """Borders counted exactly."""
        return tree(
            grid_layers(
                s,
                need_image(s),
                self.channels,
                self.hidden,
                layers=self.layers,
                starts=self.starts,
                activation=self.activation,
                bias=self.bias,
                first=False,
            )
        )


@dataclass(frozen=True, kw_only=True)
class ConvolutionShape(Shape):
    """A convolution over an image, or along tokens where `flat`; `local` gives each place its own weights."""

    inputs: Number
    outputs: Number
    kernel: Any
    stride: Any = 1
    padding: Any = 0
    bias: bool = True
    flat: bool = False
    local: bool = False

    def cost(self, s: Setting) -> Cost:
        """One product over all places."""
        size = (1, need_tokens(s)) if self.flat else need_image(s)
        kernel, stride, padding = self._sides()
        rows, cols = (output_size(*axis) for axis in zip(size, kernel, stride, padding, strict=True))
        taps = self.inputs * kernel[0] * kernel[1]
        if self.local:
            return dense.locally_connected(s, rows * cols, taps, self.outputs, bias=self.bias)
        inputs = s.batch * self.inputs * size[0] * size[1]
        return dense.convolution(s, s.batch * rows * cols, taps, self.outputs, inputs=inputs, bias=self.bias)

    def _sides(self) -> tuple[tuple[int, int], ...]:
        if not self.flat:
            return (
                pair("kernel", self.kernel, 1),
                pair("stride", self.stride, 1),
                pair("padding", self.padding, 0),
            )
        return (1, self.kernel), (1, self.stride), (0, self.padding)


@dataclass(frozen=True, kw_only=True)
class LossShape(Shape):
    """Cross-entropy over so many classes, on every token or every row."""

    classes: Number

    def cost(self, s: Setting) -> Cost:
        """Elements alone."""
        rows = s.batch if s.tokens is None else s.batch * s.tokens
        return blocks.loss(s, rows, self.classes)


def need_image(s: Setting) -> tuple[Number, Number]:
    """The image (rows, cols), or a ValueError that asks for it."""
    if s.image is None:
        raise ValueError("image must be given for a layer over a grid, such as image=(28, 28)")
    return s.image
