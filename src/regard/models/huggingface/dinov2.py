"""DINOv2 of transformers and our ViT."""

from __future__ import annotations

from regard.layers import Gelu, LayerNorm, LayerScale, PreNorm, Projections, SwiGLU
from regard.layers.feedforward import FeedForwardPart
from regard.models.huggingface.bert import qkv_rows
from regard.models.huggingface.families import Family, Shapes, Weights, tanh_of
from regard.models.huggingface.names import Stacked, WeightMatch, match, pairs
from regard.models.huggingface.settings import Config, Settings, refuse
from regard.models.huggingface.vit import (
    NO_QKV_BIAS,
    TOKENS,
    arrive,
    bare,
    embedding_rows,
    image_faults,
    image_of,
    image_settings,
    leave,
)
from regard.models.pooling import ClassAndMean
from regard.models.vit import ViT, ViTConfig

MASK = "embeddings.mask_token"  # for its pretraining alone
UNREAD = ("attention_probs_dropout_prob", "drop_path_rate", "use_mask_token", "apply_layernorm",
          "reshape_hidden_states", "out_features", "out_indices", "_out_features", "_out_indices",
          "stage_names")  # fmt: skip


def rows(config: ViTConfig) -> list[WeightMatch]:
    """Our names and theirs."""
    out, bias, part = embedding_rows(config), config.block.projections.qkv_bias, config.block.feedforward
    hidden = part.hidden_of(config.width)
    for i in range(config.depth):
        ours, theirs = f"blocks.{i}", f"encoder.layer.{i}"
        if isinstance(part, SwiGLU):
            up = pairs(
                f"{ours}.feedforward.gate_up", f"{theirs}.mlp.weights_in", arranged=Stacked((2 * hidden,))
            )
            down = pairs(f"{ours}.feedforward.down", f"{theirs}.mlp.weights_out")
        else:
            up = pairs(f"{ours}.feedforward.up", f"{theirs}.mlp.fc1")
            down = pairs(f"{ours}.feedforward.down", f"{theirs}.mlp.fc2")
        out += [
            *pairs(f"{ours}.attention_norm", f"{theirs}.norm1"),
            *qkv_rows(f"{ours}.attention.qkv", f"{theirs}.attention.attention", config.width, bias),
            *pairs(f"{ours}.attention.out", f"{theirs}.attention.output.dense"),
            match(f"{ours}.attention_after.weight", f"{theirs}.layer_scale1.lambda1"),
            *pairs(f"{ours}.feedforward_norm", f"{theirs}.norm2"),
            *up,
            *down,
            match(f"{ours}.feedforward_after.weight", f"{theirs}.layer_scale2.lambda1"),
        ]
    out += pairs("output_norm", "layernorm")
    return out + (pairs("head", "classifier") if config.classes is not None else [])


def read(settings: Settings, shapes: Shapes) -> ViTConfig:
    """A classifier reads the class token and the mean of the patches; without one it is the class token."""
    settings.ignore(*UNREAD)
    head, width = shapes.get("classifier.weight"), settings.size("hidden_size")
    biased = settings.flag("qkv_bias", True)
    block = PreNorm(
        LayerNorm(eps=settings.number("layer_norm_eps", 1e-6)),
        _feedforward(settings, width),
        Projections() if biased else NO_QKV_BIAS,
        after=LayerScale(settings.number("layerscale_value", 1.0)),
    )
    return ViTConfig(
        **image_of(settings, patch=14),  # type: ignore[arg-type]
        classes=None if head is None else head[0],
        depth=settings.size("num_hidden_layers"),
        width=width,
        heads=settings.size("num_attention_heads"),
        block=block,
        pool="class" if head is None else ClassAndMean(),
        dropout=settings.number("hidden_dropout_prob", 0.0),
    )


def _feedforward(settings: Settings, width: int) -> FeedForwardPart:
    ratio = settings.number("mlp_ratio", 4)
    if settings.flag("use_swiglu_ffn", False):
        settings.ignore("hidden_act")
        return SwiGLU(hidden=gated_width(width, ratio), bias=True)
    return Gelu(hidden=int(width * ratio), tanh=tanh_of(settings, "hidden_act", "gelu"))


def gated_width(width: int, ratio: float) -> int:
    """Two thirds of the middle, rounded up to a multiple of 8."""
    return (int(int(width * ratio) * 2 / 3) + 7) // 8 * 8


def write(config: ViTConfig) -> Config:
    """Their config, or a ValueError that names what DINOv2 has not."""
    block, part = config.block, config.block.feedforward
    pool, ratio = "class" if config.classes is None else ClassAndMean(), _ratio(part, config.width)
    can = isinstance(part, Gelu | SwiGLU) and part.bias and ratio is not None
    refuse("DINOv2", [
        *image_faults(config),
        (not can, f"feedforward={part}"),
        (not isinstance(block.after, LayerScale), f"after={block.after}"),
        (config.pool != pool, f"pool={config.pool!r} with classes={config.classes}"),
    ])  # fmt: skip
    assert isinstance(block.after, LayerScale)
    return image_settings(config, "dinov2", "Dinov2") | {
        "num_hidden_layers": config.depth,
        "hidden_size": config.width,
        "num_attention_heads": config.heads,
        "mlp_ratio": ratio,
        "hidden_act": "gelu_new" if isinstance(part, Gelu) and part.tanh else "gelu",
        "use_swiglu_ffn": isinstance(part, SwiGLU),
        "layer_norm_eps": block.norm.eps,
        "layerscale_value": block.after.initial,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": 0.0,
    }


def _ratio(part: FeedForwardPart, width: int) -> int | None:
    """The whole number of widths that gives the middle, where there is one."""
    hidden = part.hidden_of(width)
    made = (lambda r: gated_width(width, r)) if isinstance(part, SwiGLU) else (lambda r: width * r)
    return next((r for r in range(1, 2 * hidden // width + 2) if made(r) == hidden), None)


def arrive_dinov2(config: ViTConfig, weights: Weights) -> Weights:
    """What pretraining alone needs stays behind."""
    return arrive(config, {name: weight for name, weight in weights.items() if name != MASK})


def leave_dinov2(config: ViTConfig, theirs: Weights) -> Weights:
    """A mask token that nobody trained is zero."""
    return leave(config, theirs) | {MASK: theirs[TOKENS[0]].new_zeros(1, config.width)}


DINOV2 = Family(
    "dinov2", "DINOv2", ViT, read, write, rows, "dinov2.", ("classifier.",), bare, (), arrive_dinov2,
    leave_dinov2,
)  # fmt: skip
