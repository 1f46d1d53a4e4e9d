"""StarCoder2 of transformers and our GPT."""

from __future__ import annotations

from regard.layers import Gelu, LayerNorm, PreNorm, Projections, Rotary
from regard.models.gpt import GPTConfig
from regard.models.huggingface import decoder
from regard.models.huggingface.families import FULL, SLIDING, Shapes, patterns_of, tanh_of, window_of
from regard.models.huggingface.rope import read_rotary, write_rotary
from regard.models.huggingface.settings import Config, Settings, refuse

# The published models say this too, and transformers does not ask.
UNREAD = ("activation_function", "attention_softmax_in_fp32", "layer_norm_epsilon", "mlp_type", "norm_type",
          "scale_attention_softmax_in_fp32", "scale_attn_weights", "embedding_dropout")  # fmt: skip


def read(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Its attention dropout has no place in our model."""
    settings.ignore(*UNREAD)
    sizes, bias = decoder.sizes_of(settings, kv_heads=2), settings.flag("use_bias", True)
    window = settings.maybe_size("sliding_window")
    tanh = tanh_of(settings, "hidden_act", "gelu_pytorch_tanh")
    block = PreNorm(
        LayerNorm(settings.number("norm_epsilon", 1e-5)),
        Gelu(hidden=settings.size("intermediate_size"), tanh=tanh, bias=bias),
        Projections(bias, bias),
    )
    return GPTConfig(
        **sizes,  # type: ignore[arg-type]
        pattern=patterns_of(settings, [FULL if window is None else SLIDING], window)[0],
        position=read_rotary(settings, sizes["context"]),
        block=block,
        head=decoder.head_of(settings, tied=True),
        dropout=settings.number("residual_dropout", 0.0),
    )


def write(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what StarCoder2 has not."""
    block, window = config.block, window_of(config.patterns)
    part, one = block.feedforward, block.projections
    faults = [
        (not isinstance(block.norm, LayerNorm), f"norm={block.norm}"),
        (not isinstance(part, Gelu), f"feedforward={part}"),
        (window == 0 or len(set(config.patterns)) > 1, f"pattern={config.pattern}"),
        (one != Projections(part.bias, part.bias), f"projections={one}"),
    ]
    refuse("StarCoder2", [*decoder.decoder_faults(config), *decoder.softmax_faults(config), *faults])
    assert isinstance(config.position, Rotary)
    return decoder.decoder_settings(config, "Starcoder2ForCausalLM") | {
        "model_type": "starcoder2",
        "norm_epsilon": block.norm.eps,
        "use_bias": part.bias,
        "sliding_window": window,
        "residual_dropout": config.dropout,
        "embedding_dropout": config.dropout,
        **write_rotary(config.position),
    }


STARCODER2 = decoder.family("starcoder2", "StarCoder2", read, write)
