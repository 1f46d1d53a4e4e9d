"""The rules that our own functions carry: what a call of `attend` or `grid_rnn` costs, however it ran.

A rule reads the arguments of a call, by name, and gives the cost of the call and of its gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import linear_attend
from regard.attention.bias import DistanceBias
from regard.attention.engine import attend
from regard.attention.linear_features import FEATURES, identity
from regard.cost.aten import scaled, sdpa_sight
from regard.cost.attention import (
    attention,
    attention_gradient,
    linear_attention,
    linear_attention_gradient,
)
from regard.cost.course import head_rule
from regard.cost.recurrent import activated, gru_gradient, gru_steps, steps, steps_gradient
from regard.cost.result import Cost
from regard.cost.setting import Setting
from regard.cost.sight import Sight, counted, masked, segmented
from regard.course.attention import AttentionHead, may_attend
from regard.layers import decode_positions, position
from regard.layers.attention import attend_slots
from regard.models.decode import linear_step
from regard.pattern import Blocks, Causal, Full, Pattern, Strided, Windowed, parse
from regard.recurrence import grid_rnn, linear_rnn, rnn
from regard.recurrence.activation import activation_name

Values = dict[str, Any]


@dataclass(frozen=True)
class Called:
    """The cost of one call, and of the gradient through it."""

    forward: Cost
    gradient: Cost = Cost()  # noqa: RUF009 - a frozen value
    pairs_if_dense: int = 0  # what is computed where no fused kernel was seen


def _attend(a: Values) -> Called:
    q, k, v, pattern = a["query"], a["key"], a["value"], a["pattern"]
    (B, H, N, D), (G, M), E = q.shape, k.shape[1:3], v.shape[3]
    if a["segments"] is not None:
        seen = segmented(pattern, a["segments"], N)
    elif pattern.atoms():
        seen = counted(pattern, N, M).times(B)
    else:  # a pattern placed on rows that a cache kept
        seen = masked(pattern.dense(N, M)).times(B)
    scale = scaled(a["scale"], D)
    forward = attention(seen, H, D, E, scaled=scale, biased=a["bias"] is not None)
    return Called(forward, attention_gradient(seen, H, G, D, E, scaled=scale), B * H * N * M)


def _attend_slots(a: Values) -> Called:
    """One step over the slots of a cache: what the mask allows, or every slot."""
    q, k, v, allowed = a["q"], a["key"], a["value"], a["allowed"]
    (B, H, N, D), (G, M), E = q.shape, k.shape[1:3], v.shape[3]
    seen = Sight(N * M, N, M).times(B) if allowed is None else masked(allowed.expand(B, 1, N, M))
    scale = scaled(None, D)
    forward = attention(seen, H, D, E, scaled=scale, biased=a["bias"] is not None)
    return Called(forward, attention_gradient(seen, H, G, D, E, scaled=scale), B * H * N * M)


def _linear_step(a: Values) -> Called:
    (B, H, D), (G, E) = a["q"].shape, a["v"].shape[1:]
    feature = Cost(other={"feature": a["q"].numel() + a["k"].numel()})
    return Called(linear_attention(B, B, 0, H, G, D, E) + feature)


def _linear_attend(a: Values) -> Called:
    q, k, v, segments = a["query"], a["key"], a["value"], a["segments"]
    (B, H, N, _), (G, M), E = q.shape, k.shape[1:3], v.shape[3]
    feature = FEATURES.get(a["feature"], identity) if isinstance(a["feature"], str) else a["feature"]
    D = q.shape[3] if feature in FEATURES.values() else feature(q[:1, :1, :1]).shape[-1]
    queries, keys, runs = B * N, B * M, 0 if a["state"] is not None else B
    if segments is not None:
        real = segments >= 0
        queries, keys = int(real[:, M - N :].sum()), int(real.sum())
        runs = sum(len(row[row >= 0].unique()) for row in segments)
    sizes = (queries, keys, runs, H, G, D, E)
    forward = linear_attention(*sizes)
    if feature is not identity:
        forward += Cost(other={"feature": q.numel() + k.numel()})
    return Called(forward, linear_attention_gradient(*sizes))


def _grid_rnn(a: Values) -> Called:
    (B, rows, cols, c), h, bias = a["x"].shape, len(a["W_in"]), a["b"] is not None
    cells, links = B * rows * cols, (B * rows * (cols - 1), B * (rows - 1) * cols)
    return _recurrence(a, cells, links, c, h, bias)


def _rnn(a: Values) -> Called:
    (B, T, c), h, bias = a["x"].shape, len(a["W_h"]), a.get("b") is not None
    links = B * (T if a["h0"] is not None else T - 1)
    return _recurrence(a, B * T, (links,), c, h, bias)


def _recurrence(a: Values, rows: int, links: tuple[int, ...], c: int, h: int, bias: bool) -> Called:
    function = a.get("activation")
    name = "identity" if function is None else activation_name(function)
    forward = steps(rows, sum(links), c, h, bias)
    forward += activated("activation" if name is None else name, rows * h)
    return Called(forward, steps_gradient(rows, links, c, h, bias, a["x"].requires_grad))


def _gru(a: Values) -> Called:
    """torch's GRU, with its layers and directions; padding that is packed away is not counted."""
    m, x = a["self"], a["input"]
    if isinstance(x, Tensor):
        texts = 1 if x.ndim == 2 else x.shape[0] if m.batch_first else x.shape[1]
    else:  # packed
        x, texts = x.data, int(x.batch_sizes[0])
    rows = x.shape[:-1].numel()
    links = rows if a["hx"] is not None else rows - texts
    sides = 2 if m.bidirectional else 1
    forward, gradient = Cost(), Cost()
    for i in range(m.num_layers):
        inputs = m.input_size if i == 0 else m.hidden_size * sides
        sizes = (rows, links, inputs, m.hidden_size, m.bias)
        forward += gru_steps(*sizes) * sides
        gradient += gru_gradient(*sizes, i > 0 or x.requires_grad) * sides
    return Called(forward, gradient)


