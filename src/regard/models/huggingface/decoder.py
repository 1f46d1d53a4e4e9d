"""What decoders like Llama have in common: the names of their weights, and most of their configs."""

from __future__ import annotations

from collections.abc import Callable

import torch

from regard.layers import GeGLU, Gelu, LayerNorm, PreNorm, Softmax, SwiGLU
from regard.models.gpt import GPT, GPTConfig, Head, Tied, Untied
from regard.models.huggingface.families import Family, Shapes, Weights, activation_of
from regard.models.huggingface.names import Stacked, WeightMatch, match, pairs
from regard.models.huggingface.rope import rotary_faults
from regard.models.huggingface.settings import Config, Settings

PREFIX, HEADS = "model.", ("lm_head.",)
# The tables that older versions saved.
CONSTANTS = (".rotary_emb.inv_freq",)


def rows(config: GPTConfig) -> list[WeightMatch]:
    """Our names and theirs."""
    block, norm = config.block, isinstance(config.block.norm, LayerNorm)
    out = [match("embed.weight", "embed_tokens.weight")]
    for i in range(config.depth):
        ours, theirs = f"blocks.{i}", f"layers.{i}"
        sandwich = block.after is not None
        before = "pre_feedforward_layernorm" if sandwich else "post_attention_layernorm"
        out += pairs(f"{ours}.attention_norm", f"{theirs}.input_layernorm", bias=norm)
        out += attention_rows(config, f"{ours}.attention", f"{theirs}.self_attn")
        out += pairs(f"{ours}.feedforward_norm", f"{theirs}.{before}", bias=norm)
        out += feedforward_rows(config, f"{ours}.feedforward", f"{theirs}.mlp")
        if sandwich:
            out += pairs(f"{ours}.attention_after", f"{theirs}.post_attention_layernorm", bias=norm)
            out += pairs(f"{ours}.feedforward_after", f"{theirs}.post_feedforward_layernorm", bias=norm)
    out += pairs("output_norm", "norm", bias=norm)
    return out if isinstance(config.head, Tied) else [*out, match("head.weight", "lm_head.weight")]


def attention_rows(config: GPTConfig, ours: str, theirs: str) -> list[WeightMatch]:
    """Projections, and the norms of queries and keys where there are any."""
    projections, size = config.block.projections, config.head_size
    groups = config.heads if config.kv_heads is None else config.kv_heads
    stacked = Stacked((config.heads * size, groups * size, groups * size))
    qkv = [f"{theirs}.{part}_proj" for part in "qkv"]
    out = pairs(f"{ours}.qkv", *qkv, arranged=stacked, bias=projections.qkv_bias)
    out += pairs(f"{ours}.out", f"{theirs}.o_proj", bias=projections.out_bias)
    if projections.head_norm is not None:
        out += pairs(f"{ours}.query_norm", f"{theirs}.q_norm", bias=False)
        out += pairs(f"{ours}.key_norm", f"{theirs}.k_norm", bias=False)
    return out


def feedforward_rows(config: GPTConfig, ours: str, theirs: str) -> list[WeightMatch]:
    """Two matrices, or three where it is gated."""
    part = config.block.feedforward
    if isinstance(part, Gelu):
        up = pairs(f"{ours}.up", f"{theirs}.c_fc", bias=part.bias)
        return up + pairs(f"{ours}.down", f"{theirs}.c_proj", bias=part.bias)
    hidden = part.hidden_of(config.width)
    both = [f"{theirs}.gate_proj", f"{theirs}.up_proj"]
    gate = pairs(f"{ours}.gate_up", *both, arranged=Stacked((hidden, hidden)), bias=part.bias)
    return gate + pairs(f"{ours}.down", f"{theirs}.down_proj", bias=part.bias)


def sizes_of(
    settings: Settings, head_width: int | None = None, kv_heads: int | None = None
) -> dict[str, int]:
    """The sizes by the names of our config; the defaults are those of a family's heads."""
    width, heads = settings.size("hidden_size"), settings.size("num_attention_heads")
    size = settings.size("head_dim", width // heads if head_width is None else head_width)
    settings.ignore("attention_dropout")
    return {
        "vocab": settings.size("vocab_size"),
        "context": settings.size("max_position_embeddings"),
        "depth": settings.size("num_hidden_layers"),
        "width": width,
        "heads": heads,
        "kv_heads": settings.size("num_key_value_heads", heads if kv_heads is None else kv_heads),
        "head_width": size,
    }


def head_of(settings: Settings, tied: bool = False) -> Head:
    """What makes the logits."""
    return Tied() if settings.flag("tie_word_embeddings", tied) else Untied(bias=False)


def gated_faults(config: GPTConfig) -> list[tuple[bool, str]]:
    """What no decoder with a gated feed-forward can say."""
    part = config.block.feedforward
    return [(not isinstance(part, SwiGLU | GeGLU), f"feedforward={part}"), *decoder_faults(config)]


def decoder_faults(config: GPTConfig) -> list[tuple[bool, str]]:
    """What no decoder with rotary positions can say."""
    head, block = config.head, config.block
    return [
        (not isinstance(block, PreNorm), f"block={block}"),
        *rotary_faults(config.position, config.context),
        (head == Untied(bias=True) or not head.plain, f"head={head}"),
    ]


def softmax_faults(config: GPTConfig) -> list[tuple[bool, str]]:
    """What only the later Gemmas can say."""
    after = config.block.after
    return [
        (any(mixer != Softmax() for mixer in config.mixers), f"mixer={config.mixer}"),
        (after is not None, f"after={after}"),
    ]


def decoder_settings(config: GPTConfig, architecture: str) -> Config:
    """What all of them say in the same words, but for positions."""
    part = config.block.feedforward
    return {
        "architectures": [architecture],
        "vocab_size": config.vocab,
        "max_position_embeddings": config.context,
        "num_hidden_layers": config.depth,
        "hidden_size": config.width,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.heads if config.kv_heads is None else config.kv_heads,
        "head_dim": config.head_size,
        "intermediate_size": part.hidden_of(config.width),
        "hidden_act": activation_of(part),
        "attention_dropout": 0.0,
        "tie_word_embeddings": isinstance(config.head, Tied),
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
    }


def family(
    name: str,
    title: str,
    read: Callable[[Settings, Shapes], GPTConfig],
    write: Callable[[GPTConfig], Config],
) -> Family[GPTConfig]:
    """A family with these names of weights."""
    return Family(name, title, GPT, read, write, rows, PREFIX, HEADS, with_head, CONSTANTS, arrive)


def arrive(config: GPTConfig, weights: Weights) -> Weights:
    """Without a tied head that was saved twice."""
    return once(config, weights, "embed_tokens.weight", "lm_head.weight")


def once(config: GPTConfig, weights: Weights, embed: str, head: str) -> Weights:
    """Without a tied head that was saved twice; one that is another is no tied head."""
    if not isinstance(config.head, Tied) or head not in weights or embed not in weights:
        return weights
    if not torch.equal(weights[head], weights[embed]):
        raise ValueError(f"tie_word_embeddings is set, but {head} and {embed} differ")
    return {name: weight for name, weight in weights.items() if name != head}


def with_head(config: GPTConfig) -> bool:
    """Whether a model of theirs would have no head: ours always has one."""
    return False
