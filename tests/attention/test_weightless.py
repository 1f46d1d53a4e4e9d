"""The attention of the lectures against sums written out position by position."""

import math

import pytest
import torch
from torch import Tensor

from regard.attention.weightless import pooled_attend, self_attend


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_self_attend_is_the_double_sum(scale: float) -> None:
    x = drawn(5, 3)
    rows = []
    for i in range(5):
        weights = torch.stack([torch.exp(scale * x[i] @ x[j]) for j in range(5)])
        rows.append(sum(w * x[j] for j, w in enumerate(weights)) / weights.sum())
    torch.testing.assert_close(self_attend(x, scale=scale), torch.stack(rows))


def test_self_attend_takes_batches_and_no_positions() -> None:
    x = drawn(2, 4, 7, 3)
    torch.testing.assert_close(self_attend(x)[1, 2], self_attend(x[1, 2]))
    assert self_attend(x[:, :, :0]).shape == (2, 4, 0, 3)
    with pytest.raises(ValueError, match=r"two axes.*\(3,\)"):
        self_attend(x[0, 0, 0])


@pytest.mark.parametrize("arrangement", ["linear", "plain"])
def test_pooled_attend_is_the_sheet(arrangement: str) -> None:
    x, W_q, W_k, W_v = drawn(6, 4), drawn(3, 4, seed=1), drawn(3, 4, seed=2), drawn(5, 4, seed=3)
    alpha = [sum((W_q @ x[t]) @ (W_k @ x[j]) for j in range(6)) / math.sqrt(6) for t in range(6)]
    top = max(alpha)
    weights = [torch.exp(a - top) for a in alpha]
    y = sum(w * (W_v @ x[j]) for j, w in enumerate(weights)) / sum(weights)
    got = pooled_attend(x, W_q, W_k, W_v, arrangement=arrangement)
    torch.testing.assert_close(got, y.expand(6, 5))


@pytest.mark.parametrize("T", [1, 7, 129])
def test_both_arrangements_agree_in_value_and_gradient(T: int) -> None:
    inputs = [drawn(2, T, 4), drawn(3, 4, seed=1), drawn(3, 4, seed=2), drawn(5, 4, seed=3)]
    inputs = [(x / T**0.25).requires_grad_() for x in inputs]
    weight = drawn(2, T, 5, seed=4)
    results = []
    for arrangement in ("linear", "plain"):
        out = pooled_attend(*inputs, arrangement=arrangement)
        results.append((out, *torch.autograd.grad((out * weight).sum(), inputs)))
    for linear, plain in zip(*results, strict=True):
        torch.testing.assert_close(linear, plain)


def test_pooled_attend_survives_large_scores_and_no_positions() -> None:
    x, W = drawn(7, 4), 1e3 * torch.eye(4, dtype=torch.float64)
    assert pooled_attend(x, W, W, W).isfinite().all()
    assert pooled_attend(x[:0], W, W, W).shape == (0, 4)


def test_pooled_attend_names_what_does_not_fit() -> None:
    x, W = drawn(7, 4), torch.eye(4, dtype=torch.float64)
    with pytest.raises(ValueError, match="arrangement='quadratic'"):
        pooled_attend(x, W, W, W, arrangement="quadratic")
    with pytest.raises(ValueError, match=r"W_k \(4, 3\)"):
        pooled_attend(x, W, W[:, :3], W)
