"""`rnn` and `readout` against the plain formulas, fused against reference, and their errors."""

import pytest
import torch
from torch import Tensor

from regard.recurrence import identity, readout, rnn


def drawn(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float64, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [(0.6 * torch.randn(shape, generator=generator, dtype=dtype)).requires_grad_() for shape in shapes]


def test_three_steps_by_hand() -> None:
    x = torch.tensor([[[1.0], [0.0], [-2.0]]], dtype=torch.float64)
    W_x, W_h, b = (
        torch.tensor([[0.5]]).double(),
        torch.tensor([[-1.0]]).double(),
        torch.tensor([0.25]).double(),
    )
    h1 = torch.tanh(torch.tensor(0.75).double())
    h2 = torch.tanh(0.25 - h1)
    h3 = torch.tanh(-0.75 - h2)
    for impl in ("reference", "fused"):
        got = rnn(x, W_x, W_h, b, impl=impl).flatten()
        assert torch.allclose(got, torch.stack([h1, h2, h3]), atol=1e-15)


@pytest.mark.parametrize("activation", [torch.tanh, torch.relu])
@pytest.mark.parametrize("T", [1, 2, 7])
@pytest.mark.parametrize(
    ("with_bias", "with_state"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_fused_is_the_loop_in_value_and_gradient(
    activation: object, T: int, with_bias: bool, with_state: bool
) -> None:
    x, W_x, W_h, b, h0, G = drawn((2, T, 3), (5, 3), (5, 5), (5,), (2, 5), (2, T, 5))
    inputs = [x, W_x, W_h] + [b] * with_bias + [h0] * with_state
    results = []
    for impl in ("reference", "fused"):
        h = rnn(x, W_x, W_h, b if with_bias else None, h0 if with_state else None, activation, impl=impl)
        results.append([h, *torch.autograd.grad(h, inputs, G, materialize_grads=True)])
    for expected, got in zip(*results, strict=True):
        assert torch.allclose(expected, got, atol=1e-12)


def test_any_function_runs_on_the_loop_and_a_named_choice_raises() -> None:
    x, W_x, W_h = drawn((1, 4, 2), (3, 2), (3, 3))
    h = rnn(x, W_x, W_h, activation=torch.sin)
    assert torch.equal(h[:, 0], torch.sin(x[:, 0] @ W_x.T))
    assert torch.equal(h[:, 3], torch.sin(x[:, 3] @ W_x.T + h[:, 2] @ W_h.T))
    with pytest.raises(ValueError, match="impl='fused' needs activation tanh or relu"):
        rnn(x, W_x, W_h, activation=torch.sin, impl="fused")


def test_autocast_gives_the_dtype_of_autocast() -> None:
    x, W_x, W_h = drawn((2, 3, 2), (4, 2), (4, 4), dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        reference, fused = (rnn(x, W_x, W_h, impl=impl) for impl in ("reference", "fused"))
    assert reference.dtype == fused.dtype == torch.bfloat16
    assert torch.allclose(reference, fused, atol=2**-7)


def test_readout_is_elementwise_over_a_product() -> None:
    h, W_y, b_y = drawn((2, 3, 4), (5, 4), (5,))
    assert torch.allclose(readout(h, W_y), h @ W_y.T)
    assert torch.allclose(readout(h, W_y, b_y, torch.sigmoid), torch.sigmoid(h @ W_y.T + b_y))
    assert torch.equal(readout(h, W_y, b_y), readout(h, W_y, b_y, identity))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.zeros(2, 3)}, r"x must have shape \(B, T, c\), got x.shape=\(2, 3\)"),
        ({"x": torch.zeros(2, 0, 3)}, r"every side at least 1, got x.shape=\(2, 0, 3\)"),
        (
            {"x": torch.zeros(2, 4, 3, dtype=torch.int64)},
            r"x must be floating point, got x.dtype=torch.int64",
        ),
        ({"x": [[[1.0, 2.0, 3.0]]]}, r"x must be a tensor, got list"),
        ({"W_x": torch.zeros(5, 2)}, r"W_x must have shape \(h, c\) with c=3, got W_x.shape=\(5, 2\)"),
        ({"W_h": torch.zeros(5, 4)}, r"W_h must have shape \(h, h\) with h=5, got W_h.shape=\(5, 4\)"),
        ({"W_h": torch.zeros(5, 5).double()}, r"W_h must have the dtype of x, got W_h.dtype=torch.float64"),
        ({"b": torch.zeros(1, 5)}, r"b must have shape \(h,\), got b.shape=\(1, 5\)"),
        ({"h0": torch.zeros(3, 5)}, r"h0 must have shape \(B, h\) with B=2, h=5, got h0.shape=\(3, 5\)"),
        ({"activation": "tanh"}, r"activation must be a function such as torch.tanh, got activation='tanh'"),
        ({"impl": "fast"}, r"impl must be one of auto, reference, fused, got impl='fast'"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, object], message: str) -> None:
    good = {"x": torch.zeros(2, 4, 3), "W_x": torch.zeros(5, 3), "W_h": torch.zeros(5, 5)}
    with pytest.raises(ValueError, match=message):
        rnn(**{**good, **change})  # type: ignore[arg-type]


def test_readout_names_bad_arguments() -> None:
    with pytest.raises(ValueError, match=r"W_y must have shape \(y, h\) with h=4, got W_y.shape=\(5, 3\)"):
        readout(torch.zeros(2, 3, 4), torch.zeros(5, 3))
    with pytest.raises(ValueError, match=r"b_y must have shape \(y,\) with y=5, got b_y.shape=\(4,\)"):
        readout(torch.zeros(2, 3, 4), torch.zeros(5, 4), torch.zeros(4))
    with pytest.raises(ValueError, match=r"h must have shape \(..., h\)"):
        readout(torch.zeros(2, 0), torch.zeros(5, 4))
