"""The textbook's modules as shapes."""

from __future__ import annotations

from typing import cast

from torch import nn

from regard.course import FFN, AttentionResidual, DialogueGPT, PatchEmbed, Transformer, VisionTransformer
from regard.course.attention import AttentionHead, MultiHeadedAttention
from regard.layers import shapes
from regard.layers.shapes import LinearShape, Shape, added, function, tree
from regard.layers.softmax_mixer import SoftmaxShape
from regard.pattern import Causal, Full, Pattern

COURSE = (
    *(AttentionHead, MultiHeadedAttention, FFN, AttentionResidual, Transformer),
    *(PatchEmbed, VisionTransformer, DialogueGPT),
)


def shape_of_course(m: nn.Module) -> Shape | None:
    """The shape of a module of the course; None for any other."""
    return _shape(m, Full()) if isinstance(m, COURSE) else None


def _shape(m: nn.Module, pattern: Pattern) -> Shape:  # noqa: PLR0911 - one case per module
    match m:
        case AttentionHead():
            projection = LinearShape(inputs=m.dim, outputs=m.n_hidden)
            mix = SoftmaxShape(heads=1, kv_heads=1, head_width=m.n_hidden, pattern=pattern, cached=False)
            return tree({"W_Q": projection, "W_K": projection, "W_V": projection, "mix": mix})
        case MultiHeadedAttention():
            count = len(m.heads)
            heads = shapes.RepeatedShape(_shape(m.heads[0], pattern), count, beside=True)
            return tree({f"heads ×{count}": heads, "W_O": _linear(m.W_O)})
        case FFN():
            up, down = (_linear(cast(nn.Linear, m[i])) for i in (1, 3))
            gelu = function("gelu", up.outputs, kept=True)
            return tree({"norm": shapes.NormShape(width=m.dim), "up": up, "gelu": gelu, "down": down})
        case AttentionResidual():
            attn, ffn, residual = _shape(m.attn, pattern), _shape(m.ffn, pattern), added(m.ffn.dim)
            return tree({"attn": attn, "attn_residual": residual, "ffn": ffn, "ffn_residual": residual})
        case Transformer():
            return tree({f"layers ×{len(m.layers)}": _shape(m.layers[0], pattern) * len(m.layers)})
        case PatchEmbed():
            return _of_image(m, _patches(m))
        case VisionTransformer():
            return _vision(m)
    return _dialogue(cast(DialogueGPT, m))


def _linear(m: nn.Linear) -> LinearShape:
    return LinearShape(inputs=m.in_features, outputs=m.out_features, bias=m.bias is not None)


def _patches(m: PatchEmbed) -> LinearShape:
    # It mixes pixels into a token, not tokens: as deep as a Linear.
    return LinearShape(inputs=m.nin * m.conv.kernel_size[0] ** 2, outputs=m.conv.out_channels)


def _of_image(m: PatchEmbed, shape: Shape) -> shapes.ImageShape:
    side = m.conv.kernel_size[0]
    return shapes.ImageShape(shape=shape, size=(m.img_size, m.img_size), patch=(side, side))


def _vision(m: VisionTransformer) -> shapes.ImageShape:
    places, dim, head = m.patch_embed.num_patches, m.transformer.dim, cast(nn.Linear, m.head[1])
    placed = added(dim, kept=False) + shapes.WeightsShape(count=(places + 1) * dim)
    parts = {
        "patch_embed": _patches(m.patch_embed),
        "position": placed,
        "transformer": shapes.ClassTokenShape(_shape(m.transformer, Full())),
        "norm": shapes.PerRowShape(shapes.NormShape(width=dim)),
        "head": shapes.PerRowShape(_linear(head)),
    }
    loss = shapes.PerRowShape(shapes.LossShape(classes=head.out_features))
    return _of_image(m.patch_embed, shapes.ModelShape(tree(parts), loss))


def _dialogue(m: DialogueGPT) -> shapes.ModelShape:
    dim, head = m.transformer.dim, cast(nn.Linear, m.head[1])
    parts = {
        "tok_E": shapes.EmbeddingShape(vocab=m.tok_E.num_embeddings, width=dim),
        "pos_E": added(dim, kept=False) + shapes.TableShape(rows=m.max_N, width=dim, limit="max_N"),
        "transformer": _shape(m.transformer, Causal()),
        "norm": shapes.NormShape(width=dim),
        "head": _linear(head),
    }
    return shapes.ModelShape(tree(parts), shapes.LossShape(classes=head.out_features))
