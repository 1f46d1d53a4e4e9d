"""Attention that need not look at all pairs: linear attention, and the course sheet's pooled attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import elu, relu, softplus

from regard.grade.functions import Functions, Named, function_task
from regard.grade.growing import linear_work
from regard.grade.student import Student
from regard.grade.task import Mistake, Tried

LINEAR = '''"""Attention without the softmax, whose work grows as N and not as N²."""

import torch


def linear_attend(query, key, value, causal=False):
    """Outputs (B, H, N, E) for query and key (B, H, N, D) and value (B, H, N, E):

    y_i = sum over j of (phi(q_i) · phi(k_j)) v_j / sum over j of phi(q_i) · phi(k_j), phi(x) = elu(x) + 1.
    The sums run over all j; with causal=True over j ≤ i. No N × N matrix, and no sum taken twice.
    """
    raise NotImplementedError
'''
POOLED = '''"""The attention of the sheet, arranged so that its work grows as T and not as T²."""

import torch


def pooled_attend(x, W_q, W_k, W_v):
    """y (B, T, E), the same for every t, for x (B, T, C), W_q and W_k (D, C), W_v (E, C):

    a_t = (1/sqrt(T)) sum over j of (W_q x_t) · (W_k x_j)
    y_t = sum over j of exp(a_j) W_v x_j / sum over j of exp(a_j)
    """
    raise NotImplementedError
'''
FEATURES: dict[str, Callable[[Tensor], Tensor]] = {
    "elu+1": lambda x: elu(x) + 1, "none": lambda x: x, "elu": elu, "relu": relu, "relu+1": lambda x: relu(x) + 1,
    "exp": torch.exp, "softplus": softplus, "sigmoid": torch.sigmoid, "+1": lambda x: x + 1, "square": torch.square,
    "elu+1 of x/√D": lambda x: elu(x * x.shape[-1] ** -0.5) + 1,
}  # fmt: skip


def linear_attend(query: Tensor, key: Tensor, value: Tensor, causal: bool = False, *, feature: str = "elu+1",
                  only: str = "", roles: str = "qkv", looks: str = "back", norm: str = "own", softmax: str = "",
                  along: str = "time", values: str = "v") -> Tensor:  # fmt: skip
    """All pairs, so that every change is one of a matrix."""
    given = {"q": query, "k": key, "v": value}
    query, key, value = (given[one] for one in roles)
    N, D = query.shape[-2:]
    allowed = torch.ones(N, N).tril() if causal else torch.ones(N, N)
    allowed = {"back": allowed, "always": torch.ones(N, N).tril(), "never": torch.ones(N, N),
               "forward": allowed.T, "own": torch.eye(N) if causal else allowed,
               "strictly": allowed.tril(-1) if causal else allowed}[looks]  # fmt: skip
    if softmax in ("scaled", "plain"):
        scores = query @ key.mT * (D**-0.5 if softmax == "scaled" else 1.0)
        return scores.masked_fill(allowed == 0, float("-inf")).softmax(-1) @ value
    if softmax == "apart":
        return (query.softmax(-1) @ key.softmax(-2).mT * allowed) @ value
    phi = FEATURES[feature]
    value = {"φ": phi, "/√D": lambda v: v * D**-0.5}.get(values, lambda v: v)(value)
    q = query if only == "keys" else phi(query)
    k = key if only == "queries" else phi(key)
    if along != "time":
        if not causal:
            return linear_attend(query, key, value, feature=feature)
        kv, axis = torch.einsum("bhnd,bhne->bhnde", k, value), {"heads": 1, "batch": 0, "width": -1}[along]
        return torch.einsum("bhnd,bhnde->bhne", q, kv.cumsum(axis)) / (q * k.cumsum(axis)).sum(
            -1, keepdim=True
        )
    pairs = q @ k.mT
    above = pairs * allowed @ value
    below = {
        "own": (pairs * allowed).sum(-1, keepdim=True), "all": pairs.sum(-1, keepdim=True), "none": torch.ones(1),
        "length": allowed.sum(-1, keepdim=True), "N": torch.tensor(N), "width": above.sum(-1, keepdim=True),
        "queries": (pairs * allowed).sum(-2)[..., None], "keys alone": (allowed @ k).sum(-1, keepdim=True),
        "own, never 0": (pairs * allowed).sum(-1, keepdim=True).clamp(min=1e-6),
        "averaged": (pairs * allowed).sum(-1, keepdim=True) * N,
        "queries alone": q.sum(-1, keepdim=True), "one more": 1 + (pairs * allowed).sum(-1, keepdim=True),
        "√D": (pairs * allowed).sum(-1, keepdim=True) * D**0.5, "raw keys": (q * (allowed @ key)).sum(-1, keepdim=True),
    }  # fmt: skip
    return above / below[norm]


def _random(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator)


def _towards(generator: torch.Generator, *shape: int) -> Tensor:
    """Random vectors with one positive component: sums below the fraction are not lost in rounding."""
    x = _random(generator, *shape)
    return torch.cat([x[..., :1].abs() + 1, x[..., 1:]], -1)


def _linear_cases(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    for part, B, H, N, D, E in (("small", 1, 1, 2, 2, 1), ("all", 2, 3, 5, 4, 6)):
        pair = (_towards(generator, B, H, N, D), _towards(generator, B, H, N, D))
        three = (*pair, _random(generator, B, H, N, E))
        yield "over all keys", "linear_attend", three
        yield "causal", "linear_attend", (*three, Named(causal=True))
        if part == "all":
            same = tuple(_towards(generator, B, 1, 7, 3) for _ in range(3))
            yield "over all keys", "linear_attend", same
            yield "causal", "linear_attend", (*same, Named(causal=True))


def _linear_growth(student: Student, name_of: Callable[[str], str]) -> Iterator[Tried]:
    for causal in (False, True):

        def inputs(n: int, causal: bool = causal) -> tuple[object, ...]:
            generator = student.generator(3)
            return (*(_towards(generator, 1, 1, n, 2) for _ in range(3)), Named(causal=causal))

        call = f"the work at N = 16 and at N = 64, causal={causal}"
        yield from linear_work(
            student,
            ("linear_attend", name_of("linear_attend")),
            ("work grows as N", "causal" if causal else "over all keys"),
            inputs,
            call,
        )


LINEAR_TASK = function_task(
    name="linear-attention", title="Linear attention", skeleton=LINEAR, lesson="linear-attention",
    parts={"over all keys": 2, "causal": 2, "work grows as N": 1},
    functions=Functions(
        definitions={"linear_attend": linear_attend}, cases=_linear_cases, checks=_linear_growth,
        spellings={"linear_attend": ("linear_attention", "linear_causal_attention")},
    ),
    mistakes=(
        Mistake("feature-missing", "linear attention without φ: weights may be negative", {"feature": "none"}),
        Mistake("feature-without-one", "linear attention with φ = elu, without the + 1", {"feature": "elu"}),
        Mistake("feature-relu", "linear attention with φ = relu in place of elu + 1", {"feature": "relu"}),
        Mistake("feature-relu-plus-one", "linear attention with φ = relu + 1 in place of elu + 1", {"feature": "relu+1"}),
        Mistake("feature-exp", "linear attention with φ = exp in place of elu + 1", {"feature": "exp"}),
        Mistake("feature-softplus", "linear attention with φ = softplus in place of elu + 1", {"feature": "softplus"}),
        Mistake("feature-sigmoid", "linear attention with φ = sigmoid in place of elu + 1", {"feature": "sigmoid"}),
        Mistake("feature-plus-one", "linear attention with φ(x) = x + 1 in place of elu(x) + 1", {"feature": "+1"}),
        Mistake("feature-of-scaled", "linear attention of φ(x/√D) in place of φ(x)", {"feature": "elu+1 of x/√D"}),
        Mistake("feature-of-queries-only", "linear attention with φ of the queries, but not of the keys", {"only": "queries"}),
        Mistake("feature-of-keys-only", "linear attention with φ of the keys, but not of the queries", {"only": "keys"}),
        Mistake("feature-softmax", "softmax of the queries over their components and of the keys over positions, without φ and its normaliser", {"softmax": "apart"}),
        Mistake("softmax-kept", "softmax attention, which is not linear", {"softmax": "scaled"}),
        Mistake("softmax-kept-unscaled", "softmax attention without a scale, which is not linear", {"softmax": "plain"}),
        Mistake("normaliser-forgotten", "the upper sum alone: it is not divided by Σ φ(q)·φ(k)", {"norm": "none"}),
        Mistake("normaliser-not-causal", "sums up to i divided by the sum over all keys", {"norm": "all"}),
        Mistake("divided-by-length", "the upper sum divided by the number of keys in place of Σ φ(q)·φ(k)", {"norm": "length"}),
        Mistake("divided-by-n", "the upper sum divided by N in place of Σ φ(q)·φ(k)", {"norm": "N"}),
        Mistake("sums-over-width", "outputs divided by their own sum over components in place of Σ φ(q)·φ(k)", {"norm": "width"}),
        Mistake("normaliser-over-queries", "weights that sum to one over the queries, not over the keys", {"norm": "queries"}),
        Mistake("normaliser-without-query", "the upper sum divided by Σ φ(k), without the query", {"norm": "keys alone"}),
        Mistake("normaliser-without-feature", "the upper sum divided by φ(q)·Σ k: the keys below have no φ", {"norm": "raw keys"}),
        Mistake("normaliser-of-queries", "the upper sum divided by Σ φ(q) over components, without the keys", {"norm": "queries alone"}),
        Mistake("normaliser-one-more", "the upper sum divided by 1 + Σ φ(q)·φ(k)", {"norm": "one more"}),
        Mistake("feature-of-values", "linear attention with φ of the values, too", {"values": "φ"}),
        Mistake("output-scaled", "linear attention divided by √D, which would cancel and is not there", {"values": "/√D"}),
        Mistake("state-averaged", "a mean over keys divided by a sum over keys", {"norm": "averaged"}),
        Mistake("causal-ignored", "sums over all keys with causal=True, too", {"looks": "never"}),
        Mistake("causal-always", "sums up to i with causal=False, too", {"looks": "always"}),
        Mistake("anti-causal", "causal sums over j ≥ i in place of j ≤ i", {"looks": "forward"}),
        Mistake("state-too-late", "causal sums over j < i: a position does not see itself", {"looks": "strictly", "norm": "own, never 0"}),
        Mistake("state-too-late-nan", "causal sums over j < i: the first position sees nothing and is 0/0", {"looks": "strictly"}),
        Mistake("state-forgotten", "causal sums of one term: the state is overwritten, not added to", {"looks": "own"}),
        Mistake("sum-over-width", "causal sums that run over components in place of positions", {"along": "width"}),
        Mistake("sum-over-heads", "causal sums that run over heads in place of positions", {"along": "heads"}),
        Mistake("sum-over-batch", "causal sums that run over the batch in place of positions", {"along": "batch"}),
        Mistake("queries-and-keys-swapped", "linear attention with queries and keys exchanged", {"roles": "kqv"}),
    ),
)  # fmt: skip


def pooled_attend(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, *, scale: str = "√T", keys: str = "sum",
                  weigh: str = "softmax", gives: str = "pooled", values: str = "W_v") -> Tensor:  # fmt: skip
    """The sheet's formula as it stands, with its changes."""
    T, C = x.shape[1:]
    q, k = x @ W_q.T, x @ W_k.T
    v = {"W_v": lambda: x @ W_v.T, "x": lambda: x, "W_k": lambda: k}[values]()
    factor = {"√T": T**-0.5, "none": 1.0, "T": 1 / T, "√D": len(W_q) ** -0.5, "√C": C**-0.5, "√B": len(x) ** -0.5, "B": 1 / len(x), "D": 1 / len(W_q),
              "times": T**0.5}[scale]  # fmt: skip
    if gives == "by pairs":
        return (q @ k.mT * factor).softmax(-1) @ v
    alpha = factor * {
        "sum": lambda: (q @ k.mT).sum(-1), "mean": lambda: (q @ k.mT).mean(-1), "own": lambda: (q * k).sum(-1),
        "up to t": lambda: (q * k.cumsum(1)).sum(-1), "swapped": lambda: (k @ q.mT).sum(-1),
        "last": lambda: (q * k[:, -1:]).sum(-1), "first": lambda: (q * k[:, :1]).sum(-1),
        "others": lambda: (q @ k.mT).sum(-1) - (q * k).sum(-1),
    }[keys]()  # fmt: skip
    w = {
        "softmax": lambda: alpha.softmax(-1), "exp": alpha.exp, "linear": lambda: alpha / alpha.sum(-1, keepdim=True),
        "batch": lambda: alpha.softmax(0), "none": lambda: alpha, "mean": lambda: alpha.exp() / T,
        "sigmoid": alpha.sigmoid,
    }[weigh]()  # fmt: skip
    if gives == "unpooled":
        return w[..., None] * v
    y = w[:, None] @ v  # B 1 E
    if gives == "running":
        return (w[..., None] * v).cumsum(1)
    return {"pooled": y.expand(-1, T, -1), "one": y[:, 0], "one, kept": y, "mean": y.expand(-1, T, -1) / T,
            "sum": y.expand(-1, T, -1) * T, "residual": y + v}[gives]  # fmt: skip


