"""Attention of a transformers model by `attend`: what its interface passes, read and answered or refused."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.bands import looks_back
from regard.hub.anchored import attend_anchored
from regard.hub.arguments import Arguments
from regard.hub.masks import MaskSpec, documents_of
from regard.hub.shifted import attend_shifted
from regard.hub.slots import SlottedKeys, held_keys
from regard.layers.tracing import Trace
from regard.pattern import Causal, Full, Pattern

PATTERN = "regard_pattern"  # the attribute of an attention module that holds what `use` gave it
# What the interface may pass beside tensors, and what changes no result here: the mask says where keys are.
HARMLESS = {
    "position_ids", "cache_position", "use_cache", "output_attentions", "output_hidden_states", "return_dict",
    "output_router_logits", "num_items_in_batch", "sliding_window", "deterministic", "max_length_q",
    "max_length_k", "logits_to_keep", "target_dtype", "kernel_options",
}  # fmt: skip
STATES = ("mamba", "ssm", "lru", "recurrent", "rwkv")  # how configs name what is no attention
LAYERS = ("layer_types", "layers_block_type", "block_types")
PACKED = ("cu_seq_lens_q", "cu_seq_lens_k", "seq_idx")  # said again by position_ids


class Recording(NamedTuple):
    """Where the weights of a run go, and what its attention modules are called."""

    trace: Trace
    names: dict[int, str]


recording: ContextVar[Recording | None] = ContextVar("recording", default=None)


def regard_attention(  # noqa: PLR0913, PLR0917 - the arguments of transformers' attention interface
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: MaskSpec | Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    is_causal: bool | None = None,
    position_bias: Tensor | None = None,
    **kwargs: object,
) -> tuple[Tensor, Tensor | None]:
    """The output (B,N,H,E), and the weights where attention maps were asked for."""
    spec = spec_of(module, query, key, attention_mask, is_causal)
    documents = documents_for(module, spec, query, kwargs)
    wants = recording.get() if not torch.compiler.is_compiling() else None
    returns = bool(kwargs.get("output_attentions")) or wants is not None
    given: Arguments = {
        "scale": scaling, "dropout": dropout, "softcap": softcap, "sinks": s_aux, "return_weights": returns,
    }  # fmt: skip
    bias = position_bias
    if isinstance(attention_mask, Tensor):
        dense = attention_mask[..., : key.shape[2]]
        if dense.dtype == torch.bool:
            given["mask"] = dense
        else:
            bias = dense if bias is None else bias + dense
    if bias is not None:
        given["bias"] = bias.to(query.dtype)
    pattern = pattern_for(module, spec)
    held = held_keys(key)
    check_static(module, attention_mask, query.shape[2], key.shape[2])
    if held is None:
        check_keys(pattern, spec, query, key)
    else:
        check_held(pattern, spec, held)
    if held is not None and held.shift is not None:
        found = attend_shifted(query, key, value, pattern, spec, held, given)
    else:
        found = attend_anchored(query, key, value, pattern, spec, documents, held, given)
    out, weights = found if isinstance(found, tuple) else (found, None)
    if wants is not None and weights is not None:
        name = wants.names.get(id(module), type(module).__name__)
        wants.trace.record(f"{name}.weights", weights)
    return out.transpose(1, 2).contiguous(), weights


def spec_of(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    mask: MaskSpec | Tensor | None,
    is_causal: bool | None,
) -> MaskSpec:
    """The mask as a value; a model that made none is causal where sdpa would take it so."""
    if isinstance(mask, MaskSpec):
        return mask
    N, M = query.shape[2], key.shape[2]
    if mask is not None:  # it says all, but where its queries stand
        return MaskSpec(Full(), M - N, 0, M)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if causal and N > 1 and N != M:
        raise ValueError(
            f"{type(module).__name__} is causal and made no mask, so that nothing says where {N} queries "
            f"stand among {M} keys"
        )
    return MaskSpec(Causal() if causal and N > 1 else Full(), M - N, 0, M)


def documents_for(
    module: nn.Module, spec: MaskSpec, query: Tensor, kwargs: dict[str, object]
) -> Tensor | None:
    """The packed documents (B,N), from the mask or the positions; ValueError for what is not understood."""
    documents = spec.documents
    alone = spec.start == 0 and spec.keys == query.shape[2]
    if documents is None and alone:
        documents = documents_of(kwargs.get("position_ids"), spec.real)
        if documents is None and spec.causal:
            documents = spec.unsaid
        elif documents is None and spec.unsaid is not None:
            raise ValueError(
                f"{type(module).__name__} does not get position_ids from its model, so that packed documents "
                "would see each other: give each document a row of its own"
            )
    for name, value in kwargs.items():
        if value is None or value is False or name in HARMLESS:
            continue
        if name in PACKED and documents is not None:
            continue
        hint = "; documents packed in a row are told apart by position_ids" if name in PACKED else ""
        raise ValueError(
            f'attn_implementation="regard" does not know {name}, which {type(module).__name__} passes{hint}'
        )
    if documents is not None and (other := mixes_otherwise(getattr(module, "config", None))) is not None:
        raise ValueError(
            f"{type(module).__name__} is of a model that also mixes tokens by {other}, which knows nothing "
            "of packed documents: give each document a row of its own"
        )
    return None if documents is None else documents.to(query.device).expand(query.shape[0], -1)


def mixes_otherwise(config: object) -> str | None:
    """By what else than attention a model mixes tokens, as its config calls it; None where by nothing.

    >>> from types import SimpleNamespace as Config
    >>> mixes_otherwise(Config(layer_types=["full_attention", "linear_attention"]))
    'linear_attention'
    >>> mixes_otherwise(Config(mamba_d_state=16)), mixes_otherwise(Config(hidden_size=8))
    ('mamba_d_state', None)
    """
    named = [name for name in getattr(config, "__dict__", {}) if name.startswith(STATES)]
    kinds = [
        str(kind) for field in LAYERS for kind in getattr(config, field, None) or () if _is_state(str(kind))
    ]
    return next(iter([*kinds, *named]), None)


def _is_state(kind: str) -> bool:
    return kind.startswith((*STATES, "linear", "conv"))


def pattern_for(module: nn.Module, spec: MaskSpec) -> Pattern:
    """The pattern that `use` gave the module, never ahead where the model is causal; else the model's own."""
    chosen = getattr(module, PATTERN, None)
    if chosen is None:
        return spec.pattern
    return chosen & Causal() if spec.causal and chosen != Causal() else chosen


