"""What torch's own operations cost, by the name under which they are dispatched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from torch import Tensor
from torch._ops import OpOverload

from regard.cost.attention import attention, attention_gradient
from regard.cost.dense import convolution_gradient, product
from regard.cost.pair_counts import PairCounts
from regard.cost.result import Cost

Arguments = dict[str, Any]  # by their names in the schema, defaults filled in
AtenRule = Callable[[Arguments, Tensor], Cost]  # of the arguments and what came out


def _words(text: str) -> set[str]:
    return set(text.split())


# Operations that move, choose or make numbers without arithmetic on them; views are free by themselves.
FREE = _words("""
    empty empty_like empty_strided new_empty new_empty_strided zeros zeros_like new_zeros ones ones_like
    new_ones full full_like new_full scalar_tensor arange linspace eye tril triu tril_indices triu_indices
    zero fill copy clone _to_copy detach lift_fresh lift alias contiguous set_ resize item
    _local_scalar_dense cat stack index index_select index_put index_copy index_fill gather scatter take
    masked_fill masked_scatter masked_select where constant_pad_nd pad flip roll repeat repeat_interleave
    unfold_backward slice_backward select_backward slice_scatter select_scatter diagonal_backward
    as_strided_scatter unsafe_split split_with_sizes_copy _unsafe_view _reshape_copy _unsafe_index
    eq ne lt le gt ge isnan isinf isfinite isin equal logical_and logical_or logical_not logical_xor
    bitwise_and bitwise_or bitwise_not bitwise_xor any all nonzero argmax argmin argsort unique _unique2
    unique_consecutive unique_dim bucketize searchsorted bincount one_hot resolve_conj resolve_neg
    reflection_pad1d replication_pad1d _pin_memory is_pinned randperm native_dropout_backward im2col col2im
""")
# Elementwise functions: so many elements of a kind.
BY_KIND = {
    "exp": "exp expm1 exp2",
    "log": "log log2 log10 log1p",
    "root": "sqrt rsqrt",
    "trigonometry": "sin cos tan atan2",
    "clamp": "clamp clamp_min clamp_max maximum minimum fmax fmin",
    "sign": "neg abs sign sgn round floor ceil trunc frac remainder fmod",
    "max": "max min amax amin aminmax topk sort kthvalue median cummax max_pool2d_with_indices "
    "max_pool3d_with_indices adaptive_max_pool2d",
    "random": "rand rand_like randn randn_like normal uniform bernoulli multinomial randint exponential "
    "random",
    "dropout": "native_dropout _fused_dropout",
    "loss": "nll_loss_forward nll_loss2d_forward mse_loss binary_cross_entropy",
    "interpolate": "upsample_bicubic2d upsample_bilinear2d upsample_nearest2d",
    "norm": "var std var_mean std_mean native_group_norm native_layer_norm native_batch_norm _fused_rms_norm "
    "_native_batch_norm_legit _native_batch_norm_legit_functional cudnn_batch_norm linalg_vector_norm",
    "softmax": "_softmax",
    "log_softmax": "_log_softmax logsumexp",
    "relu": "relu leaky_relu",
    "power": "pow square",
    **{name: name for name in ("tanh", "sigmoid", "gelu", "silu", "elu", "softplus", "erf", "reciprocal")},
    "embedding": "embedding",
}
KINDS = {name: kind for kind, names in BY_KIND.items() for name in _words(names)}
# What the gradients of these functions do, element by element.
GRADIENTS = _words("""
    native_layer_norm_backward native_group_norm_backward native_batch_norm_backward _fused_rms_norm_backward
    gelu_backward silu_backward tanh_backward sigmoid_backward threshold_backward elu_backward
    softplus_backward hardtanh_backward leaky_relu_backward _softmax_backward_data
    _log_softmax_backward_data embedding_dense_backward nll_loss_backward nll_loss2d_backward
    mse_loss_backward max_pool2d_with_indices_backward scatter_add cudnn_batch_norm_backward
    upsample_bicubic2d_backward upsample_bilinear2d_backward
