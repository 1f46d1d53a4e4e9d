"""The scan against the loop, in value and gradient, for stable and unstable weights."""

import pytest
import torch
from torch import Tensor

from regard.recurrence import identity, linear_rnn, rnn

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 13, 31, 100]


def problem(T: int, radius: float, h: int = 6, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(T)
    x, W_x, W_h, h0 = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in [(2, T, 3), (h, 3), (h, h), (2, h)]
    )
    W_h = W_h * (radius / torch.linalg.eigvals(W_h).abs().max())
    return [t.to(dtype).requires_grad_() for t in (x, W_x, W_h, h0)]


def loop(x: Tensor, W_x: Tensor, W_h: Tensor, h0: Tensor | None = None) -> Tensor:
    return rnn(x, W_x, W_h, None, h0, identity, impl="reference")


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("radius", [0.5, 1.0, 1.02])
@pytest.mark.parametrize("with_state", [False, True])
def test_scan_is_the_loop(T: int, radius: float, with_state: bool) -> None:
    x, W_x, W_h, h0 = problem(T, radius)
    state = h0 if with_state else None
    inputs = [x, W_x, W_h] + [h0] * with_state
    G = torch.randn(2, T, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    expected, got = loop(x, W_x, W_h, state), linear_rnn(x, W_x, W_h, state)
    assert (expected - got).abs().max() <= 1e-10
    slow = torch.autograd.grad(expected, inputs, G, materialize_grads=True)
    fast = torch.autograd.grad(got, inputs, G, materialize_grads=True)
    for a, b in zip(slow, fast, strict=True):
        assert (a - b).abs().max() <= 1e-10 * max(1.0, a.abs().max().item())


def test_closed_form() -> None:
    x, W_x, W_h, _ = problem(9, 0.9)
    total = sum(torch.linalg.matrix_power(W_h, 9 - t) @ W_x @ x[0, t - 1] for t in range(1, 10))
    assert torch.allclose(linear_rnn(x, W_x, W_h)[0, -1], total, atol=1e-12)


def test_sequential_depth_is_logarithmic(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.recurrence import linear

    calls = []
    times = linear._Power.times
    monkeypatch.setattr(
        linear._Power, "times", lambda self, rows: calls.append(len(rows)) or times(self, rows)
    )
    x, W_x, W_h, _ = problem(1000, 0.9)
    linear_rnn(x, W_x, W_h)
    assert len(calls) == 2 * 9  # ⌊log2 1000⌋ halvings, each with one product on the way down and one back
    assert sum(calls) < 2 * 1000


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_powers_that_overflow_do_not_spoil_states_that_do_not(dtype: torch.dtype) -> None:
    T = 2000
    x = torch.zeros(1, T, 1, dtype=dtype)
    x[0, -20:] = 1.0
    W_x, W_h = torch.ones(2, 1, dtype=dtype), torch.tensor([[4.0, 1.0], [0.0, 3.0]], dtype=dtype)
    assert not torch.isfinite(torch.linalg.matrix_power(W_h, 1024)).all()
    expected, got = loop(x, W_x, W_h), linear_rnn(x, W_x, W_h)
    assert torch.isfinite(expected).all()
    error = (expected - got).abs() / expected.abs().clamp(min=1)
    assert error.max() <= 100 * torch.finfo(dtype).eps


def test_overflowing_powers_still_carry_what_they_carry() -> None:
    # 3^700 fits float64, 3^1024 does not; an input of 3^−600 survives 1,000 steps.
    T = 1001
    x = torch.zeros(1, T, 1, dtype=torch.float64)
    x[0, 0, 0] = 3.0**-600
    one, three = torch.ones(1, 1, dtype=torch.float64), torch.full((1, 1), 3.0, dtype=torch.float64)
    got, expected = linear_rnn(x, one, three)[0, -1, 0], loop(x, one, three)[0, -1, 0]
    assert torch.isclose(got, expected, rtol=1e-12, atol=0)
    long = linear_rnn(torch.cat([x, torch.zeros(1, 1100, 1, dtype=torch.float64)], 1), one, three)
    assert torch.isinf(long[0, -1, 0])
    assert torch.isclose(long[0, 1000, 0], expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rounding_error_is_at_most_twice_that_of_the_loop(dtype: torch.dtype) -> None:
    low = problem(300, 0.97, h=24, dtype=dtype)
    exact = [t.detach().double().requires_grad_() for t in low]
    G = torch.randn(2, 300, 24, generator=torch.Generator().manual_seed(2)).to(dtype)

    def all_of(function: object, inputs: list[Tensor]) -> list[Tensor]:
        h = function(*inputs)  # type: ignore[operator]
        return [h, *torch.autograd.grad(h, inputs, G.to(h.dtype))]

    truth, slow, fast = all_of(loop, exact), all_of(loop, low), all_of(linear_rnn, low)
    for name, t, s, f in zip(["h", "x", "W_x", "W_h", "h0"], truth, slow, fast, strict=True):
        assert (f - t).norm() <= 2 * (s - t).norm(), name


def test_second_derivatives() -> None:
    x, W_x, W_h, h0 = problem(5, 0.8, h=2)
    assert torch.autograd.gradgradcheck(linear_rnn, (x, W_x, W_h, h0))


def test_bad_arguments_are_named() -> None:
    x, W_x, W_h, h0 = problem(4, 0.9)
    with pytest.raises(ValueError, match=r"W_h must have shape \(h, h\) with h=6, got W_h.shape=\(6, 5\)"):
        linear_rnn(x, W_x, W_h[:, :5])
    with pytest.raises(ValueError, match=r"h0 must have shape \(B, h\) with B=2, h=6, got h0.shape=\(1, 6\)"):
        linear_rnn(x, W_x, W_h, h0[:1])
    with pytest.raises(ValueError, match=r"x must have shape \(B, T, c\), got x.shape=\(4, 3\)"):
        linear_rnn(x[0], W_x, W_h)
