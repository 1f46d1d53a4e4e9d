"""GPT-NeoX of transformers (Pythia too) and our GPT."""

from __future__ import annotations

from regard.layers import Gelu, LayerNorm, Parallel, PreNorm, Projections, Rotary
from regard.models.gpt import GPT, GPTConfig, Tied, Untied
from regard.models.huggingface import decoder
from regard.models.huggingface.families import Family, Shapes, Weights, activation_of, tanh_of
from regard.models.huggingface.names import ByHead, WeightMatch, match, pairs
from regard.models.huggingface.rope import rotary_faults, rotary_of, write_rotary
from regard.models.huggingface.settings import Config, Settings, refuse
from regard.pattern import Causal


def rows(config: GPTConfig) -> list[WeightMatch]:
    """Our names and theirs."""
    out, biased = [match("embed.weight", "embed_in.weight")], config.block.projections.qkv_bias
    for i in range(config.depth):
        ours, theirs = f"blocks.{i}", f"layers.{i}"
        qkv, by_head = f"{theirs}.attention.query_key_value", ByHead(config.heads)
        out += [
            *pairs(f"{ours}.attention_norm", f"{theirs}.input_layernorm"),
            *pairs(f"{ours}.attention.qkv", qkv, arranged=by_head, bias=biased),
            *pairs(f"{ours}.attention.out", f"{theirs}.attention.dense", bias=biased),
            *pairs(f"{ours}.feedforward_norm", f"{theirs}.post_attention_layernorm"),
            *pairs(f"{ours}.feedforward.up", f"{theirs}.mlp.dense_h_to_4h"),
            *pairs(f"{ours}.feedforward.down", f"{theirs}.mlp.dense_4h_to_h"),
        ]
    out += pairs("output_norm", "final_layer_norm")
    return out if isinstance(config.head, Tied) else [*out, match("head.weight", "embed_out.weight")]


def read(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Its attention dropout has no place in our model."""
    settings.ignore("attention_dropout", "classifier_dropout", "is_decoder")
    context, bias = settings.size("max_position_embeddings"), settings.flag("attention_bias", True)
    tanh = tanh_of(settings, "hidden_act", "gelu")
    parallel = settings.flag("use_parallel_residual", True)
    block = (Parallel if parallel else PreNorm)(
        LayerNorm(settings.number("layer_norm_eps", 1e-5)),
        Gelu(hidden=settings.size("intermediate_size"), tanh=tanh),
        Projections(bias, bias),
    )
    return GPTConfig(
        vocab=settings.size("vocab_size"),
        context=context,
        depth=settings.size("num_hidden_layers"),
        width=settings.size("hidden_size"),
        heads=settings.size("num_attention_heads"),
        position=_position(settings, context),
        block=block,
        head=decoder.head_of(settings),
        dropout=settings.number("hidden_dropout", 0.0),
    )


def _position(settings: Settings, context: int) -> Rotary:
    """A quarter of a head turns unless a config says how much."""
    found = settings.inner("rope_scaling") or settings.inner("rope_parameters") or {}
    settings.ignore("rope_parameters")
    base, part = settings.number("rotary_emb_base", 10_000.0), settings.number("rotary_pct", 0.25)
    settings.must(rope_theta=base, partial_rotary_factor=part)  # transformers does not ask for these
    return rotary_of(settings.family, found, context, base, part)


def write(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what GPT-NeoX has not."""
    block, head, size = config.block, config.head, config.head_size
    part, one = block.feedforward, block.projections
    refuse("GPT-NeoX", [
        (not isinstance(block, PreNorm | Parallel), f"block={block}"),
        (not isinstance(block.norm, LayerNorm), f"norm={block.norm}"),
        (not isinstance(part, Gelu) or not part.bias, f"feedforward={part}"),
        *rotary_faults(config.position, config.context, family_turns_part=True),
        (any(pattern != Causal() for pattern in config.patterns), f"pattern={config.pattern}"),
        *decoder.softmax_faults(config),
        (one.qkv_bias != one.out_bias or one.head_norm is not None, f"projections={one}"),
        (config.heads * size != config.width, f"head_width={config.head_width}"),
        (config.kv_heads not in (None, config.heads), f"kv_heads={config.kv_heads}"),
        (head == Untied(bias=True) or not head.plain, f"head={head}"),
    ])  # fmt: skip
    assert isinstance(config.position, Rotary)
    rope, turned = write_rotary(config.position), config.position.fraction
    return {
        "architectures": ["GPTNeoXForCausalLM"],
        "model_type": "gpt_neox",
        "vocab_size": config.vocab,
        "max_position_embeddings": config.context,
        "num_hidden_layers": config.depth,
        "hidden_size": config.width,
        "num_attention_heads": config.heads,
        "intermediate_size": part.hidden_of(config.width),
        "hidden_act": activation_of(part),
        "layer_norm_eps": block.norm.eps,
        "use_parallel_residual": isinstance(block, Parallel),
        "attention_bias": one.qkv_bias,
        "hidden_dropout": config.dropout,
        "attention_dropout": 0.0,
        "tie_word_embeddings": isinstance(head, Tied),
        "bos_token_id": None,
        "eos_token_id": None,
        "rotary_pct": turned,
        "rotary_emb_base": config.position.base,
        "rope_scaling": rope["rope_scaling"],
        "rope_parameters": rope["rope_parameters"] | {"partial_rotary_factor": turned},
    }


def arrive(config: GPTConfig, weights: Weights) -> Weights:
    """Without a tied head that was saved twice."""
    return decoder.once(config, weights, "embed_in.weight", "embed_out.weight")


NEOX = Family(
    "gpt_neox", "GPT-NeoX", GPT, read, write, rows, "gpt_neox.", ("embed_out.",),
    decoder.with_head, (".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"), arrive,
)  # fmt: skip