def _pooled_cases(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    for part, B, T, C, D, E in (
        ("values", 1, 2, 1, 1, 1), ("values", 1, 3, 2, 1, 2), ("values", 3, 6, 3, 2, 4), ("values", 2, 5, 4, 4, 4),
    ):  # fmt: skip
        x = 0.7 * _random(generator, B, T, C)
        yield part, "pooled_attend", (x, *(0.7 * _random(generator, side, C) for side in (D, D, E)))


def _pooled_growth(student: Student, name_of: Callable[[str], str]) -> Iterator[Tried]:
    def inputs(n: int) -> tuple[object, ...]:
        generator = student.generator(3)
        return _random(generator, 1, n, 2) / 4, *(_random(generator, 2, 2) / 4 for _ in range(3))

    call = "the work at T = 16 and at T = 64"
    yield from linear_work(
        student, ("pooled_attend", name_of("pooled_attend")), ("work grows as T", "values"), inputs, call
    )


POOLED_TASK = function_task(
    name="pooled-attention", title="Pooled attention in O(T)", skeleton=POOLED, lesson="rnn-or-transformer",
    parts={"values": 2, "work grows as T": 2},
    functions=Functions(
        definitions={"pooled_attend": pooled_attend}, cases=_pooled_cases, checks=_pooled_growth,
        spellings={"pooled_attend": ("pooled_attention", "attention_pooling", "attention_pool")},
    ),
    mistakes=(
        Mistake("scale-missing", "the sums without the factor 1/√T", {"scale": "none"}),
        Mistake("scale-not-rooted", "the sums with 1/T in place of 1/√T: the mean over keys", {"scale": "T"}),
        Mistake("scale-of-width", "the sums with 1/√D in place of 1/√T", {"scale": "√D"}),
        Mistake("scale-of-input", "the sums with 1/√C in place of 1/√T", {"scale": "√C"}),
        Mistake("scale-of-batch", "the sums with 1/√B, the size of the batch, in place of 1/√T", {"scale": "√B"}),
        Mistake("scale-of-width-not-rooted", "the sums with 1/D in place of 1/√T", {"scale": "D"}),
        Mistake("scale-multiplied", "the sums with √T in place of 1/√T", {"scale": "times"}),
        Mistake("keys-averaged", "a mean over keys that is divided by √T as well", {"keys": "mean"}),
        Mistake("own-key-only", "a_t of the position's own key alone, without the sum over j", {"keys": "own"}),
        Mistake("causal-sums", "sums over j ≤ t in place of all j", {"keys": "up to t"}),
        Mistake("own-key-left-out", "sums over j ≠ t in place of all j", {"keys": "others"}),
        Mistake("keys-not-summed", "a_t of the first key alone, without the sum over j", {"keys": "first"}),
        Mistake("last-key-only", "a_t of the last key alone", {"keys": "last"}),
        Mistake("queries-and-keys-swapped", "the sum over queries times each key: (Σ W_q x_j)·(W_k x_t)", {"keys": "swapped"}),
        Mistake("softmax-missing", "weights a_t / Σ a_j, without the exponential", {"weigh": "linear"}),
        Mistake("weights-raw", "values weighted by a_t itself", {"weigh": "none"}),
        Mistake("normaliser-forgotten", "the upper sum alone: it is not divided by Σ exp(a_j)", {"weigh": "exp"}),
        Mistake("divided-by-length", "the upper sum divided by T in place of Σ exp(a_j)", {"weigh": "mean"}),
        Mistake("softmax-over-batch", "a softmax over the batch in place of time", {"weigh": "batch"}),
        Mistake("softmax-sigmoid", "sigmoids in place of the softmax", {"weigh": "sigmoid"}),
        Mistake("ordinary-attention", "ordinary attention: a weight for each pair in place of one for each position", {"gives": "by pairs"}),
        Mistake("not-pooled", "each position's weighted value, without the sum over j", {"gives": "unpooled"}),
        Mistake("running-sums", "sums over j ≤ t of the weighted values", {"gives": "running"}),
        Mistake("one-output-only", "one output (B, E) in place of the same for every t (B, T, E)", {"gives": "one"}),
        Mistake("one-output-kept", "one output (B, 1, E) in place of the same for every t (B, T, E)", {"gives": "one, kept"}),
        Mistake("pooled-mean", "outputs divided by T once more", {"gives": "mean"}),
        Mistake("pooled-sum", "outputs times T", {"gives": "sum"}),
        Mistake("residual-added", "outputs with the position's own value added", {"gives": "residual"}),
        Mistake("values-not-mapped", "weighted inputs, without W_v", {"values": "x"}),
        Mistake("values-are-keys", "values made with W_k in place of W_v", {"values": "W_k"}),
    ),
)  # fmt: skip
