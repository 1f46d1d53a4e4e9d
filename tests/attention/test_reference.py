"""The definition against sums written out in plain Python, and what it promises beside."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import DistanceBias, attend
from regard.pattern import Blocks, Causal, Dilated, Full, Global, Pattern, Prefix, Strided, Windowed
from tests.attention.matching import Inputs, gradients, inputs
from tests.pattern.strategies import cases


def by_hand(
    xs: Inputs,
    pattern: Pattern,
    scale: float,
    bias: list[Any] | None = None,
    segments: list[list[int]] | None = None,
) -> tuple[Tensor, Tensor]:
    """(out, weights), one number at a time."""
    q, k, _ = (x.double().tolist() for x in xs)
    (B, H, N, _), (_, G, M, E) = xs[0].shape, xs[2].shape
    out = torch.zeros(B, H, N, E, dtype=torch.float64)
    weights = torch.zeros(B, H, N, M, dtype=torch.float64)
    for b, h, i in ((b, h, i) for b in range(B) for h in range(H) for i in range(N)):
        g, position = h // (H // G), i + M - N
        scores = {}
        for j in range(M):
            seen = bool(pattern.allows(position, j))
            if segments is not None:
                seen = seen and segments[b][position] == segments[b][j] >= 0
            if seen:
                dot = sum(x * y for x, y in zip(q[b][h][i], k[b][g][j], strict=True))
                scores[j] = scale * dot + (0.0 if bias is None else bias[b][h][i][j])
        top = max(scores.values(), default=0.0)
        total = sum(math.exp(s - top) for s in scores.values())
        for j, s in scores.items():
            weights[b, h, i, j] = math.exp(s - top) / total
            out[b, h, i] += weights[b, h, i, j] * xs[2][b, g, j].double()
    return out, weights


@settings(max_examples=40)
@given(cases(most=9), st.integers(0, 99))
def test_the_definition_is_the_sum_over_allowed_pairs(case: tuple[Pattern, int, int], seed: int) -> None:
    pattern, n, m = case
    xs = inputs((n, m), B=2, H=2, G=1, D=3, E=2, dtype=torch.float64, seed=seed)
    found = attend(*xs, pattern, impl="reference", return_weights=True)
    for got, want in zip(found, by_hand(xs, pattern, 3**-0.5), strict=True):
        torch.testing.assert_close(got, want)


def test_scale_bias_and_segments_enter_as_written() -> None:
    xs = inputs((5, 8), B=2, H=4, G=2, D=3, E=5, dtype=torch.float64)
    bias = torch.randn(4, 5, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    segments = torch.tensor([[0, 0, 1, 1, 1, -1, 0, 0], [3, 3, 3, 3, 7, 7, 3, -1]])
    found = attend(*xs, Causal(), scale=-0.7, bias=bias, segments=segments, return_weights=True)
    want = by_hand(xs, Causal(), -0.7, bias.expand(2, 4, 5, 8).tolist(), segments.tolist())
    for got, true in zip(found, want, strict=True):
        torch.testing.assert_close(got, true)


@pytest.mark.parametrize(
    "pattern", [Full(), Strided(back=2), Global(first=2), ~Causal(), Windowed(size=3)], ids=str
)
def test_its_gradient_is_that_of_the_formula(pattern: Pattern) -> None:
    """By differences, a row that sees nothing among them (~causal: the last)."""
    leaves = [x.requires_grad_() for x in inputs(6, H=2, G=1, D=3, E=2, dtype=torch.float64)]
    bias = torch.randn(
        1, 1, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(3)
    ).requires_grad_()
    segments = torch.tensor([[0, 0, 0, 1, 1, -1]])

    def run(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        out = attend(q, k, v, pattern, bias=bias, segments=segments, impl="reference")
        assert isinstance(out, Tensor)
        return out

    assert torch.autograd.gradcheck(run, (*leaves, bias))


def test_weights_sum_to_one_over_what_is_seen_and_vanish_elsewhere() -> None:
    pattern = Prefix(length=3) & ~Blocks(size=4)
    out, weights = attend(*inputs((9, 12), B=2, H=4, G=2), pattern, return_weights=True)
    seen = pattern.dense(9, 12)
    assert weights.shape == (2, 4, 9, 12)
    assert not weights.masked_select(~seen).any()
    torch.testing.assert_close(weights.sum(-1), seen.any(-1).float().expand(2, 4, 9))
    assert out.shape == (2, 4, 9, 16)


@pytest.mark.parametrize("impl", ["sdpa", "folded", "chunked", "gathered", "slots"])
def test_who_cannot_give_weights_names_who_can(impl: str) -> None:
    with pytest.raises(
        ValueError, match=f"impl='{impl}' cannot: it never makes the weights; impl='reference' returns them"
    ):
        attend(*inputs(4), Dilated(back=1, step=2), impl=impl, return_weights=True)


@pytest.mark.parametrize("impl", ["sdpa", "folded", "slots"])
def test_who_cannot_drop_weights_says_so(impl: str) -> None:
    with pytest.raises(ValueError, match=f"impl='{impl}' cannot: it does not take dropout"):
        attend(*inputs(4), Dilated(back=1, step=2), impl=impl, dropout=0.1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_rows_that_see_nothing_are_zero_in_value_and_gradient(dtype: torch.dtype) -> None:
    xs = inputs(5, H=2, G=1, dtype=dtype, spread=100.0)
    segments = torch.tensor([[-1, 0, 0, -1, 0]])
    grad = torch.ones(1, 2, 5, 16, dtype=dtype)
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
        out, dq, dk, dv = gradients(xs, grad, ~Causal(), impl="reference", segments=segments)
    # Query 1 sees keys 2 and 4, query 2 sees key 4; nobody sees 0, 1 and 3.
    blind, unseen = [0, 3, 4], [0, 1, 3]
    assert not out[:, :, blind].any()
    assert not dq[:, :, blind].any()
    assert not dk[:, :, unseen].any()
    assert not dv[:, :, unseen].any()
    assert out[:, :, [1, 2]].any()
    assert dv[:, :, [2, 4]].any()
    assert all(x.isfinite().all() for x in (out, dq, dk, dv))


def test_all_padding_and_no_keys_give_zeros() -> None:
    xs = inputs(6)
    results = gradients(
        xs, torch.ones(1, 2, 6, 16), Full(), impl="reference", segments=torch.full((1, 6), -1)
    )
    assert not any(x.any() for x in results)
    results = gradients(inputs((6, 0)), torch.ones(1, 2, 6, 16), Full(), impl="reference")
    assert [tuple(x.shape) for x in results] == [(1, 2, 6, 16), (1, 2, 6, 16), (1, 2, 0, 16), (1, 2, 0, 16)]
    assert not any(x.any() for x in results)


@pytest.mark.parametrize("scale", [0.0, -2.0, 1.0])
def test_scales(scale: float) -> None:
    x = torch.eye(3).view(1, 1, 3, 3)
    _, weights = attend(x, x, x, Dilated(back=1, step=2), scale=scale, return_weights=True)
    own = math.exp(scale) / (1 + math.exp(scale))
    torch.testing.assert_close(weights[0, 0], torch.tensor([[1, 0, 0], [0, 1, 0], [1 - own, 0, own]]))


def test_scores_of_ten_thousand_pick_the_largest() -> None:
    x = 100 * torch.eye(4).view(1, 1, 4, 4)
    _, weights = attend(x, x, x, Causal(), scale=1.0, return_weights=True)
    assert torch.equal(weights[0, 0], torch.eye(4))
    _, weights = attend(x, -x, x, Causal(), scale=1.0, return_weights=True)
    torch.testing.assert_close(weights[0, 0, 3], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0]))


class TestDropout:
    def run(self, seed: int, dropout: float = 0.25, **options: Any) -> Any:
        generator = torch.Generator().manual_seed(seed)
        return attend(*inputs(16, B=3, D=4, E=2), Causal(), dropout=dropout, generator=generator, **options)

    def test_a_generator_makes_it_repeatable_and_leaves_torchs_own_alone(self) -> None:
        state = torch.get_rng_state()
        assert torch.equal(self.run(1), self.run(1))
        assert not torch.equal(self.run(1), self.run(2))
        assert torch.equal(torch.get_rng_state(), state)

    def test_weights_come_before_it(self) -> None:
        _, weights = self.run(1, return_weights=True)
        _, plain = attend(*inputs(16, B=3, D=4, E=2), Causal(), return_weights=True)
        assert torch.equal(weights, plain)

    def test_each_weight_is_dropped_or_grown(self) -> None:
        x = torch.zeros(1, 1, 64, 4)
        out = attend(
            x, x, torch.eye(64).view(1, 1, 64, 64), dropout=0.25, generator=torch.Generator().manual_seed(0)
        )
        grown = torch.tensor(1 / 64 / 0.75)
        assert torch.all((out == 0) | torch.isclose(out, grown))
        assert abs(float((out == 0).float().mean()) - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 64**2)

    def test_its_mean_is_no_dropout(self) -> None:
        out = torch.stack([self.run(seed, dropout=0.5) for seed in range(400)]).double()
        want = attend(*inputs(16, B=3, D=4, E=2), Causal())
        away = (out.mean(0) - want) / (out.std(0) / 20).clamp(min=1e-6)
        assert away.abs().max() < 5  # standard errors, over 96 numbers
        assert abs(float(away.mean())) < 0.5

    def test_the_gradient_goes_through_what_was_kept(self) -> None:
        v = torch.eye(5).view(1, 1, 5, 5).requires_grad_()
        x = torch.zeros(1, 1, 5, 2)
        out = attend(x, x, v, dropout=0.4, generator=torch.Generator().manual_seed(3))
        (dv,) = torch.autograd.grad(out.sum(), v)
        torch.testing.assert_close(dv[..., 0], out.sum(-2))

    @pytest.mark.parametrize("dropout", [-0.1, 1.0, 1.5, math.nan])
    def test_its_range(self, dropout: float) -> None:
        with pytest.raises(
            ValueError, match=f"dropout must be at least 0 and below 1, got dropout={dropout}"
        ):
            self.run(1, dropout=dropout)


class TestDistanceBias:
    def test_it_is_minus_slope_times_distance(self) -> None:
        xs = inputs((4, 9), H=2, G=1, dtype=torch.float64)
        bias = DistanceBias((0.5, 2.0))
        q, k = torch.arange(5, 9)[:, None], torch.arange(9)
        dense = torch.stack([-0.5 * (q - k).abs(), -2.0 * (q - k).abs()])
        got = attend(*xs, bias=bias, return_weights=True)
        want = attend(*xs, bias=dense, return_weights=True)
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a, b)

    def test_it_is_a_value(self) -> None:
        assert DistanceBias([1, 0.5]) == DistanceBias(torch.tensor([1.0, 0.5])) == DistanceBias((1.0, 0.5))  # type: ignore[arg-type]
        assert len({DistanceBias((1.0,)), DistanceBias((1.0,)), DistanceBias((2.0,))}) == 2


def test_results_have_the_dtype_of_the_inputs() -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        out, weights = attend(*inputs(5, dtype=dtype), bias=DistanceBias((1.0, 0.5)), return_weights=True)
        assert out.dtype == weights.dtype == dtype
