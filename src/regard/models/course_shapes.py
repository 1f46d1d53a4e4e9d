"""The textbook's modules as shapes."""

from __future__ import annotations

from typing import cast

from torch import nn

from regard.course import FFN, AttentionResidual, DialogueGPT, PatchEmbed, Transformer, VisionTransformer
from regard.course.attention import AttentionHead, MultiHeadedAttention
from regard.layers.attention_shapes import SoftmaxShape
from regard.layers.shapes import (
    BesideShape,
    ClassTokenShape,
    EmbeddingShape,
    ImageShape,
    LinearShape,
    LossShape,
    ModelShape,
    NormShape,
    PerRowShape,
    Shape,
    TableShape,
    TreeShape,
    WeightsShape,
    added,
    function,
    tree,
)
from regard.pattern import Causal, Full, Pattern


def shape_of_course(m: nn.Module) -> Shape | None:  # noqa: PLR0911 - one case per module
    """The shape of a module of the course; None for any other."""
    match m:
        case AttentionHead():
            return _head(m, Full())
        case MultiHeadedAttention():
            return _heads(m, Full())
        case FFN():
            return _ffn(m)
        case AttentionResidual():
            return _residual(m, Full())
        case Transformer():
            return _transformer(m, Full())
        case PatchEmbed():
            return _of_image(m, _patches(m))
        case VisionTransformer():
            return _vision(m)
        case DialogueGPT():
            return _dialogue(m)
    return None


def _head(m: AttentionHead, pattern: Pattern) -> TreeShape:
    projection = LinearShape(inputs=m.dim, outputs=m.n_hidden)
    mix = SoftmaxShape(heads=1, kv_heads=1, head_width=m.n_hidden, pattern=pattern, cached=False)
    return tree({"W_Q": projection, "W_K": projection, "W_V": projection, "mix": mix})


def _heads(m: MultiHeadedAttention, pattern: Pattern) -> TreeShape:
    heads = BesideShape(_head(cast(AttentionHead, m.heads[0]), pattern), len(m.heads))
    return tree({f"heads ×{len(m.heads)}": heads, "W_O": _linear(m.W_O)})


def _ffn(m: FFN) -> TreeShape:
    up, down = cast(nn.Linear, m[1]), cast(nn.Linear, m[3])
    gelu = function("gelu", up.out_features, kept=True)
    return tree({"norm": NormShape(width=m.dim), "up": _linear(up), "gelu": gelu, "down": _linear(down)})


def _residual(m: AttentionResidual, pattern: Pattern) -> TreeShape:
    residual = added(m.ffn.dim)
    attn = _heads(m.attn, pattern)
    return tree({"attn": attn, "attn_residual": residual, "ffn": _ffn(m.ffn), "ffn_residual": residual})


def _transformer(m: Transformer, pattern: Pattern) -> TreeShape:
    layer = _residual(cast(AttentionResidual, m.layers[0]), pattern)
    return tree({f"layers ×{len(m.layers)}": layer * len(m.layers)})


def _patches(m: PatchEmbed) -> LinearShape:
    # It mixes pixels into a token, not tokens: as deep as a Linear.
    return LinearShape(inputs=m.nin * m.conv.kernel_size[0] ** 2, outputs=m.conv.out_channels)


def _of_image(m: PatchEmbed, shape: Shape) -> ImageShape:
    side = m.conv.kernel_size[0]
    return ImageShape(shape=shape, size=(m.img_size, m.img_size), patch=(side, side))


def _vision(m: VisionTransformer) -> ImageShape:
    places, dim, head = m.patch_embed.num_patches, m.transformer.dim, cast(nn.Linear, m.head[1])
    placed = added(dim, kept=False) + WeightsShape(count=(places + 1) * dim)
    parts = {
        "patch_embed": _patches(m.patch_embed),
        "position": placed,
        "transformer": ClassTokenShape(_transformer(m.transformer, Full())),
        "norm": PerRowShape(NormShape(width=dim)),
        "head": PerRowShape(_linear(head)),
    }
    loss = PerRowShape(LossShape(classes=head.out_features))
    return _of_image(m.patch_embed, ModelShape(tree(parts), loss))


def _dialogue(m: DialogueGPT) -> ModelShape:
    dim, head = m.transformer.dim, cast(nn.Linear, m.head[1])
    parts = {
        "tok_E": EmbeddingShape(vocab=m.tok_E.num_embeddings, width=dim),
        "pos_E": added(dim, kept=False) + TableShape(rows=m.max_N, width=dim, limit="max_N"),
        "transformer": _transformer(m.transformer, Causal()),
        "norm": NormShape(width=dim),
        "head": _linear(head),
    }
    return ModelShape(tree(parts), LossShape(classes=head.out_features))


def _linear(m: nn.Linear) -> LinearShape:
    return LinearShape(inputs=m.in_features, outputs=m.out_features, bias=m.bias is not None)
