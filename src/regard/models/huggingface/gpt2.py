"""GPT-2 of transformers and our GPT."""

from __future__ import annotations

from regard.layers import Gelu, LayerNorm, Learned, PreNorm, Projections
from regard.models.gpt import GPT, GPTConfig, Tied, Untied
from regard.models.huggingface import decoder
from regard.models.huggingface.families import Family, Shapes, Weights, tanh_of
from regard.models.huggingface.names import Transposed, WeightMatch, match, pairs
from regard.models.huggingface.settings import Config, Settings, refuse
from regard.pattern import Causal

UNREAD = ("n_ctx", "embd_pdrop", "attn_pdrop", "reorder_and_upcast_attn", "summary_type", "summary_use_proj",
          "summary_activation", "summary_proj_to_labels", "summary_first_dropout")  # fmt: skip


def rows(config: GPTConfig) -> list[WeightMatch]:
    """Our names and theirs."""
    out = [match("embed.weight", "wte.weight"), match("position.weight", "wpe.weight")]
    turned = Transposed()
    for i in range(config.depth):
        ours, theirs = f"blocks.{i}", f"h.{i}"
        out += [
            *pairs(f"{ours}.attention_norm", f"{theirs}.ln_1"),
            *pairs(f"{ours}.attention.qkv", f"{theirs}.attn.c_attn", arranged=turned),
            *pairs(f"{ours}.attention.out", f"{theirs}.attn.c_proj", arranged=turned),
            *pairs(f"{ours}.feedforward_norm", f"{theirs}.ln_2"),
            *pairs(f"{ours}.feedforward.up", f"{theirs}.mlp.c_fc", arranged=turned),
            *pairs(f"{ours}.feedforward.down", f"{theirs}.mlp.c_proj", arranged=turned),
        ]
    out += pairs("output_norm", "ln_f")
    return out if isinstance(config.head, Tied) else [*out, match("head.weight", "lm_head.weight")]


def read(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Its attention dropout has no place in our model."""
    settings.must(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False)
    settings.ignore(*UNREAD)
    tanh = tanh_of(settings, "activation_function", "gelu_new")
    return GPTConfig(
        vocab=settings.size("vocab_size"),
        context=settings.size("n_positions"),
        depth=settings.size("n_layer"),
        width=settings.size("n_embd"),
        heads=settings.size("n_head"),
        block=PreNorm(
            norm=LayerNorm(eps=settings.number("layer_norm_epsilon", 1e-5)),
            feedforward=Gelu(hidden=settings.maybe_size("n_inner"), tanh=tanh),
        ),
        head=decoder.head_of(settings, tied=True),
        dropout=settings.number("resid_pdrop", 0.1),
    )


def write(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what GPT-2 has not."""
    block, head = config.block, config.head
    part, one = block.feedforward, block.projections
    refuse("GPT-2", [
        (not isinstance(block, PreNorm), f"block={block}"),
        (not isinstance(block.norm, LayerNorm), f"norm={block.norm}"),
        (not isinstance(part, Gelu) or not part.bias, f"feedforward={part}"),
        (not isinstance(config.position, Learned), f"position={config.position}"),
        (any(pattern != Causal() for pattern in config.patterns), f"pattern={config.pattern}"),
        *decoder.softmax_faults(config),
        (one != Projections(), f"projections={one}"),
        (config.heads * config.head_size != config.width, f"head_width={config.head_width}"),
        (config.kv_heads not in (None, config.heads), f"kv_heads={config.kv_heads}"),
        (head == Untied(bias=True) or not head.plain, f"head={head}"),
    ])  # fmt: skip
    assert isinstance(part, Gelu)
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": config.vocab,
        "n_positions": config.context,
        "n_layer": config.depth,
        "n_embd": config.width,
        "n_head": config.heads,
        "n_inner": part.hidden,
        "activation_function": "gelu_new" if part.tanh else "gelu",
        "layer_norm_epsilon": block.norm.eps,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": 0.0,
        "tie_word_embeddings": isinstance(head, Tied),
        "bos_token_id": None,
        "eos_token_id": None,
    }


def arrive(config: GPTConfig, weights: Weights) -> Weights:
    """Without a tied head that was saved twice."""
    return decoder.once(config, weights, "wte.weight", "lm_head.weight")


GPT2 = Family(
    "gpt2", "GPT-2", GPT, read, write, rows, "transformer.", ("lm_head.",), decoder.with_head,
    (".attn.bias", ".attn.masked_bias"), arrive,
)  # fmt: skip
