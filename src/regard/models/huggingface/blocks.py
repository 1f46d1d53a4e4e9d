"""How the blocks of transformers' decoders are wired, as shapes: norms, heads, latent heads, experts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from regard.layers import Mixer, RMSNorm
from regard.layers.letters import Number
from regard.layers.norms import Norm
from regard.layers.shapes import (
    AgainShape,
    ElementwiseShape,
    ExpertsShape,
    LinearShape,
    NormShape,
    PlainShape,
    Shape,
    TreeShape,
    WeightsShape,
    added,
    function,
    tree,
)
from regard.layers.softmax_mixer import SoftmaxShape
from regard.pattern import Pattern


@dataclass(frozen=True, kw_only=True)
class BlockStyle:
    """What all blocks of a family share; as it stands, Llama's."""

    norm: Norm = RMSNorm()  # noqa: RUF009 - a frozen value
    norms: int = 2  # 1: one for both ways of a parallel block; 4: before and after each part
    gated: bool = True
    activation: str = "silu"
    qkv_bias: bool = False
    out_bias: bool = False
    feedforward_bias: bool = False
    turned: Fraction = Fraction(1)  # how much of a head rotary positions turn; 0: none
    softcap: bool = False
    fused: bool = False  # one matrix makes queries, keys and values, and one the gate and what it lets by


@dataclass(frozen=True, kw_only=True)
class Experts:
    """A router and its experts; `shared` is the width of one that every token visits, `gated` or not."""

    count: int
    chosen: int
    hidden: int
    shared: int = 0
    gated: bool = False


@dataclass(frozen=True, kw_only=True)
class Latent:
    """DeepSeek's heads: keys and values are made of one narrow vector, and so are queries."""

    queries: int | None
    keys: int
    plain: int
    turned: int
    values: int


@dataclass(frozen=True, kw_only=True)
class HeadSizes:
    """Heads, those of keys and values, and their width."""

    width: Number
    heads: Number
    kv_heads: Number
    head_width: Number
    norm: Norm | None = None  # on each query and key


def attention(sizes: HeadSizes, style: BlockStyle, mixer: Mixer, pattern: Pattern) -> TreeShape:
    """Projections, norms and turns of the heads, weighted sums, and the way back."""
    H, G, D = sizes.heads, sizes.kv_heads, sizes.head_width
    both = (H + G) * D
    turned = D if style.turned == 1 else int(D * style.turned)
    rotary = ElementwiseShape(multiplies=2 * (H + G) * turned, adds=(H + G) * turned, kept=both)
    mix = mixer.shape((H, G, D), pattern, None)
    if isinstance(mix, SoftmaxShape):
        mix = replace(mix, softcap=style.softcap, early=True)  # as the cache of transformers drops keys
    weights = WeightsShape(count=2 * D if isinstance(sizes.norm, RMSNorm) else 4 * D)
    return tree(
        {
            "qkv": LinearShape(
                inputs=sizes.width,
                outputs=(H + 2 * G) * D,
                bias=style.qkv_bias,
                split=() if style.fused else (H * D, G * D, G * D),
            ),
            "head_norms": None if sizes.norm is None else weights + function("norm", both, kept=True),
            "rotary": rotary if style.turned != 0 else None,
            "mix": mix,
            "out": LinearShape(inputs=H * D, outputs=sizes.width, bias=style.out_bias),
        }
    )


def latent_attention(width: Number, heads: Number, latent: Latent, bias: bool, pattern: Pattern) -> TreeShape:
    """DeepSeek's MLA as transformers runs it: the narrow vector is cached, and spread out at every step."""
    head = latent.plain + latent.turned
    queries: dict[str, Shape] = {"queries": LinearShape(inputs=width, outputs=heads * head, bias=False)}
    if latent.queries is not None:
        queries = {
            "queries_down": LinearShape(inputs=width, outputs=latent.queries, bias=bias),
            "queries_norm": NormShape(width=latent.queries, norm=RMSNorm()),
            "queries": LinearShape(inputs=latent.queries, outputs=heads * head, bias=False),
        }
    turned = (heads + 1) * latent.turned
    held = latent.keys + latent.turned
    mix = SoftmaxShape(heads, heads, head, pattern, value_width=latent.values, held=held)
    return tree(
        {
            **queries,
            "keys_down": LinearShape(inputs=width, outputs=latent.keys + latent.turned, bias=bias),
            "keys_norm": NormShape(width=latent.keys, norm=RMSNorm()),
            "keys_values": AgainShape(
                LinearShape(inputs=latent.keys, outputs=heads * (latent.plain + latent.values), bias=False)
            ),
            "rotary": ElementwiseShape(multiplies=2 * turned, adds=turned, kept=turned),
            "mix": mix,
            "out": LinearShape(inputs=heads * latent.values, outputs=width, bias=bias),
        }
    )


def feedforward(width: Number, hidden: Number, style: BlockStyle) -> TreeShape:
    """Two products and a function, three if gated."""
    bias, kind = style.feedforward_bias, style.activation
    down = LinearShape(inputs=hidden, outputs=width, bias=bias)
    if not style.gated:
        up = LinearShape(inputs=width, outputs=hidden, bias=bias)
        return tree({"up": up, kind: function(kind, hidden, kept=True), "down": down})
    split = () if style.fused else (hidden, hidden)
    up = LinearShape(inputs=width, outputs=2 * hidden, bias=bias, split=split)
    gate = ElementwiseShape(multiplies=hidden, kind=kind, elements=hidden, kept=2 * hidden)
    return tree({"gate_up": up, "gate": gate, "down": down})


def experts(width: Number, sizes: Experts, style: BlockStyle) -> TreeShape:
    """The router's scores, the experts that a token visits and their weighted sum, and the shared one."""
    router = LinearShape(inputs=width, outputs=sizes.count, bias=False) + function("softmax", sizes.count)
    joined = ElementwiseShape(multiplies=sizes.chosen * width, adds=(sizes.chosen - 1) * width, kept=width)
    shared: Shape | None = None
    if sizes.shared:
        shared = feedforward(width, sizes.shared, style) + added(width)
    if sizes.gated:
        gate = PlainShape(LinearShape(inputs=width, outputs=1, bias=False)) + function("sigmoid", 1)
        assert shared is not None
        shared = shared + gate + ElementwiseShape(multiplies=width)
    one = feedforward(width, sizes.hidden, replace(style, feedforward_bias=False))
    return tree(
        {
            "router": PlainShape(router),
            f"experts, {sizes.chosen} of {sizes.count}": ExpertsShape(
                shape=one, count=sizes.count, chosen=sizes.chosen
            ),
            "sum": joined,
            "shared": shared,
        }
    )


def block(width: Number, style: BlockStyle, mixed: TreeShape, fed: TreeShape) -> TreeShape:
    """Attention and feed-forward, with as many norms as the style has, each added to what came in."""
    norm, residual = NormShape(width=width, norm=style.norm), added(width)
    after = norm if style.norms == 4 else None
    return tree(
        {
            "attention_norm": norm,
            "attention": mixed,
            "attention_after": after,
            "attention_residual": residual,
            "feedforward_norm": norm if style.norms > 1 else None,
            "feedforward": fed,
            "feedforward_after": after,
            "feedforward_residual": residual,
        }
    )