""")


def count(name: str, arguments: Arguments, out: Tensor) -> Cost | None:  # noqa: PLR0911 - a list of cases
    """The cost of one operation, or None where there is no rule for it."""
    if name in RULES:
        return RULES[name](arguments, out)
    base = name.removesuffix("_")
    if base in FREE:
        return Cost()
    if base in RULES:
        return RULES[base](arguments, out)
    if base in KINDS:
        size = numbers(arguments.get("self", arguments.get("input", out)))
        return Cost(other={KINDS[base]: numbers(out) if base in _BY_OUTPUT else size})
    if base in GRADIENTS:
        return Cost(other={"gradient": numbers(out)})
    if base.startswith("_scaled_dot_product_"):
        return _fused(arguments, base.endswith("_backward"))
    return None


_BY_OUTPUT = {
    *("embedding", "max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d"),
    *("upsample_bicubic2d", "upsample_bilinear2d", "upsample_nearest2d", "maximum", "minimum"),
}


def numbers(x: object) -> int:
    """How many floating-point numbers a result holds: indices are not arithmetic; of a tuple the first."""
    if isinstance(x, tuple | list):
        return numbers(x[0]) if x else 0
    return x.numel() if isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex()) else 0


def _plus(a: Arguments, out: Tensor) -> Cost:
    alpha = a.get("alpha", 1)
    return Cost(adds=numbers(out), multiplies=numbers(out) if alpha not in (1, -1) else 0)


def _times(a: Arguments, out: Tensor) -> Cost:
    # A factor of exactly 1, written as a number, is no work.
    other = a.get("other")
    return Cost() if isinstance(other, int | float) and other == 1 else Cost(multiplies=numbers(out))


def _sum(a: Arguments, out: Tensor) -> Cost:
    return Cost(adds=numbers(a["self"]) - numbers(out) if numbers(a["self"]) else 0)


def _cumsum(a: Arguments, out: Tensor) -> Cost:
    x, dim = a["self"], a["dim"]
    return Cost(adds=numbers(x) - (numbers(x) // x.shape[dim] if x.ndim and x.shape[dim] else 0))


def _product(name: str, left: str, right: str) -> AtenRule:
    def rule(a: Arguments, out: Tensor) -> Cost:
        x, y = a[left], a[right]
        if not x.is_floating_point():
            return Cost()
        batch = prod(x.shape[:-2]) if x.ndim > 2 else 1
        rows = x.shape[-2] if x.ndim > 1 else 1
        cols = y.shape[-1] if y.ndim > 1 else 1
        cost = product(rows, x.shape[-1], cols, batch)
        if "add" not in name:
            return cost
        beta, alpha = a.get("beta", 1), a.get("alpha", 1)
        added = Cost(adds=out.numel()) if beta != 0 else Cost()
        scaled = out.numel() * ((beta not in (0, 1)) + (alpha != 1))
        return cost + added + Cost(multiplies=scaled)

    return rule


def _convolution(a: Arguments, out: Tensor) -> Cost:
    places, taps, outputs = _geometry(a, out)
    cost = product(places, taps, outputs)
    return cost + Cost(adds=out.numel()) if a["bias"] is not None else cost


def _convolution_backward(a: Arguments, out: Tensor) -> Cost:
    places, taps, outputs = _geometry(a, a["grad_output"])
    needs_input, needs_weight, needs_bias = a["output_mask"]
    whole = convolution_gradient(places, taps, outputs, a["input"].numel(), needs_bias, needs_input)
    if needs_weight:
        return whole
    without = product(outputs, places, taps)
    return whole + without * -1


def _geometry(a: Arguments, out: Tensor) -> tuple[int, int, int]:
    """(places, taps, outputs) of one convolution; transposed ones are seen from their input."""
    weight, side = a["weight"], a["input"] if a["transposed"] else out
    places = side.shape[0] * prod(side.shape[2:])
    return places, prod(weight.shape[1:]), weight.shape[0]


def _addcmul(a: Arguments, out: Tensor) -> Cost:
    return Cost(multiplies=numbers(out) * (1 + (a.get("value", 1) != 1)), adds=numbers(out))


def _rnn_kernel(a: Arguments, out: Tensor) -> Cost:
    """torch's RNN, LSTM and GRU kernels: every weight matrix multiplies every step."""
    x = a["input"]
    flat = [
        one
        for key, value in a.items()
        if key.startswith("weight")
        for one in (value if isinstance(value, list | tuple) else [value])
        if isinstance(one, Tensor)
    ]
    matrices = [w for w in flat if w.ndim == 2]
    steps = x.shape[0] * x.shape[1]
    cost = Cost(other={"activation": numbers(out)})
    for w in matrices:
        cost += product(steps, w.shape[1], w.shape[0])
    biases = [w for w in flat if w.ndim == 1]
    return cost + Cost(adds=steps * (sum(map(len, biases)) + sum(len(w) for w in matrices) // 2))


def sdpa_pairs(n: int, m: int, causal: bool, batch: int) -> PairCounts:
    """torch's triangle is aligned at the top left, so query i sees keys up to i."""
    if not causal:
        return PairCounts(n * m, n if m else 0, m if n else 0).times(batch)
    full = min(n, m)
    return PairCounts(full * (full + 1) // 2 + max(0, n - m) * m, n if m else 0, full).times(batch)


def _fused(a: Arguments, backward: bool) -> Cost:
    (B, H, N, D), (G, M), E = a["query"].shape, a["key"].shape[1:3], a["value"].shape[3]
    seen = sdpa_pairs(N, M, bool(a.get("is_causal", False)), B)
    scale = scaled(a.get("scale"), D)
    if backward:
        return attention_gradient(seen, H, G, D, E, scaled=scale)
    bias = a.get("attn_bias", a.get("attn_mask"))
    return attention(seen, H, D, E, scaled=scale, biased=bias is not None and bias.is_floating_point())


def scaled(scale: float | None, width: int) -> bool:
    """Whether scores are multiplied by anything but 1."""
    return (width**-0.5 if scale is None else scale) != 1


def inner_pairs(name: str, a: Arguments) -> int:
    """The pairs that a fused kernel computes, mask or no mask; 0 for any other operation."""
    if not name.startswith("_scaled_dot_product_") or name.endswith("_backward"):
        return 0
    q, k = a["query"], a["key"]
    return q.shape[1] * sdpa_pairs(q.shape[2], k.shape[2], bool(a.get("is_causal", False)), q.shape[0]).pairs


RULES: dict[str, AtenRule] = {
    "add": _plus,
    "sub": _plus,
    "rsub": _plus,
    "mul": _times,
    "div": _times,
    "sum": _sum,
    "mean": lambda a, out: _sum(a, out) + Cost(multiplies=numbers(out)),
    "cumsum": _cumsum,
    "mm": _product("mm", "self", "mat2"),
    "bmm": _product("bmm", "self", "mat2"),
    "addmm": _product("addmm", "mat1", "mat2"),
    "_addmm_activation": _product("addmm", "mat1", "mat2"),
    "baddbmm": _product("baddbmm", "batch1", "batch2"),
    "mv": _product("mv", "self", "vec"),
    "addmv": _product("addmv", "mat", "vec"),
    "dot": _product("dot", "self", "tensor"),
    "convolution": _convolution,
    "_convolution": _convolution,
    "convolution_backward": _convolution_backward,
    "addcmul": _addcmul,
    "addcdiv": _addcmul,
    "lerp": lambda a, out: Cost(multiplies=numbers(out), adds=2 * numbers(out)),
    "index_add": lambda a, out: Cost(adds=numbers(a["source"])),
    "_cudnn_rnn": _rnn_kernel,
    "mkldnn_rnn_layer": _rnn_kernel,
}


def bind(func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Arguments:
    """Arguments by the names of the operation's schema."""
    out = {}
    for i, argument in enumerate(func._schema.arguments):
        if i < len(args):
            out[argument.name] = args[i]
        elif argument.name in kwargs:
            out[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            out[argument.name] = argument.default_value
    return out


def may_decompose(name: str) -> bool:
    """Whether an operation without a rule may be taken apart into ones that have one."""
    return name not in RULES and name.removesuffix("_") not in FREE | set(KINDS)


def is_arithmetic(arguments: Arguments, out: object) -> bool:
    """Whether numbers take part: what is done with indices and masks alone is not counted."""
    return any(numbers(x) for x in (*arguments.values(), out))
