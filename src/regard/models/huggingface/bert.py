"""BERT of transformers, with those of MiniLM's shape, and our Encoder."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from regard.layers import Gelu, LayerNorm, Learned, PostNorm, Softmax
from regard.models.encoder import Encoder, EncoderConfig
from regard.models.huggingface.names import (
    Config,
    WeightMatch,
    pairs,
    read_rows,
    refuse,
    require,
    strip,
    tanh_of,
    trunk_settings,
    write_rows,
)
from regard.pattern import Full

CONSTANTS = ("embeddings.position_ids", "embeddings.token_type_ids")  # saved by older versions
OLD = {".gamma": ".weight", ".beta": ".bias"}  # the norms' first names


def rows(depth: int, types: bool, pooler: bool, head: bool) -> list[WeightMatch]:
    """Our names and theirs."""
    out = [
        WeightMatch("embed.weight", ("embeddings.word_embeddings.weight",)),
        WeightMatch("position.weight", ("embeddings.position_embeddings.weight",)),
        *pairs("input_norm", "embeddings.LayerNorm"),
    ]
    out += [WeightMatch("types.weight", ("embeddings.token_type_embeddings.weight",))] if types else []
    for i in range(depth):
        ours, theirs = f"blocks.{i}", f"encoder.layer.{i}"
        qkv = [f"{theirs}.attention.self.{part}" for part in ("query", "key", "value")]
        out += [
            *pairs(f"{ours}.attention.qkv", *qkv),
            *pairs(f"{ours}.attention.out", f"{theirs}.attention.output.dense"),
            *pairs(f"{ours}.attention_norm", f"{theirs}.attention.output.LayerNorm"),
            *pairs(f"{ours}.feedforward.up", f"{theirs}.intermediate.dense"),
            *pairs(f"{ours}.feedforward.down", f"{theirs}.output.dense"),
            *pairs(f"{ours}.feedforward_norm", f"{theirs}.output.LayerNorm"),
        ]
    out += pairs("pooler", "pooler.dense") if pooler else []
    return out + (pairs("head", "classifier") if head else [])


def read(
    theirs: Config, weights: dict[str, Tensor]
) -> tuple[type[Encoder], EncoderConfig, dict[str, Tensor]]:
    """The model's class, its config and our weights; their attention dropout has no place in our model."""
    require(theirs, "BERT", position_embedding_type="absolute", is_decoder=False, add_cross_attention=False)
    weights = {name: w for name, w in strip(weights, "bert.").items() if name not in CONSTANTS}
    for old, new in OLD.items():
        weights = {
            f"{name.removesuffix(old)}{new}" if name.endswith(old) else name: w for name, w in weights.items()
        }
    head, pooler = weights.get("classifier.weight"), "pooler.dense.weight" in weights
    if head is not None and not pooler:
        raise ValueError("a BERT classifier without a pooler (token by token) is not supported")
    norm = LayerNorm(eps=theirs.get("layer_norm_eps", 1e-12))
    feedforward = Gelu(hidden=theirs["intermediate_size"], tanh=tanh_of(theirs, "hidden_act", "gelu", "BERT"))
    config = EncoderConfig(
        vocab=theirs["vocab_size"],
        context=theirs["max_position_embeddings"],
        types=theirs.get("type_vocab_size", 2),
        classes=None if head is None else len(head),
        depth=theirs["num_hidden_layers"],
        width=theirs["hidden_size"],
        heads=theirs["num_attention_heads"],
        block=PostNorm(norm=norm, feedforward=feedforward),
        pool="class" if pooler else "mean",
        dropout=theirs.get("hidden_dropout_prob", 0.1),
    )
    table = rows(config.depth, config.types > 0, pooler, head is not None)
    return Encoder, config, read_rows(table, weights, "BERT")


def write_config(config: EncoderConfig) -> Config:
    """Their config, or a ValueError that names what BERT has not."""
    block = config.block
    refuse(
        "BERT",
        [
            (not isinstance(block, PostNorm), f"block={block}"),
            (not isinstance(block.norm, LayerNorm), f"norm={block.norm}"),
            (not isinstance(block.feedforward, Gelu), f"feedforward={block.feedforward}"),
            (not isinstance(config.position, Learned), f"position={config.position}"),
            (any(pattern != Full() for pattern in config.patterns), f"pattern={config.pattern}"),
            (any(mixer != Softmax() for mixer in config.mixers), f"mixer={config.mixer}"),
            (config.pool == "mean" and config.classes is not None, "classes on pool='mean'"),
        ],
    )
    return {
        "architectures": ["BertModel" if config.classes is None else "BertForSequenceClassification"],
        "model_type": "bert",
        "vocab_size": config.vocab,
        "max_position_embeddings": config.context,
        "type_vocab_size": max(config.types, 1),
        **trunk_settings(config.trunk, config.classes),
        "pad_token_id": None,
    }


def write_weights(config: EncoderConfig, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Their weights; a model without token types gets one that is zero."""
    ours = dict(ours)
    if config.types == 0:
        ours["types.weight"] = torch.zeros_like(ours["embed.weight"][:1])
    head = config.classes is not None
    theirs = write_rows(rows(config.depth, True, config.pool == "class", head), ours)
    if not head:
        return theirs
    return {name if name.startswith("classifier") else f"bert.{name}": w for name, w in theirs.items()}
