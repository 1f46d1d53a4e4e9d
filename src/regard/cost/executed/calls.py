"""The rules that our own functions carry: what a call of `attend` or `grid_rnn` costs, however it ran.

A rule reads the arguments of a call, by name, and gives the cost of the call and of its gradient.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import CodeType
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import linear_attend, pooled_attend, self_attend
from regard.attention.bias import DistanceBias
from regard.attention.engine import attend_projection, run
from regard.attention.linear.features import FEATURES, identity
from regard.attention.problem import Problem
from regard.cost.attention import (
    attention,
    attention_gradient,
    linear_attention,
    linear_attention_gradient,
    pooled,
    weightless,
)
from regard.cost.dense import linear, linear_gradient
from regard.cost.executed.aten import Arguments, scaled, sdpa_pairs
from regard.cost.pair_counts import PairCounts, counted, masked, segmented
from regard.cost.recurrent import activated, gru_gradient, gru_steps, steps, steps_gradient
from regard.cost.result import Cost
from regard.cost.setting import Setting
from regard.course.attention import AttentionHead, may_attend
from regard.layers import position, rotary
from regard.layers.attention_shapes import PooledAttentionShape, WeightlessShape
from regard.layers.linear_mixer import StateMemory
from regard.layers.norms import OnePlusNorm
from regard.layers.shapes import Shape
from regard.pattern import parse
from regard.recurrence import grid_rnn, linear_rnn, rnn
from regard.recurrence.activation import activation_name


@dataclass(frozen=True)
class Called:
    """The cost of one call, and of the gradient through it."""

    forward: Cost
    gradient: Cost = Cost()  # noqa: RUF009 - a frozen value
    pairs_if_dense: int = 0  # what is computed where no fused kernel was seen


def _run(a: Arguments) -> Called:
    """Attention as the engine is asked for it, by a caller, a layer or a step of decoding."""
    problem: Problem = a["problem"]
    pattern, (B, H, N, D), (G, M) = problem.pattern, problem.query.shape, problem.key.shape[1:3]
    apart = problem.mask is not None or problem.slots is not None or problem.offset is not None
    if apart or not pattern.atoms():
        allowed = problem.allowed()
        if allowed.shape[1] > 1:  # heads differ, so that all of them are counted as if they were one's pairs
            H, G = 1, 1
        seen = masked(allowed.expand(B, -1, N, M))
    elif problem.segments is not None:
        seen = segmented(pattern, *problem.segments)
    else:
        seen = counted(pattern, N, M).times(B)
    sizes, dense = (H, G, D, problem.value.shape[3]), B * problem.query.shape[1] * N * M
    scaled, biased = problem.scale != 1, problem.bias is not None
    return _softmax(seen, sizes, scaled, biased, dense, capped=problem.softcap is not None)


def _softmax(
    seen: PairCounts,
    sizes: tuple[int, int, int, int],
    scaled: bool,
    biased: bool = False,
    dense: int = 0,
    *,
    capped: bool = False,
) -> Called:
    """Attention with sizes (heads, groups, width, value width)."""
    H, G, D, E = sizes
    forward = attention(seen, H, D, E, scaled=scaled, biased=biased, capped=capped)
    return Called(forward, attention_gradient(seen, H, G, D, E, scaled=scaled), dense)


def _linear_step(a: Arguments) -> Called:
    (B, H, D), (G, E) = a["q"].shape, a["v"].shape[1:]
    feature = Cost(other={"feature": a["q"].numel() + a["k"].numel()})
    decays = a["self"].decay is not None
    return Called(linear_attention(B, B, 0, H, G, D, E, decays=decays) + feature)


def _linear_attend(a: Arguments) -> Called:
    q, k, v, segments = a["query"], a["key"], a["value"], a["segments"]
    (B, H, N, _), (G, M), E = q.shape, k.shape[1:3], v.shape[3]
    feature = FEATURES.get(a["feature"], identity) if isinstance(a["feature"], str) else a["feature"]
    D = q.shape[3] if feature in FEATURES.values() else feature(q[:1, :1, :1]).shape[-1]
    queries, keys, runs = B * N, B * M, 0 if a["state"] is not None else B
    if segments is not None:
        real = segments >= 0
        queries, keys = int(real[:, M - N :].sum()), int(real.sum())
        runs = sum(len(row[row >= 0].unique()) for row in segments)
    sizes, decays = (queries, keys, runs, H, G, D, E), a["decay"] is not None
    forward = linear_attention(*sizes, decays=decays)
    if feature is not identity:
        forward += Cost(other={"feature": q.numel() + k.numel()})
    return Called(forward, linear_attention_gradient(*sizes, decays=decays))


def _grid_rnn(a: Arguments) -> Called:
    (B, rows, cols, c), h, bias = a["x"].shape, len(a["W_in"]), a["b"] is not None
    cells, links = B * rows * cols, (B * rows * (cols - 1), B * (rows - 1) * cols)
    return _recurrence(a, cells, links, c, h, bias)


def _rnn(a: Arguments) -> Called:
    (B, T, c), h, bias = a["x"].shape, len(a["W_h"]), a.get("b") is not None
    links = B * (T if a["h0"] is not None else T - 1)
    return _recurrence(a, B * T, (links,), c, h, bias)


def _recurrence(a: Arguments, rows: int, links: tuple[int, ...], c: int, h: int, bias: bool) -> Called:
    function = a.get("activation")
    name = "identity" if function is None else activation_name(function)
    forward = steps(rows, sum(links), c, h, bias)
    forward += activated("activation" if name is None else name, rows * h)
    return Called(forward, steps_gradient(rows, links, c, h, bias, a["x"].requires_grad))


def _gru(a: Arguments) -> Called:
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


def _weightless(a: Arguments) -> Called:
    """The lectures' self-attention: every pair."""
    x = a["x"]
    s = Setting(batch=x.shape[:-2].numel(), tokens=x.shape[-2])
    return _ruled(weightless, WeightlessShape(width=x.shape[-1], scale=a["scale"]), s)


