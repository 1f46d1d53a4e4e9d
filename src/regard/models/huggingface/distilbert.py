"""DistilBERT of transformers and our Encoder."""

from __future__ import annotations

from regard.layers import Gelu, LayerNorm, PostNorm
from regard.models.encoder import Encoder, EncoderConfig
from regard.models.huggingface.bert import CONSTANTS, arrive, bare, encoder_faults
from regard.models.huggingface.families import Family, Shapes, tanh_of
from regard.models.huggingface.names import Stacked, WeightMatch, match, pairs
from regard.models.huggingface.settings import Config, Settings, refuse
from regard.models.pooling import Pooler

EPS = 1e-12  # of its norms, whatever a config says
UNREAD = ("attention_dropout", "qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds", "tie_weights_",
          "tie_word_embeddings")  # fmt: skip


def rows(config: EncoderConfig) -> list[WeightMatch]:
    """Our names and theirs."""
    stacked = Stacked((config.width,) * 3)
    out = [
        match("embed.weight", "embeddings.word_embeddings.weight"),
        match("position.weight", "embeddings.position_embeddings.weight"),
        *pairs("input_norm", "embeddings.LayerNorm"),
    ]
    for i in range(config.depth):
        ours, theirs = f"blocks.{i}", f"transformer.layer.{i}"
        qkv = [f"{theirs}.attention.{part}_lin" for part in "qkv"]
        out += [
            *pairs(f"{ours}.attention.qkv", *qkv, arranged=stacked),
            *pairs(f"{ours}.attention.out", f"{theirs}.attention.out_lin"),
            *pairs(f"{ours}.attention_norm", f"{theirs}.sa_layer_norm"),
            *pairs(f"{ours}.feedforward.up", f"{theirs}.ffn.lin1"),
            *pairs(f"{ours}.feedforward.down", f"{theirs}.ffn.lin2"),
            *pairs(f"{ours}.feedforward_norm", f"{theirs}.output_layer_norm"),
        ]
    if config.classes is None:
        return out
    return out + pairs("pooler", "pre_classifier") + pairs("head", "classifier")


def read(settings: Settings, shapes: Shapes) -> EncoderConfig:
    """Only its classifier has a pooler; without one the mean of the tokens is taken."""
    settings.ignore(*UNREAD)
    head = shapes.get("classifier.weight")
    if head is not None and "pre_classifier.weight" not in shapes:
        raise ValueError("a DistilBERT classifier without a pooler (token by token) is not supported")
    tanh = tanh_of(settings, "activation", "gelu")
    return EncoderConfig(
        vocab=settings.size("vocab_size"),
        context=settings.size("max_position_embeddings"),
        classes=None if head is None else head[0],
        depth=settings.size("n_layers"),
        width=settings.size("dim"),
        heads=settings.size("n_heads"),
        block=PostNorm(LayerNorm(EPS), Gelu(hidden=settings.size("hidden_dim"), tanh=tanh)),
        pool="mean" if head is None else Pooler("relu"),
        dropout=settings.number("dropout", 0.1),
    )


def write(config: EncoderConfig) -> Config:
    """Their config, or a ValueError that names what DistilBERT has not."""
    part, norm = config.block.feedforward, config.block.norm
    pool = "mean" if config.classes is None else Pooler("relu")
    refuse("DistilBERT", [
        *encoder_faults(config),
        (config.types > 0, f"types={config.types}"),
        (config.pool != pool, f"pool={config.pool!r} with classes={config.classes}"),
        (isinstance(norm, LayerNorm) and norm.eps != EPS, f"norm={norm}"),
    ])  # fmt: skip
    assert isinstance(part, Gelu)
    kind = "Model" if config.classes is None else "ForSequenceClassification"
    return {
        "architectures": [f"DistilBert{kind}"],
        "model_type": "distilbert",
        "vocab_size": config.vocab,
        "max_position_embeddings": config.context,
        "n_layers": config.depth,
        "dim": config.width,
        "n_heads": config.heads,
        "hidden_dim": part.hidden_of(config.width),
        "activation": "gelu_new" if part.tanh else "gelu",
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "pad_token_id": None,
    }


DISTILBERT = Family(
    "distilbert", "DistilBERT", Encoder, read, write, rows, "distilbert.", ("classifier.", "pre_classifier."),
    bare, CONSTANTS, arrive,
)  # fmt: skip
