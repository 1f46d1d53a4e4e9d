"""GPT-2 of transformers and our GPT."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from regard.layers import Gelu, LayerNorm, Learned, PreNorm, Softmax
from regard.models.gpt import GPT, GPTConfig, Tied, Untied
from regard.models.huggingface.names import (
    Config,
    WeightMatch,
    pairs,
    read_rows,
    refuse,
    require,
    strip,
    tanh_of,
    write_rows,
)
from regard.pattern import Causal

# Constants that older versions saved among the weights.
CONSTANTS = (".attn.bias", ".attn.masked_bias")


def rows(depth: int, tied: bool) -> list[WeightMatch]:
    """Our names and theirs."""
    out = [WeightMatch("embed.weight", ("wte.weight",)), WeightMatch("position.weight", ("wpe.weight",))]
    for i in range(depth):
        ours, theirs = f"blocks.{i}", f"h.{i}"
        out += [
            *pairs(f"{ours}.attention_norm", f"{theirs}.ln_1"),
            *pairs(f"{ours}.attention.qkv", f"{theirs}.attn.c_attn", transposed=True),
            *pairs(f"{ours}.attention.out", f"{theirs}.attn.c_proj", transposed=True),
            *pairs(f"{ours}.feedforward_norm", f"{theirs}.ln_2"),
            *pairs(f"{ours}.feedforward.up", f"{theirs}.mlp.c_fc", transposed=True),
            *pairs(f"{ours}.feedforward.down", f"{theirs}.mlp.c_proj", transposed=True),
        ]
    out += pairs("output_norm", "ln_f")
    return out if tied else [*out, WeightMatch("head.weight", ("lm_head.weight",))]


def read(theirs: Config, weights: dict[str, Tensor]) -> tuple[type[GPT], GPTConfig, dict[str, Tensor]]:
    """The model's class, its config and our weights; their attention dropout has no place in our model."""
    require(
        theirs,
        "GPT-2",
        scale_attn_weights=True,
        scale_attn_by_inverse_layer_idx=False,
        add_cross_attention=False,
    )
    weights = {name: w for name, w in strip(weights, "transformer.").items() if not name.endswith(CONSTANTS)}
    tied = theirs.get("tie_word_embeddings", True)
    if tied:
        weights.pop("lm_head.weight", None)  # the embedding itself, saved twice
    norm = LayerNorm(eps=theirs.get("layer_norm_epsilon", 1e-5))
    tanh = tanh_of(theirs, "activation_function", "gelu_new", "GPT-2")
    config = GPTConfig(
        vocab=theirs["vocab_size"],
        context=theirs["n_positions"],
        depth=theirs["n_layer"],
        width=theirs["n_embd"],
        heads=theirs["n_head"],
        block=PreNorm(norm=norm, feedforward=Gelu(hidden=theirs.get("n_inner"), tanh=tanh)),
        head=Tied() if tied else Untied(bias=False),
        dropout=theirs.get("resid_pdrop", 0.1),
    )
    return GPT, config, read_rows(rows(config.depth, tied), weights, "GPT-2")


def write_config(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what GPT-2 has not."""
    block, head = config.block, config.head
    refuse(
        "GPT-2",
        [
            (not isinstance(block, PreNorm), f"block={block}"),
            (not isinstance(block.norm, LayerNorm), f"norm={block.norm}"),
            (not isinstance(block.feedforward, Gelu), f"feedforward={block.feedforward}"),
            (not isinstance(config.position, Learned), f"position={config.position}"),
            (any(pattern != Causal() for pattern in config.patterns), f"pattern={config.pattern}"),
            (any(mixer != Softmax() for mixer in config.mixers), f"mixer={config.mixer}"),
            (config.heads * config.head_size != config.width, f"head_width={config.head_width}"),
            (config.kv_heads not in (None, config.heads), f"kv_heads={config.kv_heads}"),
            (head == Untied(bias=True), f"head={head}"),
        ],
    )
    assert isinstance(block.feedforward, Gelu)
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": config.vocab,
        "n_positions": config.context,
        "n_layer": config.depth,
        "n_embd": config.width,
        "n_head": config.heads,
        "n_inner": block.feedforward.hidden_of(config.width),
        "activation_function": "gelu_new" if block.feedforward.tanh else "gelu",
        "layer_norm_epsilon": block.norm.eps,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": 0.0,
        "tie_word_embeddings": isinstance(head, Tied),
        "bos_token_id": None,
        "eos_token_id": None,
    }


def write_weights(config: GPTConfig, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Their weights."""
    theirs = write_rows(rows(config.depth, isinstance(config.head, Tied)), ours)
    return {name if name.startswith("lm_head") else f"transformer.{name}": w for name, w in theirs.items()}
