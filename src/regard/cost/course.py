"""Rules of the textbook's modules, and of their losses."""

from __future__ import annotations

from typing import Any

from regard.cost.attention import attention, attention_gradient
from regard.cost.blocks import elements, embedding, loss, norm
from regard.cost.dense import convolution, kept, linear, weights
from regard.cost.models import Parts, need_tokens
from regard.cost.result import Cost, Number, changed, together, tree
from regard.cost.setting import Setting
from regard.cost.sight import Sight, sight
from regard.course import FFN, AttentionResidual, DialogueGPT, PatchEmbed, Transformer, VisionTransformer
from regard.course.attention import AttentionHead, MultiHeadedAttention
from regard.layers import LayerNorm
from regard.pattern import Causal, Full, Pattern


def head_rule(
    s: Setting, rows: Number, dim: Number, hidden: Number, seen: Sight, first: bool = False
) -> Cost:
    """Three projections and one head of attention; also the rule by which `executed` counts a head."""
    projection = linear(s, rows, dim, hidden, first=first)
    mix = attention(seen, 1, hidden, hidden, scaled=hidden != 1, biased=False)
    mix += kept(s, rows * hidden)
    if s.training:
        mix += attention_gradient(seen, 1, 1, hidden, hidden, scaled=hidden != 1)
    return together(W_Q=projection, W_K=projection, W_V=projection, mix=mix)


def attention_head(m: AttentionHead, s: Setting, pattern: Pattern = Full()) -> Cost:  # noqa: B008
    """One head."""
    n = need_tokens(s)
    out = head_rule(s, s.batch * n, m.dim, m.n_hidden, sight(s, pattern, n))
    return changed(out, depth=1)


def many_heads(m: MultiHeadedAttention, s: Setting, pattern: Pattern = Full()) -> Cost:  # noqa: B008
    """Heads side by side, and W_O."""
    head = attention_head(m.heads[0], s, pattern)  # type: ignore[arg-type]
    rows = s.batch * need_tokens(s)
    heads = changed(head * len(m.heads), depth=1)
    return tree(
        [
            (f"heads ×{len(m.heads)}", heads),
            ("W_O", linear(s, rows, m.W_O.in_features, m.W_O.out_features)),
        ]
    )


def ffn(m: FFN, s: Setting) -> Cost:
    """LayerNorm, Linear, GELU, Linear."""
    rows, hidden = s.batch * need_tokens(s), m[1].out_features
    return together(
        norm=norm(s, LayerNorm(), rows, m.dim),
        up=linear(s, rows, m.dim, hidden),
        gelu=elements("gelu", rows * hidden) + kept(s, rows * hidden),
        down=linear(s, rows, hidden, m.dim),
    )


def residual(m: AttentionResidual, s: Setting, pattern: Pattern = Full()) -> Cost:  # noqa: B008
    """Attention and FFN, each added to what came in."""
    count = s.batch * need_tokens(s) * m.ffn.dim
    added = Cost(adds=count) + kept(s, count)
    return together(
        attn=many_heads(m.attn, s, pattern), attn_residual=added, ffn=ffn(m.ffn, s), ffn_residual=added
    )


def transformer(m: Transformer, s: Setting, pattern: Pattern = Full()) -> Cost:  # noqa: B008
    """Layers that are all alike."""
    layer: Any = m.layers[0]
    return tree([(f"layers ×{len(m.layers)}", residual(layer, s, pattern) * len(m.layers))])


def patch_embed(m: PatchEmbed, s: Setting, first: bool = True) -> Cost:
    """A convolution whose patches do not overlap."""
    side, conv = m.img_size, m.conv
    taps = m.nin * conv.kernel_size[0] ** 2
    inputs = s.batch * m.nin * side * side
    out = convolution(s, s.batch * m.num_patches, taps, conv.out_channels, inputs=inputs, first=first)
    return changed(out, depth=0)  # it mixes pixels into a token, not tokens


def vision(m: VisionTransformer, s: Setting) -> Cost:
    """Patches, positions, layers, the class token's norm and head."""
    patches, dim = m.patch_embed.num_patches, m.transformer.dim
    inner = Setting(batch=s.batch, tokens=patches + 1, training=s.training, each=s.each)
    placed = Cost(adds=s.batch * patches * dim) + weights(s, (patches + 1) * dim)
    head: Any = m.head[1]
    parts: Parts = [
        ("patch_embed", patch_embed(m.patch_embed, s)),
        ("position", placed),
        ("transformer", transformer(m.transformer, inner)),
        ("norm", norm(s, LayerNorm(), s.batch, dim)),
        ("head", linear(s, s.batch, dim, head.out_features)),
    ]
    return tree([*parts, ("loss", loss(s, s.batch, head.out_features))] if s.training else parts)


def dialogue(m: DialogueGPT, s: Setting) -> Cost:
    """Embeddings, causal layers, a norm and an untied head at every position."""
    n, dim = need_tokens(s), m.transformer.dim
    if isinstance(n, int) and n > m.max_N:
        raise ValueError(f"tokens must be at most max_N={m.max_N}, got tokens={n}")
    rows = s.batch * n
    head: Any = m.head[1]
    parts: Parts = [
        ("tok_E", embedding(s, rows, m.tok_E.num_embeddings, dim)),
        ("pos_E", Cost(adds=rows * dim) + weights(s, m.max_N * dim)),
        ("transformer", transformer(m.transformer, s, Causal())),
        ("norm", norm(s, LayerNorm(), rows, dim)),
        ("head", linear(s, rows, dim, head.out_features)),
    ]
    return tree([*parts, ("loss", loss(s, rows, head.out_features))] if s.training else parts)


COURSE: dict[type, Any] = {
    AttentionHead: attention_head,
    MultiHeadedAttention: many_heads,
    FFN: ffn,
    AttentionResidual: residual,
    Transformer: transformer,
    PatchEmbed: patch_embed,
    VisionTransformer: vision,
    DialogueGPT: dialogue,
}
