"""Configs by name, so that a price can be asked for without writing one."""

from __future__ import annotations

from collections.abc import Callable

from regard.errors import did_you_mean
from regard.layers import LinearAttention
from regard.layers.attention_shapes import AttentionShape, PooledAttentionShape, WeightlessShape
from regard.layers.feedforward import FeedForwardShape
from regard.layers.image_shapes import ConvolutionShape
from regard.layers.recurrent_shapes import GridRNNShape, RNNShape
from regard.layers.shapes import HasShapes, Shape
from regard.models.bert_gru import BERTGRUConfig
from regard.models.completion import GridCompletionConfig
from regard.models.convnet import ConvNetConfig
from regard.models.encoder import EncoderConfig
from regard.models.gpt import GPTConfig
from regard.models.grid import GridRNNConfig
from regard.models.gru import GRUConfig
from regard.models.huggingface.shapes import BertShape, DecoderShape, ViTShape
from regard.models.mlp import MLPConfig
from regard.models.vit import ViTConfig
from regard.pattern import Causal


def _gpt2(depth: int, width: int, heads: int) -> GPTConfig:
    return GPTConfig(vocab=50_257, context=1024, depth=depth, width=width, heads=heads)


def _bert(depth: int, width: int, heads: int, head: str) -> BertShape:
    backbone = EncoderConfig(vocab=30_522, context=512, types=2, depth=depth, width=width, heads=heads)
    return BertShape(backbone=backbone, head=head)


def _vit(patch: int, depth: int, width: int, heads: int) -> ViTShape:
    backbone = ViTConfig(image=224, patch=patch, depth=depth, width=width, heads=heads)
    return ViTShape(backbone=backbone, labels=1000)


PRESETS: dict[str, Callable[[], HasShapes | Shape]] = {
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
    "vit-small": lambda: ViTConfig(image=28, channels=1, classes=10, patch=4, depth=6, width=128, heads=4),
    "convnet-small": lambda: ConvNetConfig(image=28, classes=10),
    "mlp-small": lambda: MLPConfig(image=28, classes=10),
    "grid-rnn-small": lambda: GridRNNConfig(image=28, classes=10),
    "grid-completion-small": GridCompletionConfig,
    "gpt-small": lambda: GPTConfig(vocab=256, context=256),
    "bert-gru": lambda: BERTGRUConfig(bert=_bert(12, 768, 12, "pooler").backbone),
    "gru-small": lambda: GRUConfig(vocab=8192, context=256),
    "encoder-small": lambda: EncoderConfig(vocab=8192, context=256, classes=2),
    "attention": lambda: AttentionShape(width=512, heads=8),
    "causal-attention": lambda: AttentionShape(width=512, heads=8, pattern=Causal()),
    "linear-attention": lambda: AttentionShape(width=512, heads=8, pattern=Causal(), mixer=LinearAttention()),
    "pooled-attention": lambda: PooledAttentionShape(width=512, head_width=64, value_width=512),
    "weightless-attention": lambda: WeightlessShape(width=512),
    "feedforward": lambda: FeedForwardShape(width=512),
    "rnn": lambda: RNNShape(channels=512, hidden=512),
    "grid-rnn": lambda: GridRNNShape(channels=3, hidden=64),
    "convolution": lambda: ConvolutionShape(inputs=64, outputs=64, kernel=3, padding=1),
}


def preset(name: str) -> HasShapes | Shape:
    """The config of a name, or a ValueError that suggests one.

    >>> preset("gpt2").width
    768
    """
    if name not in PRESETS:
        hint = did_you_mean(name, PRESETS, f"names: {', '.join(PRESETS)}")
        raise ValueError(f"nothing to price is called {name!r}{hint}")
    return PRESETS[name]()
