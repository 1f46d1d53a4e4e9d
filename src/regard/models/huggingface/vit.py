"""ViT and DeiT of transformers and our ViT."""

from __future__ import annotations

import torch

from regard.layers import Gelu, LayerNorm, PreNorm, Projections, Softmax
from regard.models.huggingface.bert import qkv_rows
from regard.models.huggingface.families import Family, Shapes, Weights, tanh_of, trunk_settings
from regard.models.huggingface.names import Batched, WeightMatch, match, pairs
from regard.models.huggingface.settings import Config, Settings, refuse
from regard.models.pooling import ACTIVATIONS, Distilled, Pooler, ViTPool, special_tokens
from regard.models.vit import ViT, ViTConfig
from regard.pattern import Full
from regard.sharing.sizes import pair

TABLE = "embeddings.position_embeddings"
TOKENS = ("embeddings.cls_token", "embeddings.distillation_token")
NO_QKV_BIAS = Projections(qkv_bias=False)


def embedding_rows(config: ViTConfig) -> list[WeightMatch]:
    """Special tokens, positions and patches."""
    ours = ("class_token", "distillation_token")[: special_tokens(config.pool)]
    tokens = [match(mine, theirs) for mine, theirs in zip(ours, TOKENS, strict=False)]
    table = WeightMatch("position.weight", (TABLE,), Batched())
    return [*tokens, table, *pairs("patches", "embeddings.patch_embeddings.projection")]


def rows(config: ViTConfig) -> list[WeightMatch]:
    """Our names and theirs, without what is on top."""
    out, bias = embedding_rows(config), config.block.projections.qkv_bias
    for i in range(config.depth):
        ours, theirs = f"blocks.{i}", f"encoder.layer.{i}"
        out += [
            *pairs(f"{ours}.attention_norm", f"{theirs}.layernorm_before"),
            *qkv_rows(f"{ours}.attention.qkv", f"{theirs}.attention.attention", config.width, bias),
            *pairs(f"{ours}.attention.out", f"{theirs}.attention.output.dense"),
            *pairs(f"{ours}.feedforward_norm", f"{theirs}.layernorm_after"),
            *pairs(f"{ours}.feedforward.up", f"{theirs}.intermediate.dense"),
            *pairs(f"{ours}.feedforward.down", f"{theirs}.output.dense"),
        ]
    out += pairs("pooler", "pooler.dense") if isinstance(config.pool, Pooler) else []
    return out + pairs("output_norm", "layernorm")


def vit_rows(config: ViTConfig) -> list[WeightMatch]:
    """Those of ViT."""
    return rows(config) + (pairs("head", "classifier") if config.classes is not None else [])


def deit_rows(config: ViTConfig) -> list[WeightMatch]:
    """Those of DeiT, with one head or two."""
    if config.pool == Distilled(heads=2):
        heads = pairs("head", "cls_classifier") + pairs("distillation_head", "distillation_classifier")
        return rows(config) + heads
    return vit_rows(config)


def read_vit(settings: Settings, shapes: Shapes) -> ViTConfig:
    """Only a model without a classifier has a pooler."""
    pool = _pool(settings, shapes)
    return _read(settings, shapes.get("classifier.weight"), "class" if pool is None else pool)


def read_deit(settings: Settings, shapes: Shapes) -> ViTConfig:
    """The weights tell how many heads there are."""
    if _pool(settings, shapes) is not None:
        raise ValueError("a DeiT with a pooler is not supported: drop=['pooler.'] leaves its features")
    both = shapes.get("cls_classifier.weight")
    if both is not None:
        return _read(settings, both, Distilled(heads=2))
    return _read(settings, shapes.get("classifier.weight"), Distilled())


def _pool(settings: Settings, shapes: Shapes) -> Pooler | None:
    activation, width = settings.word("pooler_act", "tanh"), settings.maybe_size("pooler_output_size")
    if "pooler.dense.weight" not in shapes:
        return None
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise ValueError(f"{settings.family} with pooler_act={activation!r} is not supported, only {known}")
    return Pooler(activation, None if width == settings.size("hidden_size") else width)


def image_of(settings: Settings, patch: int = 16) -> dict[str, object]:
    """Image, patch and channels by the names of our config."""
    return {
        "image": settings.sides("image_size", 224),
        "patch": settings.sides("patch_size", patch),
        "channels": settings.size("num_channels", 3),
    }


