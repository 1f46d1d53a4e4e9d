"""The GPU kernels of linear attention under TRITON_INTERPRET=1; `test_linear_triton.py` runs this file.

The interpreter multiplies bfloat16 by its bit patterns, so bfloat16 is checked on a device only
(`benchmarks/linear_device.py`).
"""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import grad

from regard.attention.linear.attend import linear_attend
from regard.attention.linear.features import FEATURES
from regard.attention.linear.reference import LinearProblem, linear_reference


def drawn(*shape: int, seed: int, positive: bool = False) -> Tensor:
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return (x.abs() + 0.1 if positive else x).requires_grad_()


def inputs(N: int, *, G: int = 1, positive: bool = True) -> list[Tensor]:
    H, D, E = 2, 12, 20
    shapes = ((1, H, N, D), (1, G, N, D), (1, G, N, E))
    return [drawn(*shape, seed=seed, positive=positive and seed < 2) for seed, shape in enumerate(shapes)]


def kernels(xs: list[Tensor], segments: Tensor | None, state: Any, feature: str, parts: int) -> Any:
    from regard.attention.linear.triton import Tile, Tuning, linear_triton

    # Unequal blocks, so that a kernel that used another's would be found.
    small, large = Tile(16, 4, 1), Tile(32, 4, 1)
    tuning = Tuning(large, small, large, small, programs=parts * xs[0].shape[1])
    return linear_triton(LinearProblem(*xs[:3], True, segments, state), feature=feature, tuning=tuning)


def definition(xs: list[Tensor], segments: Tensor | None, state: Any, feature: str) -> Any:
    phi = FEATURES[feature]
    return linear_reference(LinearProblem(phi(xs[0]), phi(xs[1]), xs[2], True, segments, state))