def _pooled(a: Arguments) -> Called:
    """The course sheet's attention, in either arrangement."""
    x, (head, width), values = a["x"], a["W_q"].shape, len(a["W_v"])
    s = Setting(batch=x.shape[:-2].numel(), tokens=x.shape[-2])
    sizes = {"width": width, "head_width": head, "value_width": values}
    return _ruled(pooled, PooledAttentionShape(**sizes, arrangement=a["arrangement"]), s)


def _ruled(rule: Callable[[AnyShape, Setting], Cost], shape: AnyShape, s: Setting) -> Called:
    """What the rule of a shape says of one call, and of its gradient."""
    forward = rule(shape, s)
    trained = rule(shape, replace(s, training=True))
    return Called(forward, trained + forward * -1, forward.pairs)


def _course_head(a: Arguments) -> Called:
    head, x = a["self"], a["x"]
    B, T, dim = x.shape
    allowed = may_attend(a["attn_mask"], x)
    seen = PairCounts(B * T * T, B * T, B * T) if allowed is None else masked(allowed.expand(B, T, T))
    D, scale = head.n_hidden, scaled(None, head.n_hidden)
    forward = linear(Setting(), B * T, dim, D) * 3 + attention(seen, 1, D, D, scaled=scale, biased=False)
    gradient = linear_gradient(B * T, dim, D, True, x.requires_grad) * 3
    return Called(forward, gradient + attention_gradient(seen, 1, 1, D, D, scaled=scale), B * T * T)


