"""BERT of transformers, with those of MiniLM's shape, RoBERTa, and our Encoder."""

from __future__ import annotations

import torch

from regard.layers import Gelu, LayerNorm, Learned, PostNorm, Projections, Softmax
from regard.models.encoder import Encoder, EncoderConfig
from regard.models.huggingface.families import Family, Shapes, Weights, tanh_of, trunk_settings
from regard.models.huggingface.names import Stacked, WeightMatch, match, pairs
from regard.models.huggingface.settings import Config, Settings, refuse
from regard.pattern import Full

CONSTANTS = ("embeddings.position_ids", "embeddings.token_type_ids")  # saved by older versions
TABLE, TYPES = "embeddings.position_embeddings.weight", "embeddings.token_type_embeddings.weight"
# What BERT was pretrained with says more about its pooler than transformers asks.
UNREAD = ("attention_probs_dropout_prob", "classifier_dropout", "directionality", "pooler_fc_size",
          "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
          "tie_word_embeddings")  # fmt: skip
OFFSET = 2  # RoBERTa counts positions from the one behind its padding token, which is 1


def rows(config: EncoderConfig) -> list[WeightMatch]:
    """Our names and theirs, without what is on top."""
    out = [
        match("embed.weight", "embeddings.word_embeddings.weight"),
        match("position.weight", TABLE),
        *pairs("input_norm", "embeddings.LayerNorm"),
    ]
    out += [match("types.weight", TYPES)] if config.types else []
    for i in range(config.depth):
        ours, theirs = f"blocks.{i}", f"encoder.layer.{i}"
        out += [
            *qkv_rows(f"{ours}.attention.qkv", f"{theirs}.attention.self", config.width),
            *pairs(f"{ours}.attention.out", f"{theirs}.attention.output.dense"),
            *pairs(f"{ours}.attention_norm", f"{theirs}.attention.output.LayerNorm"),
            *pairs(f"{ours}.feedforward.up", f"{theirs}.intermediate.dense"),
            *pairs(f"{ours}.feedforward.down", f"{theirs}.output.dense"),
            *pairs(f"{ours}.feedforward_norm", f"{theirs}.output.LayerNorm"),
        ]
    return out


def qkv_rows(ours: str, theirs: str, width: int, bias: bool = True) -> list[WeightMatch]:
    """Query, key and value of attention whose heads have the width together."""
    parts = [f"{theirs}.{part}" for part in ("query", "key", "value")]
    return pairs(ours, *parts, arranged=Stacked((width, width, width)), bias=bias)


def bert_rows(config: EncoderConfig) -> list[WeightMatch]:
    """Those of BERT: a pooler, and a head on it."""
    pooler = pairs("pooler", "pooler.dense") if config.pooler is not None else []
    return rows(config) + pooler + (pairs("head", "classifier") if config.classes is not None else [])


def roberta_rows(config: EncoderConfig) -> list[WeightMatch]:
    """Those of RoBERTa, whose classifier has a pooler of its own."""
    if config.classes is not None:
        return rows(config) + pairs("pooler", "classifier.dense") + pairs("head", "classifier.out_proj")
    return rows(config) + (pairs("pooler", "pooler.dense") if config.pooler is not None else [])


def read_bert(settings: Settings, shapes: Shapes) -> EncoderConfig:
    """The weights tell whether there is a pooler and a classifier."""
    head, pooler = shapes.get("classifier.weight"), "pooler.dense.weight" in shapes
    if head is not None and not pooler:
        raise ValueError("a BERT classifier without a pooler (token by token) is not supported")
    context = settings.size("max_position_embeddings")
    return _read(settings, context, None if head is None else head[0], pooler)


def read_roberta(settings: Settings, shapes: Shapes) -> EncoderConfig:
    """Positions are counted from behind the padding token."""
    head, pooler = shapes.get("classifier.out_proj.weight"), "pooler.dense.weight" in shapes
    if "classifier.weight" in shapes:
        raise ValueError("a RoBERTa classifier without a pooler (token by token) is not supported")
    pad = settings.take("pad_token_id", 1)
    places = settings.size("max_position_embeddings", 512)
    if isinstance(pad, bool) or not isinstance(pad, int) or not 0 <= pad < places - 1:
        raise ValueError(f"RoBERTa: pad_token_id must be below max_position_embeddings - 1, got {pad!r}")
    if shapes.get(TABLE, (places,))[0] != places:
        raise ValueError(f"RoBERTa: {TABLE} has {shapes[TABLE][0]} rows, max_position_embeddings is {places}")
    classes = None if head is None else head[0]
    return _read(settings, places - pad - 1, classes, pooler or head is not None)