def compare(
    xs: list[Tensor], *, segments: Tensor | None = None, feature: str = "identity", parts: int = 2
) -> None:
    """Outputs, gradients and, without segments, states and theirs; float32 against float64."""
    given = xs[3:] if len(xs) > 3 else None
    exact = [x.detach().double().requires_grad_() for x in xs]
    out, doubtful, after = kernels(xs, segments, given, feature, parts)
    want, _, want_after = definition(exact, segments, exact[3:] if given else None, feature)
    assert doubtful is None
    weights = [drawn(*x.shape, seed=20 + i).detach() for i, x in enumerate((out, *after))]
    if segments is not None:
        weights = weights[:1]
    ours, theirs = [out, *after][: len(weights)], [want, *want_after][: len(weights)]
    ours_grad = grad(sum((x * w).sum() for x, w in zip(ours, weights, strict=True)), xs)
    their_grad = grad(sum((x * w).sum() for x, w in zip(theirs, weights, strict=True)), exact)
    for got, true in zip((*ours, *ours_grad), (*theirs, *their_grad), strict=True):
        torch.testing.assert_close(got.double(), true, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("N", [1, 7, 129])
def test_lengths(N: int) -> None:
    compare(inputs(N))


@pytest.mark.parametrize("feature", ["relu", "elu1"])
def test_features_with_a_state(feature: str) -> None:
    xs = inputs(70, G=2, positive=feature == "relu")
    xs += [drawn(1, 2, 12, 20, seed=5), drawn(1, 2, 12, seed=6, positive=True)]
    compare(xs, feature=feature)


@pytest.mark.parametrize(
    ("feature", "lengths"),
    [
        ("identity", (64, 6)),
        ("identity", (3, 30, 1, 1, 35)),
        ("identity", (33, -20, 17)),
        ("elu1", (-10, 40, -20)),
    ],
    ids=str,
)
def test_segments(feature: str, lengths: tuple[int, ...]) -> None:
    """Runs of positions; a negative length is padding. Borders fall inside blocks, on them and on parts."""
    segments = torch.cat([torch.full((abs(n),), i if n > 0 else -1) for i, n in enumerate(lengths)])[None]
    xs = inputs(segments.shape[1])
    if feature == "identity":  # padding may hold anything
        for x in xs:
            x.data[:, :, segments[0] < 0] = float("nan")
    compare(xs, segments=segments, feature=feature, parts=3)


@pytest.mark.parametrize("feature", ["identity", "elu1"])
def test_float16_is_at_most_twice_as_far_off_as_the_definition(feature: str) -> None:
    """Small values and gradients, and long sums: float16 would lose the ones and overflow at the others."""
    xs = [x.detach() for x in inputs(100)]
    xs = [xs[0] * 8, xs[1] * 8, xs[2] * 0.05]
    given = drawn(1, 2, 100, 20, seed=9).detach().mul(0.05).half()

    def results(run: Any, dtype: torch.dtype) -> list[Tensor]:
        leaves = [x.half().to(dtype).requires_grad_() for x in xs]
        out = run(leaves)[0]
        return [out, *grad(out, leaves, given.to(dtype))]

    exact = results(lambda xs: definition(xs, None, None, feature), torch.float64)
    plain = results(lambda xs: definition(xs, None, None, feature), torch.float16)
    ours = results(lambda xs: kernels(xs, None, None, feature, 2), torch.float16)
    for got, base, true in zip(ours, plain, exact, strict=True):
        assert got.dtype == torch.float16
        assert (got - true).norm() <= 2 * (base - true).norm()


def test_through_the_front_door() -> None:
    """Strided inputs, earlier keys, scattered segments and a carried state reach the kernels in order."""
    q, k, v = (x.detach().transpose(1, 2).contiguous().transpose(1, 2) for x in inputs(40))
    options: dict[str, Any] = {"causal": True, "feature": "elu1"}
    for extra in ({}, {"segments": torch.arange(40)[None] % 3 - 1}):
        got = linear_attend(q[:, :, 25:], k, v, impl="triton", **options, **extra)
        want = linear_attend(q[:, :, 25:], k, v, impl="reference", **options, **extra)
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    early, late = ([x[:, :, part] for x in (q, k, v)] for part in (slice(13), slice(13, None)))
    head, state = linear_attend(*early, impl="triton", return_state=True, **options)
    tail = linear_attend(*late, impl="triton", state=state, **options)
    whole = linear_attend(q, k, v, impl="reference", **options)
    torch.testing.assert_close(torch.cat((head, tail), 2), whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("parts", [1, 3])
def test_the_bound_counts_every_key_once(parts: int) -> None:
    k = torch.zeros(1, 1, 80, 16)
    k[..., 1] = 10.0  # long keys that the query does not see as such
    k[0, 0, 0], k[0, 0, -1] = 0.0, 0.0
    k[0, 0, 0, 0] = 1.0
    q = torch.zeros(1, 1, 80, 16)
    q[..., 0] = 1.0
    v = torch.ones(1, 1, 80, 16)
    for den, unsafe in ((7.7e-4, True), (8.1e-4, False)):  # the border: 1e-6·(1 + 78·10 + 1) = 7.82e-4
        k[0, 0, -1, 0] = den - 1.0
        found = kernels([q, k, v], None, None, "identity", parts)[1]
        assert (found is not None) == unsafe


def test_a_loss_may_use_the_state_alone_or_skip_the_check() -> None:
    xs = inputs(20)
    S, z = linear_attend(*xs, causal=True, impl="triton", return_state=True)[1]
    dk, dv = grad(S.sum() + z.sum(), xs[1:])
    torch.testing.assert_close(dk, xs[2].sum(-1, keepdim=True).expand_as(dk) + 1)
    torch.testing.assert_close(dv, xs[1].sum(-1, keepdim=True).expand_as(dv))
    checked, unchecked = (linear_attend(*xs, causal=True, impl="triton", check=c) for c in (True, False))
    for got, want in zip(grad(unchecked.sum(), xs), grad(checked.sum(), xs), strict=True):
        assert torch.equal(got, want)


def test_unsafe_denominators_are_found() -> None:
    q, k, v = (x.detach() for x in inputs(40, G=2))
    k[0, 1, 20] = -k[0, 1, :20].sum(0)  # the keys up to here cancel, exactly but for rounding
    linear_attend(q[:, :, :20], k[:, :, :20], v[:, :, :20], causal=True, impl="triton")
    with pytest.raises(ValueError, match=r"head 1, position 20\)"):
        linear_attend(q, k, v, causal=True, impl="triton")
    linear_attend(q, k, v, causal=True, impl="triton", check=False)
    segments = torch.zeros(1, 40, dtype=torch.long)
    with pytest.raises(ValueError, match=r"head 1, position 20\)"):
        linear_attend(q, k, v, causal=True, impl="triton", segments=segments)
    segments[:, 10:] = 1  # part of the sum is out of sight, and the rest does not cancel
    linear_attend(q, k, v, causal=True, impl="triton", segments=segments)
    # Keys before the first query count as well.
    with pytest.raises(ValueError, match=r"head 1, position 0\)"):
        linear_attend(q[:, :, 20:22], k[:, :, :22], v[:, :, :22], causal=True, impl="triton")
