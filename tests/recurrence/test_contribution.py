"""How much of x_1 is left, against direct matrix powers and against cases with known answers."""

import math

import pytest
import torch

from regard.recurrence import contribution


def matrix(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("T", [1, 2, 3, 8, 21])
def test_norms_and_ratios_are_those_of_the_power(T: int) -> None:
    generator = torch.Generator().manual_seed(T)
    W_h, W_x, W_y = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in [(4, 4), (4, 3), (2, 4)]
    )
    part = torch.linalg.matrix_power(W_h, T - 1) @ W_x
    found = contribution(W_h, W_x, T, W_y)
    norm, whole = (torch.linalg.matrix_norm(m, 2).item() for m in (part, W_x))
    out, out_whole = (torch.linalg.matrix_norm(W_y @ m, 2).item() for m in (part, W_x))
    assert found.norm == pytest.approx(norm, rel=1e-12)
    assert found.ratio == pytest.approx(norm / whole, rel=1e-12)
    assert found.output_norm == pytest.approx(out, rel=1e-12)
    assert found.output_ratio == pytest.approx(out / out_whole, rel=1e-12)
    assert found.radius == pytest.approx(torch.linalg.eigvals(W_h).abs().max().item())
    assert found.rate == pytest.approx(found.radius)
    assert contribution(W_h, W_x, T).output_norm is None


@pytest.mark.parametrize(
    ("W_h", "W_x", "radius", "rate", "verdict"),
    [
        (matrix([0.9]), matrix([1.0]), 0.9, 0.9, "vanishes"),
        (matrix([-1.1]), matrix([1.0]), 1.1, 1.1, "explodes"),
        (matrix([0.0, 1.0], [-1.0, 0.0]), matrix([1.0], [2.0]), 1.0, 1.0, "stays"),
        (matrix([1.0, 1.0], [0.0, 1.0]), matrix([0.0], [1.0]), 1.0, 1.0, "explodes"),  # linearly in T
        (matrix([1.0, 1.0], [0.0, 1.0]), matrix([1.0], [0.0]), 1.0, 1.0, "stays"),  # but not from there
        (matrix([2.0, 0.0], [0.0, 0.5]), matrix([0.0], [1.0]), 2.0, 0.5, "vanishes"),  # never reaches the 2
        (matrix([0.5, 100.0], [0.0, 0.5]), matrix([0.0], [1.0]), 0.5, 0.5, "vanishes"),  # grows at first
        (matrix([0.0, 1.0], [0.0, 0.0]), matrix([0.0], [1.0]), 0.0, 0.0, "vanishes"),  # gone in two steps
        (matrix([3.0]), matrix([0.0]), 3.0, 0.0, "vanishes"),  # there is nothing of x_1 to begin with
    ],
)
def test_verdicts(W_h: torch.Tensor, W_x: torch.Tensor, radius: float, rate: float, verdict: str) -> None:
    found = contribution(W_h, W_x, T=3)
    assert found.verdict == verdict
    assert found.radius == pytest.approx(radius, abs=1e-7)
    assert found.rate == pytest.approx(rate, abs=1e-7)


def test_long_sequences_neither_overflow_nor_lose_the_verdict() -> None:
    assert contribution(matrix([2.0]), matrix([1.0]), T=1001).norm == 2.0**1000
    assert contribution(matrix([2.0]), matrix([1.0]), T=10**6).norm == math.inf
    assert contribution(matrix([0.5]), matrix([1.0]), T=1001).ratio == 2.0**-1000
    assert contribution(matrix([0.5]), matrix([1.0]), T=10**6).ratio == 0.0
    assert contribution(matrix([0.0]), matrix([1.0]), T=2).ratio == 0.0


def test_as_dict_and_text() -> None:
    found = contribution(matrix([0.5]), matrix([2.0]), T=3, W_y=matrix([4.0]))
    assert found.as_dict()["output_norm"] == 2.0
    assert str(found).splitlines()[1] == "‖W_y W_h^2 W_x‖₂ = 2, 0.25 times ‖W_y W_x‖₂"


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"W_h must have shape \(h, h\)"):
        contribution(torch.zeros(2, 3), torch.zeros(2, 1), 4)
    with pytest.raises(ValueError, match=r"W_x must have shape \(h, c\) with h=2, got W_x.shape=\(3, 1\)"):
        contribution(torch.zeros(2, 2), torch.zeros(3, 1), 4)
    with pytest.raises(ValueError, match="T must be at least 1, got T=0"):
        contribution(torch.zeros(2, 2), torch.zeros(2, 1), 0)
    with pytest.raises(ValueError, match=r"W_y must have shape \(y, h\) with h=2"):
        contribution(torch.zeros(2, 2), torch.zeros(2, 1), 4, torch.zeros(1, 3))