def _read(settings: Settings, context: int, classes: int | None, pooler: bool) -> EncoderConfig:
    settings.must(position_embedding_type="absolute", is_decoder=False)
    settings.ignore(*UNREAD)
    tanh = tanh_of(settings, "hidden_act", "gelu")
    norm = LayerNorm(eps=settings.number("layer_norm_eps", 1e-12))
    return EncoderConfig(
        vocab=settings.size("vocab_size"),
        context=context,
        types=settings.size("type_vocab_size", 2),
        classes=classes,
        depth=settings.size("num_hidden_layers"),
        width=settings.size("hidden_size"),
        heads=settings.size("num_attention_heads"),
        block=PostNorm(norm=norm, feedforward=Gelu(hidden=settings.size("intermediate_size"), tanh=tanh)),
        pool="class" if pooler else "mean",
        dropout=settings.number("hidden_dropout_prob", 0.1),
    )


def encoder_faults(config: EncoderConfig) -> list[tuple[bool, str]]:
    """What none of these encoders can say."""
    block = config.block
    part = block.feedforward
    return [
        (not isinstance(block, PostNorm), f"block={block}"),
        (not isinstance(block.norm, LayerNorm), f"norm={block.norm}"),
        (not isinstance(part, Gelu) or not part.bias, f"feedforward={part}"),
        (block.projections != Projections(), f"projections={block.projections}"),
        (block.after is not None, f"after={block.after}"),
        (not isinstance(config.position, Learned), f"position={config.position}"),
        (any(pattern != Full() for pattern in config.patterns), f"pattern={config.pattern}"),
        (any(mixer != Softmax() for mixer in config.mixers), f"mixer={config.mixer}"),
        (config.pool == "mean" and config.classes is not None, "classes on pool='mean'"),
    ]


def write_bert(config: EncoderConfig) -> Config:
    """Their config, or a ValueError that names what BERT has not."""
    refuse("BERT", [*encoder_faults(config), (config.pool not in ("class", "mean"), f"pool={config.pool}")])
    return _settings(config, "Bert", config.context) | {"model_type": "bert", "pad_token_id": None}


def write_roberta(config: EncoderConfig) -> Config:
    """Their config, or a ValueError that names what RoBERTa has not."""
    refuse(
        "RoBERTa", [*encoder_faults(config), (config.pool not in ("class", "mean"), f"pool={config.pool}")]
    )
    said = {"model_type": "roberta", "pad_token_id": OFFSET - 1}
    return _settings(config, "Roberta", config.context + OFFSET) | said


def _settings(config: EncoderConfig, title: str, places: int) -> Config:
    kind = "Model" if config.classes is None else "ForSequenceClassification"
    return {
        "architectures": [f"{title}{kind}"],
        "vocab_size": config.vocab,
        "max_position_embeddings": places,
        "type_vocab_size": max(config.types, 1),
        **trunk_settings(config.trunk),
    }


def arrive(config: EncoderConfig, weights: Weights) -> Weights:
    """Under the names of today."""
    old = {".gamma": ".weight", ".beta": ".bias"}  # the norms' first names
    for end, new in old.items():
        weights = {f"{n.removesuffix(end)}{new}" if n.endswith(end) else n: w for n, w in weights.items()}
    return weights


def arrive_roberta(config: EncoderConfig, weights: Weights) -> Weights:
    """The same, and without the first positions, where no token stands."""
    found = arrive(config, weights)
    return {n: w[-config.context :] if n == TABLE else w for n, w in found.items()}


def leave(config: EncoderConfig, theirs: Weights) -> Weights:
    """A model without token types gets one that is zero."""
    if config.types == 0:
        theirs[TYPES] = torch.zeros_like(theirs[TABLE][:1])
    return theirs


def leave_roberta(config: EncoderConfig, theirs: Weights) -> Weights:
    """The same, and positions where no token stands."""
    empty = theirs[TABLE].new_zeros(OFFSET, config.width)
    return leave(config, theirs) | {TABLE: torch.cat([empty, theirs[TABLE]])}


def bare(config: EncoderConfig) -> bool:
    """Whether it becomes a model without a head."""
    return config.classes is None


BERT = Family(
    "bert", "BERT", Encoder, read_bert, write_bert, bert_rows, "bert.", ("classifier.",), bare, CONSTANTS,
    arrive, leave,
)  # fmt: skip
ROBERTA = Family(
    "roberta", "RoBERTa", Encoder, read_roberta, write_roberta, roberta_rows, "roberta.", ("classifier.",),
    bare, CONSTANTS, arrive_roberta, leave_roberta,
)  # fmt: skip
