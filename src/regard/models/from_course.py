"""A course model's weights in the production model: the same function, run fast."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypedDict, cast

import torch
from torch import Tensor, nn

from regard.course import AttentionResidual, DialogueGPT, Transformer, VisionTransformer
from regard.layers import CourseBlock, Gelu, Stack
from regard.layers.initial import without_memory
from regard.models.gpt import GPT, GPTConfig, Untied
from regard.models.vit import ViT, ViTConfig
from regard.models.weights import place
from regard.pattern import Full, Pattern


def from_course(
    model: Transformer | VisionTransformer | DialogueGPT,
    pattern: Pattern = Full(),  # noqa: B008 - a frozen value
) -> Stack | ViT | GPT:
    """The `Stack`, `ViT` or `GPT` that computes what the course's model computes, in the mode that it is in.

    A course `Transformer` gets its mask when it is called, a `Stack` when it is built: as `pattern`.

    >>> dialogue = DialogueGPT(11, max_N=6, dim=8, attn_dim=4, mlp_dim=16, num_heads=2, num_layers=1)
    >>> tokens = torch.tensor([[0, 3, 7]])
    >>> torch.allclose(from_course(dialogue)(tokens), dialogue(tokens)[0], atol=1e-5)
    True
    """
    if isinstance(model, Transformer):
        build, weights = _stack(model, pattern), _blocks(model)
    elif pattern != Full():
        raise ValueError(f"pattern is for a course Transformer alone, got {pattern=}")
    elif isinstance(model, VisionTransformer):
        build = partial(ViT, _vit_config(model))
        weights = {"class_token": model.cls_token, **_named("patches", model.patch_embed.conv)}
        weights |= _weights(model)
    elif isinstance(model, DialogueGPT):
        build = partial(GPT, _gpt_config(model))
        weights = {"embed.weight": model.tok_E.weight, **_weights(model)}
    else:
        raise ValueError(
            f"model must be a Transformer, VisionTransformer or DialogueGPT, got {type(model).__name__}"
        )
    with without_memory():
        out = build()
    place(out, weights, "the course model")
    return out.train(model.training)


def _stack(model: Transformer, pattern: Pattern) -> Callable[[], Stack | ViT | GPT]:
    sizes = _sizes(model)
    heads, wide = sizes["heads"], sizes["head_width"]
    patterns = [pattern] * sizes["depth"]
    return partial(Stack, patterns, sizes["block"], width=model.dim, heads=heads, head_width=wide)


def _gpt_config(model: DialogueGPT) -> GPTConfig:
    return GPTConfig(
        vocab=model.tok_E.num_embeddings,
        context=model.max_N,
        head=Untied(bias=True),
        **_sizes(model.transformer),
    )


def _vit_config(model: VisionTransformer) -> ViTConfig:
    patches = model.patch_embed
    return ViTConfig(
        image=patches.img_size,
        patch=cast(tuple[int, int], patches.conv.kernel_size),
        channels=patches.nin,
        classes=cast(nn.Linear, model.head[1]).out_features,
        **_sizes(model.transformer),
    )


def _weights(model: VisionTransformer | DialogueGPT) -> dict[str, Tensor]:
    norm, head = model.head
    return {
        "position.weight": model.pos_E.weight,
        **_named("output_norm", norm),
        **_named("head", head),
        **{f"blocks.{name}": weight for name, weight in _blocks(model.transformer).items()},
    }


def _layers(model: Transformer) -> list[AttentionResidual]:
    return [cast(AttentionResidual, layer) for layer in model.layers]


class _CourseSizes(TypedDict):
    depth: int
    width: int
    heads: int
    head_width: int
    block: CourseBlock


def _sizes(model: Transformer) -> _CourseSizes:
    first = _layers(model)[0]
    return {
        "depth": len(model.layers),
        "width": model.dim,
        "heads": len(first.attn.heads),
        "head_width": cast(int, first.attn.heads[0].n_hidden),
        "block": CourseBlock(feedforward=Gelu(hidden=cast(nn.Linear, first.ffn[1]).out_features)),
    }


def _blocks(model: Transformer) -> dict[str, Tensor]:
    weights: dict[str, Tensor] = {}
    for i, layer in enumerate(_layers(model)):
        norm, up, _, down = layer.ffn
        # The fused projection holds all queries, then all keys, then all values, head by head.
        parts = [getattr(head, name) for name in ("W_Q", "W_K", "W_V") for head in layer.attn.heads]
        weights |= {
            f"{i}.attention.qkv.weight": torch.cat([part.weight for part in parts]),
            f"{i}.attention.qkv.bias": torch.cat([part.bias for part in parts]),
            **_named(f"{i}.attention.out", layer.attn.W_O),
            **_named(f"{i}.feedforward_norm", norm),
            **_named(f"{i}.feedforward.up", up),
            **_named(f"{i}.feedforward.down", down),
        }
    return weights


def _named(name: str, module: nn.Module) -> dict[str, Tensor]:
    return {f"{name}.{part}": weight.clone() for part, weight in module.named_parameters()}
