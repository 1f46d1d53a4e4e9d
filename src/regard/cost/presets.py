"""Configs by name, so that a price can be asked for without writing one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regard.cost.huggingface import BertShape, DecoderShape, ViTShape
from regard.cost.shapes import (
    AttentionShape,
    ConvolutionShape,
    FeedForwardShape,
    GridRNNShape,
    LinearAttentionShape,
    PooledAttentionShape,
    RNNShape,
    WeightlessShape,
)
from regard.errors import did_you_mean
from regard.models import (
    BERTGRUConfig,
    ConvNetConfig,
    EncoderConfig,
    GPTConfig,
    GridCompletionConfig,
    GridRNNConfig,
    GRUConfig,
    MLPConfig,
    ViTConfig,
)
from regard.pattern import Causal


def _gpt2(depth: int, width: int, heads: int) -> GPTConfig:
    return GPTConfig(vocab=50_257, context=1024, depth=depth, width=width, heads=heads)


def _bert(depth: int, width: int, heads: int, head: str) -> BertShape:
    backbone = EncoderConfig(vocab=30_522, context=512, types=2, depth=depth, width=width, heads=heads)
    return BertShape(backbone=backbone, head=head)


def _vit(patch: int, depth: int, width: int, heads: int) -> ViTShape:
    backbone = ViTConfig(image=224, patch=patch, depth=depth, width=width, heads=heads)
    return ViTShape(backbone=backbone, labels=1000)


def _small(classes: int = 10) -> dict[str, Any]:
    return {"image": 28, "channels": 1, "classes": classes}


PRESETS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: _gpt2(12, 768, 12),
    "gpt2-medium": lambda: _gpt2(24, 1024, 16),
    "gpt2-large": lambda: _gpt2(36, 1280, 20),
    "gpt2-xl": lambda: _gpt2(48, 1600, 25),
    "bert-base": lambda: _bert(12, 768, 12, "pooler"),
    "bert-base-masked-lm": lambda: _bert(12, 768, 12, "masked-lm"),
    "bert-large": lambda: _bert(24, 1024, 16, "pooler"),
    "vit-b16": lambda: _vit(16, 12, 768, 12),
    "vit-s16": lambda: _vit(16, 12, 384, 6),
    "vit-l16": lambda: _vit(16, 24, 1024, 16),
    "llama-2-7b": lambda: DecoderShape(vocab=32_000, depth=32, width=4096, heads=32, hidden=11_008),
    "llama-3-8b": lambda: DecoderShape(
        vocab=128_256, depth=32, width=4096, heads=32, kv_heads=8, hidden=14_336
    ),
    "vit-small": lambda: ViTConfig(**_small(), patch=4, depth=6, width=128, heads=4),
    "convnet-small": lambda: ConvNetConfig(**_small()),
    "mlp-small": lambda: MLPConfig(**_small()),
    "grid-rnn-small": lambda: GridRNNConfig(**_small()),
    "grid-completion-small": GridCompletionConfig,
    "gpt-small": lambda: GPTConfig(vocab=256, context=256),
    "bert-gru": lambda: BERTGRUConfig(bert=_bert(12, 768, 12, "pooler").backbone),
    "gru-small": lambda: GRUConfig(vocab=8192, context=256),
    "encoder-small": lambda: EncoderConfig(vocab=8192, context=256, classes=2),
    "attention": lambda: AttentionShape(width=512, heads=8),
    "causal-attention": lambda: AttentionShape(width=512, heads=8, pattern=Causal()),
    "linear-attention": lambda: LinearAttentionShape(width=512, heads=8, feature="elu1"),
    "pooled-attention": lambda: PooledAttentionShape(width=512, head_width=64, value_width=512),
    "weightless-attention": lambda: WeightlessShape(width=512),
    "feedforward": lambda: FeedForwardShape(width=512),
    "rnn": lambda: RNNShape(channels=512, hidden=512),
    "grid-rnn": lambda: GridRNNShape(channels=3, hidden=64),
    "convolution": lambda: ConvolutionShape(inputs=64, outputs=64, kernel=3, padding=1),
}


def preset(name: str) -> Any:
    """The config of a name, or a ValueError that suggests one.

    >>> preset("gpt2").width
    768
    """
    if name not in PRESETS:
        hint = did_you_mean(name, PRESETS, f"names: {', '.join(PRESETS)}")
        raise ValueError(f"nothing to price is called {name!r}{hint}")
    return PRESETS[name]()