def _course_head(a: Values) -> Called:
    head, x = a["self"], a["x"]
    B, T, dim = x.shape
    allowed = may_attend(a["attn_mask"], x)
    seen = Sight(B * T * T, B * T, B * T) if allowed is None else masked(allowed.expand(B, T, T))
    s = Setting(batch=B)
    forward = head_rule(s, B * T, dim, head.n_hidden, seen)
    both = head_rule(Setting(batch=B, training=True), B * T, dim, head.n_hidden, seen, not x.requires_grad)
    return Called(forward, both + forward * -1, B * T * T)


def _sdpa(a: Values) -> Called:
    q, k, v, mask = a["query"], a["key"], a["value"], a.get("attn_mask")
    N, D = q.shape[-2:]
    H, G = (q.shape[-3], k.shape[-3]) if q.ndim > 2 else (1, 1)
    seen = sdpa_sight(N, k.shape[-2], bool(a.get("is_causal", False)), q.shape[:-2].numel() // H)
    scale = scaled(a.get("scale"), D)
    biased = mask is not None and mask.is_floating_point()
    forward = attention(seen, H, D, v.shape[-1], scaled=scale, biased=biased)
    return Called(forward, attention_gradient(seen, H, G, D, v.shape[-1], scaled=scale), seen.pairs * H)


def _flex(a: Values) -> Called:
    """FlexAttention: the cells that its mask allows; what a score_mod adds is not known, so not counted."""
    from torch.nn.attention.flex_attention import create_mask

    q, k, v, block_mask = a["query"], a["key"], a["value"], a["block_mask"]
    (B, H, N, D), (G, M), E = q.shape, k.shape[1:3], v.shape[3]
    if block_mask is None:
        seen = Sight(N * M, N, M).times(B)
        forward = attention(seen, H, D, E, scaled=scaled(a["scale"], D), biased=False)
        return Called(forward, attention_gradient(seen, H, G, D, E, scaled=True), B * H * N * M)
    allowed = create_mask(block_mask.mask_mod, B, H, N, M, device=q.device)
    whole = masked(allowed)  # over batch and heads
    sizes = Sight(whole.pairs, whole.queries, int(allowed.unflatten(1, (G, H // G)).any(2).any(-2).sum()))
    scale = scaled(a["scale"], D)
    forward = attention(sizes, 1, D, E, scaled=scale, biased=False)
    return Called(forward, attention_gradient(sizes, 1, 1, D, E, scaled=scale), B * H * N * M)


def _elements(kind: str) -> Callable[[Values], Called]:
    def rule(a: Values) -> Called:
        x: Tensor = a["input"]
        return Called(Cost(other={kind: x.numel()}), Cost(other={"gradient": x.numel()}))

    return rule


def _constant(a: Values) -> Called:
    """A table that follows from positions alone."""
    return Called(Cost())


Rule = Callable[[Values], Called]


def _by_text(a: Values) -> Called:
    """Attention inside a compiled model, where the pattern is a text."""
    bias = a["slopes"] or None
    return _attend(a | {"pattern": parse(a["pattern"]), "bias": bias, "scale": None})


def _attend_qkv(a: Values) -> Called:
    """Attention straight from the projection (B,N,H+2G,D), over a band or window."""
    B, N, every, D = a["qkv"].shape
    H = a["heads"]
    parts: list[Pattern] = [Strided(back=a["back"])] if a["back"] >= 0 else []
    if a["window"] >= 0:
        parts.append(Windowed(size=a["window"]) if a["causal"] else Blocks(size=a["window"]))
    pattern = parts[0] if parts else Causal() if a["causal"] else Full()
    pattern = pattern & parts[1] if len(parts) > 1 else pattern
    seen, scale = counted(pattern, N, N).times(B), a["scale"] != 1
    gradient = attention_gradient(seen, H, (every - H) // 2, D, D, scaled=scale)
    return Called(attention(seen, H, D, D, scaled=scale, biased=False), gradient)


# Our own operations as the dispatcher knows them; a name with _backward counts the gradient.
OPERATION_RULES: dict[str, Rule] = {"attention_by_text": _by_text, "attend_qkv": _attend_qkv}


def code_rules() -> dict[Any, tuple[str, Rule]]:
    """The rules of Python functions, by their code."""
    rules: dict[Any, tuple[str, Rule]] = {
        attend.__code__: ("attend", _attend),
        linear_attend.__code__: ("linear_attend", _linear_attend),
        grid_rnn.__code__: ("grid_rnn", _grid_rnn),
        linear_rnn.__code__: ("linear_rnn", _rnn),
        rnn.__code__: ("rnn", _rnn),
        nn.GRU.forward.__code__: ("GRU", _gru),
        AttentionHead.forward.__code__: ("AttentionHead", _course_head),
        DistanceBias.dense.__code__: ("positions", _constant),
        position._angles.__code__: ("positions", _constant),
        decode_positions.angles_at.__code__: ("positions", _constant),
        attend_slots.__code__: ("attend_slots", _attend_slots),
        linear_step.__code__: ("linear_step", _linear_step),
    }
    for kind in (position.Natural, position.Scaled, position.Sinusoidal):
        rules[kind.encode.__code__] = ("positions", _constant)
    import sys

    flex = sys.modules.get("torch.nn.attention.flex_attention")
    if flex is not None:
        rules[flex.flex_attention.__code__] = ("flex_attention", _flex)
    return rules


# torch's functions that are counted as a whole, and the names of their arguments.
SDPA = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
FUNCTION_RULES: dict[Any, tuple[str, tuple[str, ...], Rule]] = {
    functional.scaled_dot_product_attention: ("scaled_dot_product_attention", SDPA, _sdpa),
    functional.layer_norm: ("layer_norm", ("input",), _elements("norm")),
    torch.layer_norm: ("layer_norm", ("input",), _elements("norm")),
    functional.rms_norm: ("rms_norm", ("input",), _elements("norm")),
    torch.rms_norm: ("rms_norm", ("input",), _elements("norm")),
    functional.group_norm: ("group_norm", ("input",), _elements("norm")),
    functional.batch_norm: ("batch_norm", ("input",), _elements("norm")),
    functional.cross_entropy: ("cross_entropy", ("input", "target"), _elements("loss")),
}
