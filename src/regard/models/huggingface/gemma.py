"""Gemma 1, 2 and 3 of transformers (its texts) and our GPT."""

from __future__ import annotations

from dataclasses import replace

from regard.layers import GeGLU, PreNorm, Projections, Rotary, Softmax, SwiGLU, ZeroCentredRMSNorm
from regard.layers.feedforward import FeedForwardPart
from regard.models.gpt import GPTConfig, Head, Untied
from regard.models.huggingface import decoder
from regard.models.huggingface.families import (
    FULL,
    SLIDING,
    Shapes,
    activation_of,
    gated_of,
    kinds_of,
    patterns_of,
    shortest,
    window_of,
)
from regard.models.huggingface.rope import read_rotary, rotary_faults, rotary_of, scaling_of, write_rotary
from regard.models.huggingface.settings import Config, Settings, refuse
from regard.pattern import Causal

SIZES = {"gemma": 16, "gemma2": 4, "gemma3_text": 4}  # kv heads, unless a config says how many
LOCAL, GLOBAL = 10_000.0, 1_000_000.0  # the bases of Gemma 3


def read_gemma(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Gemma 1; `gelu` means its approximation in these configs."""
    sizes = decoder.sizes_of(settings, head_width=256, kv_heads=SIZES["gemma"])
    settings.must(hidden_activation="gelu_pytorch_tanh", use_bidirectional_attention=False)
    part = _feedforward(settings, "hidden_act")
    part = replace(part, tanh=True) if isinstance(part, GeGLU) else part
    position = read_rotary(settings, sizes["context"])
    return GPTConfig(
        **sizes,  # type: ignore[arg-type]
        position=position,
        block=PreNorm(_norm(settings), part, _projections(settings)),
        head=_head(settings, sizes["width"]),
    )


def read_gemma2(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Gemma 2: sandwich norms, soft caps, every other layer with a window."""
    sizes = decoder.sizes_of(settings, head_width=256, kv_heads=SIZES["gemma2"])
    position = read_rotary(settings, sizes["context"])
    usual = [FULL if i % 2 else SLIDING for i in range(sizes["depth"])]
    return _later(settings, sizes, usual, (position, position), caps=(50.0, 30.0))


def read_gemma3(settings: Settings, shapes: Shapes) -> GPTConfig:
    """Gemma 3: the same with norms of queries and keys, and other positions where there is a window."""
    sizes = decoder.sizes_of(settings, head_width=256, kv_heads=SIZES["gemma3_text"])
    one_in = settings.size("sliding_window_pattern", settings.size("_sliding_window_pattern", 6))
    usual = [SLIDING if (i + 1) % one_in else FULL for i in range(sizes["depth"])]
    return _later(settings, sizes, usual, _positions(settings, sizes["context"]), caps=(None, None))


def _positions(settings: Settings, context: int) -> tuple[Rotary, Rotary]:
    """Where layers with a window take positions from, and the others."""
    nested, stretched = settings.inner("rope_parameters") or {}, settings.inner("rope_scaling") or {}
    base, local = settings.number("rope_theta", GLOBAL), settings.number("rope_local_base_freq", LOCAL)
    inner = Settings(nested, f"{settings.family}'s rotary positions")
    near, far = inner.inner(SLIDING) or {}, inner.inner(FULL) or {}
    inner.finish()
    both = (
        rotary_of(settings.family, near, context, local),
        rotary_of(settings.family, {**far, **stretched}, context, base),
    )
    for one in both:
        if one.fraction != 1 or getattr(one.scaling, "truncated", True) is False:
            raise ValueError(f"{settings.family} with rotary positions {one} is not supported")
    return both


def _later(
    settings: Settings,
    sizes: dict[str, int],
    usual: list[str],
    positions: tuple[Rotary, Rotary],
    caps: tuple[float | None, float | None],
) -> GPTConfig:
    settings.must(use_bidirectional_attention=False)
    settings.ignore("hidden_act")  # hidden_activation is what counts
    kinds, norm = settings.words("layer_types") or usual, _norm(settings)
    if len(kinds) != sizes["depth"]:
        raise ValueError(f"{settings.family}: layer_types must be {sizes['depth']} texts, got {len(kinds)}")
    patterns = patterns_of(settings, kinds, settings.size("sliding_window", 4096))
    scale = settings.number("query_pre_attn_scalar", 256) ** -0.5
    mixer = Softmax(scale=scale, softcap=settings.maybe_number("attn_logit_softcapping", caps[0]))
    projections = _projections(settings)
    if settings.family == "Gemma 3":
        projections = replace(projections, head_norm=norm)
    head = replace(
        _head(settings, sizes["width"]), softcap=settings.maybe_number("final_logit_softcapping", caps[1])
    )
    return GPTConfig(
        **sizes,
        pattern=shortest(patterns),  # type: ignore[arg-type]
        mixer=mixer,
        position=shortest([positions[kind == FULL] for kind in kinds]),  # type: ignore[arg-type]
        block=PreNorm(norm, _feedforward(settings, "hidden_activation"), projections, after=norm),
        head=head,
    )


def _feedforward(settings: Settings, name: str) -> FeedForwardPart:
    return gated_of(settings, name, "gelu_pytorch_tanh", settings.size("intermediate_size"))


def _norm(settings: Settings) -> ZeroCentredRMSNorm:
    return ZeroCentredRMSNorm(settings.number("rms_norm_eps", 1e-6))


def _projections(settings: Settings) -> Projections:
    bias = settings.flag("attention_bias", False)
    return Projections(bias, bias)


def _head(settings: Settings, width: int) -> Head:
    return replace(decoder.head_of(settings, tied=True), embed_scale=width**0.5)


def write_gemma(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what Gemma 1 has not."""
    part = config.block.feedforward
    faults = [
        *decoder.softmax_faults(config),
        *rotary_faults(config.position, config.context),
        (config.head.softcap is not None, f"head={config.head}"),
        (any(pattern != Causal() for pattern in config.patterns), f"pattern={config.pattern}"),
        (config.block.projections.head_norm is not None, f"projections={config.block.projections}"),
        (isinstance(part, GeGLU) and not part.tanh, f"feedforward={part}"),
    ]
    refuse("Gemma", [*_faults(config), *faults])
    return _settings(config, "gemma", "Gemma") | write_rotary(_at(config, FULL))


def write_gemma2(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what Gemma 2 has not."""
    faults = [
        *rotary_faults(config.position, config.context),
        (config.block.projections.head_norm is not None, f"projections={config.block.projections}"),
    ]
    refuse("Gemma 2", [*_faults(config), *faults, *_later_faults(config)])
    return _settings(config, "gemma2", "Gemma2") | _later_settings(config) | write_rotary(_at(config, FULL))


def write_gemma3(config: GPTConfig) -> Config:
    """Their config, or a ValueError that names what Gemma 3 has not."""
    near, far = _at(config, SLIDING), _at(config, FULL)
    by_kind = [near if kind == SLIDING else far for kind in kinds_of(config.patterns)]
    whole = all(getattr(one.scaling, "truncated", True) for one in (near, far))
    faults = [
        *(fault for one in config.positions for fault in rotary_faults(one, config.context)),
        (by_kind != list(config.positions) or not whole, f"position={config.position}"),
        (config.block.projections.head_norm != config.block.norm, f"projections={config.block.projections}"),
    ]
    refuse("Gemma 3", [*_faults(config), *faults, *_later_faults(config)])
    nested = {
        kind: {"rope_type": "default", **scaling_of(one), "rope_theta": one.base}
        for kind, one in ((SLIDING, near), (FULL, far))
    }
    rope = {
        "rope_theta": far.base,
        "rope_local_base_freq": near.base,
        "rope_scaling": scaling_of(far) or None,
    }
    said = _settings(config, "gemma3_text", "Gemma3") | _later_settings(config)
    return said | rope | {"rope_parameters": nested, "use_bidirectional_attention": False}


def _at(config: GPTConfig, kind: str) -> Rotary:
    """The positions of the first layer of a kind, or of any where there is none."""
    kinds, positions = kinds_of(config.patterns), config.positions
    found = positions[kinds.index(kind)] if kind in kinds else positions[0] if positions else None
    return found if isinstance(found, Rotary) else Rotary()


def _faults(config: GPTConfig) -> list[tuple[bool, str]]:
    """What no Gemma can say."""
    block, head, one = config.block, config.head, config.block.projections
    part, plain = block.feedforward, replace(head, embed_scale=1.0, softcap=None)
    return [
        (not isinstance(block, PreNorm), f"block={block}"),
        (not isinstance(block.norm, ZeroCentredRMSNorm), f"norm={block.norm}"),
        (not isinstance(part, SwiGLU | GeGLU) or part.bias, f"feedforward={part}"),
        (one.qkv_bias != one.out_bias, f"projections={one}"),
        (plain == Untied(bias=True) or head.embed_scale != config.width**0.5, f"head={head}"),
    ]


def _later_faults(config: GPTConfig) -> list[tuple[bool, str]]:
    mixers, after = set(config.mixers), config.block.after
    scalar = [
        one for one in mixers if isinstance(one, Softmax) and _scalar(one, config.head_size) is not None
    ]
    return [
        (len(mixers) != 1 or len(scalar) != 1, f"mixer={config.mixer}"),
        (after != config.block.norm, f"after={after}"),
        (window_of(config.patterns) == 0, f"pattern={config.pattern}"),
    ]


def _scalar(mixer: Softmax, width: int) -> int | None:
    """The whole number whose root the scores are divided by, where there is one."""
    scale = mixer.scale_of(width)
    found = max(round(scale**-2), 1)
    return found if found**-0.5 == scale else None


def _settings(config: GPTConfig, name: str, title: str) -> Config:
    said = decoder.decoder_settings(config, f"{title}ForCausalLM")
    return said | {
        "model_type": name,
        "rms_norm_eps": config.block.norm.eps,
        "attention_bias": config.block.projections.qkv_bias,
    }


def _later_settings(config: GPTConfig) -> Config:
    mixer = config.mixers[0]
    assert isinstance(mixer, Softmax)
    return {
        "hidden_activation": activation_of(config.block.feedforward),
        "query_pre_attn_scalar": _scalar(mixer, config.head_size),
        "attn_logit_softcapping": mixer.softcap,
        "final_logit_softcapping": config.head.softcap,
        "sliding_window": window_of(config.patterns) or 4096,
        "layer_types": kinds_of(config.patterns),
    }


GEMMA = decoder.family("gemma", "Gemma", read_gemma, write_gemma)
GEMMA2 = decoder.family("gemma2", "Gemma 2", read_gemma2, write_gemma2)
GEMMA3 = decoder.family("gemma3_text", "Gemma 3", read_gemma3, write_gemma3)
