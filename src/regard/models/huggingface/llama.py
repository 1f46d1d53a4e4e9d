"""Llama, SmolLM, Mistral, Qwen2 and Qwen3 of transformers and our GPT."""

from __future__ import annotations

from regard.layers import PreNorm, Projections, RMSNorm, Rotary
from regard.layers.feedforward import FeedForwardPart
from regard.models.gpt import GPTConfig
from regard.models.huggingface import decoder
from regard.models.huggingface.families import (
    FULL,
    SLIDING,
    Shapes,
    gated_of,
    kinds_of,
    patterns_of,
    shortest,
    window_of,
)
from regard.models.huggingface.rope import read_rotary, write_rotary
from regard.models.huggingface.settings import Config, Settings, refuse
from regard.pattern import Causal, Pattern

NO_BIAS = Projections(qkv_bias=False, out_bias=False)


def read_llama(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Llama 1 to 3.2, and SmolLM, which is one."""
    settings.must(rope_interleaved=False)
    settings.ignore("pretraining_tp", "is_llama_config")
    bias = settings.flag("attention_bias", False)
    feedforward = _feedforward(settings, settings.flag("mlp_bias", False))
    return _config(settings, decoder.sizes_of(settings), Projections(bias, bias), feedforward, Causal())


def read_mistral(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Mistral, whose layers all have the window or none."""
    settings.ignore("attention_bias", "mlp_bias")  # it has none, whatever they say
    sizes = decoder.sizes_of(settings, kv_heads=8)
    window = 4096 if "sliding_window" not in settings.data else settings.maybe_size("sliding_window")
    settings.ignore("sliding_window")
    pattern = patterns_of(settings, [FULL if window is None else SLIDING], window)[0]
    return _config(settings, sizes, NO_BIAS, _feedforward(settings), pattern)


def read_qwen2(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Qwen2, with biases on queries, keys and values alone."""
    settings.must(use_mrope=False)
    settings.ignore("attention_bias", "mlp_bias")
    sizes = decoder.sizes_of(settings, kv_heads=32)
    pattern = _windows(settings, sizes["depth"])
    return _config(settings, sizes, Projections(out_bias=False), _feedforward(settings), pattern)


def read_qwen3(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Qwen3, which norms queries and keys."""
    bias = settings.flag("attention_bias", False)
    sizes = decoder.sizes_of(settings, head_width=128, kv_heads=32)
    projections = Projections(bias, bias, RMSNorm(settings.number("rms_norm_eps", 1e-6)))
    return _config(settings, sizes, projections, _feedforward(settings), _windows(settings, sizes["depth"]))


def _feedforward(settings: Settings, bias: bool = False) -> FeedForwardPart:
    return gated_of(settings, "hidden_act", "silu", settings.size("intermediate_size"), bias)


def _windows(settings: Settings, depth: int) -> Pattern | tuple[Pattern, ...]:
    """What each layer of a Qwen sees: those from `max_window_layers` on have the window, if it is used."""
    window = settings.size("sliding_window", 4096) if settings.flag("use_sliding_window", False) else None
    first = settings.take("max_window_layers", 28)
    kinds = settings.words("layer_types")
    settings.ignore("sliding_window")
    if kinds is None:
        assert isinstance(first, int)
        kinds = [FULL if window is None or i < first else SLIDING for i in range(depth)]
    if len(kinds) != depth:
        raise ValueError(f"{settings.family}: layer_types must be {depth} texts, got {len(kinds)}")
    return shortest(patterns_of(settings, kinds, window))  # type: ignore[return-value]


def _config(
    settings: Settings,
    sizes: dict[str, int],
    projections: Projections,
    feedforward: FeedForwardPart,
    pattern: Pattern | tuple[Pattern, ...],
) -> GPTConfig:
    norm = RMSNorm(settings.number("rms_norm_eps", 1e-6))
    return GPTConfig(
        **sizes,  # type: ignore[arg-type]
        pattern=pattern,
        position=read_rotary(settings, sizes["context"]),
        block=PreNorm(norm, feedforward, projections),
        head=decoder.head_of(settings),
    )


def write_llama(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what Llama has not."""
    block, projections = config.block, config.block.projections
    _refuse("Llama", config, [
        (any(pattern != Causal() for pattern in config.patterns), f"pattern={config.pattern}"),
        (projections not in (NO_BIAS, Projections()), f"projections={projections}"),
    ])  # fmt: skip
    said = {"attention_bias": projections.qkv_bias, "mlp_bias": block.feedforward.bias, "pretraining_tp": 1}
    return _settings(config, "llama", "Llama") | said


def write_mistral(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what Mistral has not."""
    window, projections = window_of(config.patterns), config.block.projections
    _refuse("Mistral", config, [
        (window == 0 or len(set(config.patterns)) > 1, f"pattern={config.pattern}"),
        (projections != NO_BIAS, f"projections={projections}"),
        (config.block.feedforward.bias, f"feedforward={config.block.feedforward}"),
    ])  # fmt: skip
    return _settings(config, "mistral", "Mistral") | {"sliding_window": window}


def write_qwen2(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what Qwen2 has not."""
    return _write_qwen(config, "qwen2", "Qwen2", config.block.projections == Projections(out_bias=False))


def write_qwen3(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what Qwen3 has not."""
    one = config.block.projections
    can = one.qkv_bias == one.out_bias and one.head_norm == config.block.norm
    return _write_qwen(config, "qwen3", "Qwen3", can) | {"attention_bias": one.qkv_bias}


def _write_qwen(config: GPTConfig, name: str, title: str, can: bool) -> Config:
    window = window_of(config.patterns)
    _refuse(title, config, [
        (window == 0, f"pattern={config.pattern}"),
        (not can, f"projections={config.block.projections}"),
        (config.block.feedforward.bias, f"feedforward={config.block.feedforward}"),
    ])  # fmt: skip
    said = {"use_sliding_window": window is not None, "sliding_window": window}
    kinds = kinds_of(config.patterns)
    first = kinds.index(SLIDING) if SLIDING in kinds else config.depth
    return _settings(config, name, title) | said | {"layer_types": kinds, "max_window_layers": first}


def _refuse(title: str, config: GPTConfig, faults: list[tuple[bool, str]]) -> None:
    norm = config.block.norm
    own = [(not isinstance(norm, RMSNorm), f"norm={norm}"), *faults]
    refuse(title, [*decoder.gated_faults(config), *decoder.softmax_faults(config), *own])


def _settings(config: GPTConfig, name: str, title: str) -> Config:
    assert isinstance(config.position, Rotary)
    said = {"model_type": name, "rms_norm_eps": config.block.norm.eps, **write_rotary(config.position)}
    return decoder.decoder_settings(config, f"{title}ForCausalLM") | said


LLAMA = decoder.family("llama", "Llama", read_llama, write_llama)
MISTRAL = decoder.family("mistral", "Mistral", read_mistral, write_mistral)
QWEN2 = decoder.family("qwen2", "Qwen2", read_qwen2, write_qwen2)
QWEN3 = decoder.family("qwen3", "Qwen3", read_qwen3, write_qwen3)