def check_keys(pattern: Pattern, spec: MaskSpec, query: Tensor, key: Tensor) -> None:
    """Raise where the cache does not hold what the pattern may look at, or not where the mask says."""
    N, M = query.shape[2], key.shape[2]
    if spec.keys != M:
        raise ValueError(
            f"the mask was made for {spec.keys} keys and {M} came: a PatternCache whose keys the model "
            "changes before attention cannot be followed"
        )
    if pattern != Full() and spec.start + N != spec.first + M:
        raise ValueError(
            f"{pattern} cannot be placed: {N} queries from {spec.start}, {M} keys from {spec.first}"
        )
    if spec.first and pattern != spec.pattern:
        back = looks_back(pattern)
        if back is None or spec.start - back < spec.first:
            raise ValueError(
                f"the cache has dropped the keys before {spec.first}, which {pattern} may look at: "
                "generate with past_key_values=regard.hub.PatternCache(model)"
            )


def check_held(pattern: Pattern, spec: MaskSpec, held: SlottedKeys) -> None:
    """Raise where a bounded cache was made for another pattern, or may have dropped the first of a row."""
    if pattern != held.pattern:
        raise ValueError(
            f"the PatternCache was made for {held.pattern}, the layer has {pattern}: make it after `use`"
        )
    if spec.begins is not None and not pattern.by_distance and int(spec.begins.max()) > held.padding:
        raise ValueError(
            f"rows begin with up to {int(spec.begins.max())} tokens of padding, and {pattern} counts from "
            f"the first real one: PatternCache(model, padding={int(spec.begins.max())}) keeps what it needs"
        )


def check_static(module: nn.Module, mask: object, N: int, M: int) -> None:
    """Raise for a pattern on a dense mask over more keys than queries: it does not say where they stand."""
    if getattr(module, PATTERN, None) is None or not isinstance(mask, Tensor):
        return
    if torch.compiler.is_compiling():
        raise ValueError(
            "a pattern in a model with a mask of its own, as for a window, cannot be compiled: "
            "the compiler does not see what that mask says"
        )
    if N != M:
        raise ValueError(
            f"a pattern needs to know where {N} queries stand among {M} keys, and a dense mask (as of a "
            "static cache) does not say it: generate with past_key_values=regard.hub.PatternCache(model)"
        )
