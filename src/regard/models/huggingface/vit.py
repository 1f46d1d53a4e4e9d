"""ViT of transformers and our ViT."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from regard.layers import Gelu, LayerNorm, PreNorm, Softmax
from regard.models.huggingface.names import (
    Config,
    WeightMatch,
    pairs,
    read_rows,
    refuse,
    strip,
    tanh_of,
    trunk_settings,
    write_rows,
)
from regard.models.vit import ViT, ViTConfig
from regard.pattern import Full
from regard.sharing.sizes import pair

TOKEN, TABLE = "embeddings.cls_token", "embeddings.position_embeddings"


def rows(depth: int, head: bool) -> list[WeightMatch]:
    """Our names and theirs."""
    out = [
        WeightMatch("class_token", (TOKEN,)),
        WeightMatch("position.weight", (TABLE,)),
        *pairs("patches", "embeddings.patch_embeddings.projection"),
    ]
    for i in range(depth):
        ours, theirs = f"blocks.{i}", f"encoder.layer.{i}"
        qkv = [f"{theirs}.attention.attention.{part}" for part in ("query", "key", "value")]
        out += [
            *pairs(f"{ours}.attention_norm", f"{theirs}.layernorm_before"),
            *pairs(f"{ours}.attention.qkv", *qkv),
            *pairs(f"{ours}.attention.out", f"{theirs}.attention.output.dense"),
            *pairs(f"{ours}.feedforward_norm", f"{theirs}.layernorm_after"),
            *pairs(f"{ours}.feedforward.up", f"{theirs}.intermediate.dense"),
            *pairs(f"{ours}.feedforward.down", f"{theirs}.output.dense"),
        ]
    out += pairs("output_norm", "layernorm")
    return out + (pairs("head", "classifier") if head else [])


def read(theirs: Config, weights: dict[str, Tensor]) -> tuple[type[ViT], ViTConfig, dict[str, Tensor]]:
    """The model's class, its config and our weights; their attention dropout has no place in our model."""
    weights = strip(weights, "vit.")
    head = weights.get("classifier.weight")
    norm = LayerNorm(eps=theirs.get("layer_norm_eps", 1e-12))
    feedforward = Gelu(hidden=theirs["intermediate_size"], tanh=tanh_of(theirs, "hidden_act", "gelu", "ViT"))
    config = ViTConfig(
        image=pair("image_size", theirs["image_size"], 1),
        patch=pair("patch_size", theirs["patch_size"], 1),
        channels=theirs.get("num_channels", 3),
        classes=None if head is None else len(head),
        depth=theirs["num_hidden_layers"],
        width=theirs["hidden_size"],
        heads=theirs["num_attention_heads"],
        block=PreNorm(norm=norm, feedforward=feedforward),
        dropout=theirs.get("hidden_dropout_prob", 0.0),
    )
    table = rows(config.depth, head is not None)
    if not theirs.get("qkv_bias", True):
        absent = [name for row in table if row.ours.endswith("qkv.bias") for name in row.theirs]
        weights |= {name: torch.zeros(config.width) for name in absent if name not in weights}
    ours = read_rows(table, weights, "ViT")
    # Their class token has a position, ours has it built in.
    at_class, ours["position.weight"] = ours["position.weight"][0, :1], ours["position.weight"][0, 1:]
    ours["class_token"] = ours["class_token"] + at_class
    return ViT, config, ours


def write_config(config: ViTConfig) -> Config:
    """Their config, or a ValueError that names what their ViT has not."""
    block = config.block
    refuse(
        "ViT",
        [
            (not isinstance(block, PreNorm), f"block={block}"),
            (not isinstance(block.norm, LayerNorm), f"norm={block.norm}"),
            (not isinstance(block.feedforward, Gelu), f"feedforward={block.feedforward}"),
            (any(pattern != Full() for pattern in config.patterns), f"pattern={config.pattern}"),
            (any(mixer != Softmax() for mixer in config.mixers), f"mixer={config.mixer}"),
            (config.heads * config.head_size != config.width, f"head_width={config.head_width}"),
            (config.pool != "class", f"pool={config.pool!r}"),
        ],
    )
    (rows_, cols), (high, wide) = pair("image", config.image, 1), pair("patch", config.patch, 1)
    return {
        "architectures": ["ViTModel" if config.classes is None else "ViTForImageClassification"],
        "model_type": "vit",
        "image_size": rows_ if rows_ == cols else [rows_, cols],
        "patch_size": high if high == wide else [high, wide],
        "num_channels": config.channels,
        **trunk_settings(config.trunk, config.classes),
        "qkv_bias": True,
    }


def write_weights(config: ViTConfig, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Their weights; our class token holds its position, so theirs is zero."""
    table = ours["position.weight"]
    ours = {**ours, "position.weight": torch.cat([torch.zeros_like(table[:1]), table])[None]}
    head = config.classes is not None
    theirs = write_rows(rows(config.depth, head), ours)
    if not head:
        return theirs
    return {name if name.startswith("classifier") else f"vit.{name}": w for name, w in theirs.items()}
