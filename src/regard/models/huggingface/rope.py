"""Rotary positions in configs of transformers: `rope_parameters`, and `rope_scaling` of before."""

from __future__ import annotations

import math
from collections.abc import Mapping

from regard.layers import DynamicScaling, LinearScaling, Llama3Scaling, Rotary, YarnScaling
from regard.layers.rotary import RotaryScaling
from regard.models.huggingface.settings import Config, Settings

# What such an object may hold; a kind ignores what is another's.
KNOWN = (
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "original_max_position_embeddings",
    "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate", "low_freq_factor",
    "high_freq_factor", "finetuned",
)  # fmt: skip


def read_rotary(settings: Settings, context: int, base: float = 10_000.0) -> Rotary:
    """The positions of a model whose heads turn whole, all layers alike."""
    found = settings.inner("rope_scaling") or settings.inner("rope_parameters") or {}
    settings.ignore("rope_parameters")
    base, part = settings.number("rope_theta", base), settings.number("partial_rotary_factor", 1.0)
    rotary = rotary_of(settings.family, found, context, base, part)
    if rotary.fraction != 1:
        raise ValueError(
            f"{settings.family} with partial_rotary_factor={rotary.fraction} is not supported, only 1"
        )
    return rotary


def rotary_of(
    family: str, given: Mapping[str, object], context: int, base: float, fraction: float = 1.0
) -> Rotary:
    """The positions that one object of settings describes; what it leaves out is as given."""
    inner = Settings(given, f"{family}'s rotary positions")
    inner.ignore(*KNOWN)
    inner.finish()
    kind = inner.word("rope_type", inner.word("type", "default"))
    base, fraction = inner.number("rope_theta", base), inner.number("partial_rotary_factor", fraction)
    return Rotary(base=base, scaling=_scaling(kind, inner, context), fraction=fraction)


def _scaling(kind: str, inner: Settings, context: int) -> RotaryScaling | None:
    if kind == "default":
        return None
    original = inner.size("original_max_position_embeddings", context)
    if kind == "yarn" and inner.take("factor") is None:
        factor = context / original
    elif inner.take("factor") is None:
        raise ValueError(f"{inner.family}: rope_type={kind!r} needs a factor")
    else:
        factor = inner.number("factor", 1.0)
    match kind:
        case "linear":
            return LinearScaling(factor)
        case "dynamic":
            return DynamicScaling(factor, context)
        case "llama3":
            low, high = inner.number("low_freq_factor", 1.0), inner.number("high_freq_factor", 4.0)
            return Llama3Scaling(factor, original, low, high)
        case "yarn":
            fast, slow = inner.number("beta_fast", 32.0), inner.number("beta_slow", 1.0)
            return YarnScaling(
                factor, original, _amplitude(inner, factor), fast or 32.0, slow or 1.0,
                inner.flag("truncate", True),
            )  # fmt: skip
    known = "default, linear, dynamic, llama3, yarn"
    raise ValueError(f"{inner.family}: rope_type={kind!r} is not supported, only {known}")


def _amplitude(inner: Settings, factor: float) -> float | None:
    """What YaRN multiplies by where it is not as usual."""
    if (said := inner.maybe_number("attention_factor")) is not None:
        return said
    above, below = inner.maybe_number("mscale"), inner.maybe_number("mscale_all_dim")
    if not above or not below:
        return None
    log = math.log(factor) if factor > 1 else 0.0
    return (0.1 * above * log + 1) / (0.1 * below * log + 1)


def write_rotary(rotary: Rotary) -> Config:
    """Their fields, as transformers 5 calls them and as versions before did."""
    scaling = scaling_of(rotary)
    theirs = {"rope_type": "default", **scaling, "rope_theta": rotary.base}
    return {"rope_theta": rotary.base, "rope_scaling": scaling or None, "rope_parameters": theirs}


def scaling_of(rotary: Rotary) -> Config:
    """How positions are stretched, in their words; empty where they are not."""
    match rotary.scaling:
        case None:
            return {}
        case LinearScaling(factor):
            return {"rope_type": "linear", "factor": factor}
        case DynamicScaling(factor):
            return {"rope_type": "dynamic", "factor": factor}
        case Llama3Scaling() as one:
            slow = {"low_freq_factor": one.low, "high_freq_factor": one.high}
            return _stretched("llama3", one.factor, one.original) | slow
        case YarnScaling() as one:
            more = {"beta_fast": one.fast, "beta_slow": one.slow}
            said: Config = {} if one.attention is None else {"attention_factor": one.attention}
            whole: Config = {} if one.truncated else {"truncate": False}
            return _stretched("yarn", one.factor, one.original) | more | said | whole


def _stretched(kind: str, factor: float, original: int) -> Config:
    return {"rope_type": kind, "factor": factor, "original_max_position_embeddings": original}


def rotary_faults(rotary: object, context: int, family_turns_part: bool = False) -> list[tuple[bool, str]]:
    """What of a position no config of theirs can say."""
    if not isinstance(rotary, Rotary):
        return [(True, f"position={rotary}")]
    dynamic = isinstance(rotary.scaling, DynamicScaling) and rotary.scaling.original != context
    part = rotary.fraction != 1 and not family_turns_part
    return [(dynamic or part, f"position={rotary} of context={context}")]
