"""A course model's weights in the production model: the same function, run fast."""

from __future__ import annotations

from typing import TypedDict, cast

import torch
from torch import Tensor, nn

from regard.course import AttentionResidual, DialogueGPT, Transformer, VisionTransformer
from regard.layers import CourseBlock, Gelu, Stack
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
        return _stack(model, pattern).train(model.training)
    if pattern != Full():
        raise ValueError(f"pattern is for a course Transformer alone, got {pattern=}")
    if isinstance(model, VisionTransformer):
        return _vit(model).train(model.training)
    if isinstance(model, DialogueGPT):
        return _gpt(model).train(model.training)
    raise ValueError(
        f"model must be a Transformer, VisionTransformer or DialogueGPT, got {type(model).__name__}"
    )


def _stack(model: Transformer, pattern: Pattern) -> Stack:
    shape = _sizes(model)
    with torch.device("meta"):
        stack = Stack(
            [pattern] * len(model.layers),
            _block(model),
            width=model.dim,
            heads=shape["heads"],
            head_width=shape["head_width"],
        )
    place(stack, _blocks(model), "the course model")
    return stack


def _gpt(model: DialogueGPT) -> GPT:
    config = GPTConfig(
        vocab=model.tok_E.num_embeddings,
        context=model.max_N,
        block=_block(model.transformer),
        head=Untied(bias=True),
        **_sizes(model.transformer),
    )
    norm, head = cast(nn.LayerNorm, model.head[0]), cast(nn.Linear, model.head[1])
    weights = {
        "embed.weight": model.tok_E.weight,
        "position.weight": model.pos_E.weight,
        **_named("output_norm", norm),
        **_named("head", head),
        **{f"blocks.{name}": weight for name, weight in _blocks(model.transformer).items()},
    }
    with torch.device("meta"):
        out = GPT(config)
    place(out, weights, "the course model")
    return out


def _vit(model: VisionTransformer) -> ViT:
    norm, head = cast(nn.LayerNorm, model.head[0]), cast(nn.Linear, model.head[1])
    conv = model.patch_embed.conv
    config = ViTConfig(
        image=model.patch_embed.img_size,
        patch=cast(tuple[int, int], conv.kernel_size),
        channels=model.patch_embed.nin,
        classes=head.out_features,
        block=_block(model.transformer),
        **_sizes(model.transformer),
    )
    weights = {
        "class_token": model.cls_token,
        "position.weight": model.pos_E.weight,
        **_named("patches", conv),
        **_named("output_norm", norm),
        **_named("head", head),
        **{f"blocks.{name}": weight for name, weight in _blocks(model.transformer).items()},
    }
    with torch.device("meta"):
        out = ViT(config)
    place(out, weights, "the course model")
    return out


def _layers(model: Transformer) -> list[AttentionResidual]:
    return [cast(AttentionResidual, layer) for layer in model.layers]


class _Sizes(TypedDict):
    depth: int
    width: int
    heads: int
    head_width: int


def _sizes(model: Transformer) -> _Sizes:
    heads = _layers(model)[0].attn.heads
    return {
        "depth": len(model.layers),
        "width": model.dim,
        "heads": len(heads),
        "head_width": cast(int, heads[0].n_hidden),
    }


def _block(model: Transformer) -> CourseBlock:
    up = cast(nn.Linear, _layers(model)[0].ffn[1])
    return CourseBlock(feedforward=Gelu(hidden=up.out_features))


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