def _sdpa(a: Arguments) -> Called:
    q, k, v, mask = a["query"], a["key"], a["value"], a.get("attn_mask")
    N, D = q.shape[-2:]
    H, G = (q.shape[-3], k.shape[-3]) if q.ndim > 2 else (1, 1)
    seen = sdpa_pairs(N, k.shape[-2], bool(a.get("is_causal", False)), q.shape[:-2].numel() // H)
    scale, biased = scaled(a.get("scale"), D), mask is not None and mask.is_floating_point()
    return _softmax(seen, (H, G, D, v.shape[-1]), scale, biased, seen.pairs * H)


def _flex(a: Arguments) -> Called:
    """FlexAttention: the cells that its mask allows; what a score_mod adds is not known, so not counted."""
    from torch.nn.attention.flex_attention import create_mask

    q, k, v, block_mask = a["query"], a["key"], a["value"], a["block_mask"]
    (B, H, N, D), (G, M), E = q.shape, k.shape[1:3], v.shape[3]
    scale = scaled(a["scale"], D)
    if block_mask is None:
        seen = PairCounts(N * M, N, M).times(B)
        return _softmax(seen, (H, G, D, E), scale, dense=B * H * N * M)
    allowed = create_mask(block_mask.mask_mod, B, H, N, M, device=q.device)
    keys = int(allowed.unflatten(1, (G, H // G)).any(2).any(-2).sum())
    seen = replace(masked(allowed), keys=keys)  # over batch and heads
    return _softmax(seen, (1, 1, D, E), scale, dense=B * H * N * M)


def _elements(kind: str) -> Callable[[Arguments], Called]:
    def rule(a: Arguments) -> Called:
        x: Tensor = a["input"]
        return Called(Cost(other={kind: x.numel()}), Cost(other={"gradient": x.numel()}))

    return rule


def _constant(a: Arguments) -> Called:
    """A table that follows from positions alone."""
    return Called(Cost())


Rule = Callable[[Arguments], Called]
AnyShape = TypeVar("AnyShape", bound=Shape)


def _operation(a: Arguments) -> Called:
    """Attention inside a compiled model, where the pattern is a text."""
    from regard.attention.operation import INPUTS, problem_of_operation  # a compiled model has it already

    names = INPUTS.replace("Tensor? ", "").split(", ")
    problem, _ = problem_of_operation(*(a[name.split()[-1]] for name in names))
    return _run({"problem": problem})


def _attend_qkv(a: Arguments) -> Called:
    """Attention straight from the projection (B,N,H+2G,D)."""
    B, N, every, D = a["qkv"].shape
    H = a["heads"]
    seen = counted(parse(a["pattern"]), N, N).times(B)
    return _softmax(seen, (H, (every - H) // 2, D, D), a["scale"] != 1)


def _projection(a: Arguments) -> Called:
    """The same as a layer asks for it."""
    return _attend_qkv(a | {"pattern": str(a["pattern"]), "scale": a["qkv"].shape[3] ** -0.5})


# Our own operations as the dispatcher knows them; a name with _backward counts the gradient.
OPERATION_RULES: dict[str, Rule] = {
    "attend": _operation,
    "attend_qkv": _attend_qkv,
    "linear_attend": lambda a: _linear_attend(a | {"feature": identity, "state": None}),
}


def code_rules() -> dict[CodeType, tuple[str, Rule]]:
    """The rules of Python functions, by their code."""
    rules: dict[CodeType, tuple[str, Rule]] = {
        run.__code__: ("attend", _run),
        attend_projection.__code__: ("attend", _projection),
        linear_attend.__code__: ("linear_attend", _linear_attend),
        grid_rnn.__code__: ("grid_rnn", _grid_rnn),
        linear_rnn.__code__: ("linear_rnn", _rnn),
        rnn.__code__: ("rnn", _rnn),
        nn.GRU.forward.__code__: ("GRU", _gru),
        self_attend.__code__: ("self_attend", _weightless),
        pooled_attend.__code__: ("pooled_attend", _pooled),
        AttentionHead.forward.__code__: ("AttentionHead", _course_head),
        DistanceBias.dense.__code__: ("positions", _constant),
        position.angles_at.__code__: ("positions", _constant),
        rotary.Rotary.speeds.__code__: ("positions", _constant),
        rotary.rotation.__code__: ("positions", _constant),
        OnePlusNorm.forward.__code__: ("rms_norm", lambda a: _elements("norm")({"input": a["x"]})),
        StateMemory.step.__code__: ("linear_step", _linear_step),
    }
    for kind in (position.Natural, position.Scaled, position.Sinusoidal):
        rules[kind.encode.__code__] = ("positions", _constant)
    flex = sys.modules.get("torch.nn.attention.flex_attention")
    if flex is not None:
        rules[flex.flex_attention.__code__] = ("flex_attention", _flex)
    return rules


# torch's functions that are counted as a whole, and the names of their arguments.
SDPA = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
FUNCTION_RULES: dict[Callable[..., object], tuple[str, tuple[str, ...], Rule]] = {
    functional.scaled_dot_product_attention: ("scaled_dot_product_attention", SDPA, _sdpa),
    functional.layer_norm: ("layer_norm", ("input",), _elements("norm")),
    torch.layer_norm: ("layer_norm", ("input",), _elements("norm")),
    functional.rms_norm: ("rms_norm", ("input",), _elements("norm")),
    torch.rms_norm: ("rms_norm", ("input",), _elements("norm")),
    functional.group_norm: ("group_norm", ("input",), _elements("norm")),
    functional.batch_norm: ("batch_norm", ("input",), _elements("norm")),
    functional.cross_entropy: ("cross_entropy", ("input", "target"), _elements("loss")),
}