def _read(settings: Settings, head: tuple[int, ...] | None, pool: ViTPool) -> ViTConfig:
    settings.ignore("attention_probs_dropout_prob", "encoder_stride")
    tanh, biased = tanh_of(settings, "hidden_act", "gelu"), settings.flag("qkv_bias", True)
    return ViTConfig(
        **image_of(settings),  # type: ignore[arg-type]
        classes=None if head is None else head[0],
        depth=settings.size("num_hidden_layers"),
        width=settings.size("hidden_size"),
        heads=settings.size("num_attention_heads"),
        block=PreNorm(
            LayerNorm(eps=settings.number("layer_norm_eps", 1e-12)),
            Gelu(hidden=settings.size("intermediate_size"), tanh=tanh),
            Projections() if biased else NO_QKV_BIAS,
        ),
        pool=pool,
        dropout=settings.number("hidden_dropout_prob", 0.0),
    )


def image_faults(config: ViTConfig) -> list[tuple[bool, str]]:
    """What none of these can say."""
    block, one = config.block, config.block.projections
    return [
        (not isinstance(block, PreNorm), f"block={block}"),
        (not isinstance(block.norm, LayerNorm), f"norm={block.norm}"),
        (one not in (Projections(), NO_QKV_BIAS), f"projections={one}"),
        (any(pattern != Full() for pattern in config.patterns), f"pattern={config.pattern}"),
        (any(mixer != Softmax() for mixer in config.mixers), f"mixer={config.mixer}"),
        (config.heads * config.head_size != config.width, f"head_width={config.head_width}"),
    ]


def _faults(config: ViTConfig) -> list[tuple[bool, str]]:
    part, after = config.block.feedforward, config.block.after
    plain = isinstance(part, Gelu) and part.bias
    return [*image_faults(config), (not plain, f"feedforward={part}"), (after is not None, f"after={after}")]


def write_vit(config: ViTConfig) -> Config:
    """Their config, or a ValueError that names what their ViT has not."""
    pool = config.pool
    can = pool == "class" or (isinstance(pool, Pooler) and config.classes is None)
    refuse("ViT", [*_faults(config), (not can, f"pool={pool!r}")])
    said = image_settings(config, "vit", "ViT")
    if isinstance(pool, Pooler):
        said |= {"pooler_act": pool.activation, "pooler_output_size": pool.width_of(config.width)}
    return said | trunk_settings(config.trunk)


def write_deit(config: ViTConfig) -> Config:
    """Their config, or a ValueError that names what DeiT has not."""
    refuse("DeiT", [*_faults(config), (not isinstance(config.pool, Distilled), f"pool={config.pool!r}")])
    said = image_settings(config, "deit", "DeiT") | trunk_settings(config.trunk)
    if config.pool == Distilled(heads=2):
        said["architectures"] = ["DeiTForImageClassificationWithTeacher"]
    return said


def image_settings(config: ViTConfig, name: str, title: str) -> Config:
    """What all of them say in the same words."""
    (high, wide), (rows_, cols) = pair("patch", config.patch, 1), pair("image", config.image, 1)
    return {
        "architectures": [f"{title}{'Model' if config.classes is None else 'ForImageClassification'}"],
        "model_type": name,
        "image_size": rows_ if rows_ == cols else [rows_, cols],
        "patch_size": high if high == wide else [high, wide],
        "num_channels": config.channels,
        "qkv_bias": config.block.projections.qkv_bias,
    }


def arrive(config: ViTConfig, weights: Weights) -> Weights:
    """Their special tokens have positions, ours have them built in."""
    names, weights = TOKENS[: special_tokens(config.pool)], dict(weights)
    if TABLE not in weights or not all(name in weights for name in names):
        return weights
    table = weights[TABLE]
    for i, name in enumerate(names):
        weights[name] = weights[name] + table[:, i : i + 1]
    return weights | {TABLE: table[:, len(names) :]}


def leave(config: ViTConfig, theirs: Weights) -> Weights:
    """Our special tokens hold their positions, so theirs are zero."""
    table, count = theirs[TABLE], special_tokens(config.pool)
    return theirs | {TABLE: torch.cat([torch.zeros_like(table[:, :1])] * count + [table], dim=1)}


def bare(config: ViTConfig) -> bool:
    """Whether it becomes a model without a head."""
    return config.classes is None


VIT = Family(
    "vit", "ViT", ViT, read_vit, write_vit, vit_rows, "vit.", ("classifier.",), bare, (), arrive, leave
)
DEIT = Family(
    "deit", "DeiT", ViT, read_deit, write_deit, deit_rows, "deit.",
    ("classifier.", "cls_classifier.", "distillation_classifier."), bare, (), arrive, leave,
)  # fmt: skip
