"""The GPU kernel in Triton's interpreter: same values and gradients as the double loop.

Triton decides when it is imported whether kernels are interpreted, so the checks run in a process of their
own. The interpreter multiplies bfloat16 as integers; `regard bench recurrence` checks that dtype.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.recurrence import ACTIVATIONS, grid_rnn

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
inside = pytest.mark.skipif(not INTERPRETED, reason="run by test_in_the_interpreter")


@pytest.mark.skipif(INTERPRETED, reason="this is the inner process")
def test_in_the_interpreter() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", __file__]
    run = subprocess.run(
        command,
        env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    assert "16 passed" in run.stdout


@pytest.mark.skipif(INTERPRETED, reason="here the kernel does run")
def test_a_cpu_tensor_is_refused() -> None:
    x, square = torch.zeros(1, 2, 3, 4), torch.zeros(4, 4)
    with pytest.raises(ValueError, match="impl='triton' cannot run: x is on cpu; the kernel needs cuda"):
        grid_rnn(x, square, square, square, impl="triton")


def all_of(inputs: list[Tensor], grad: Tensor, phi: str, impl: str, start: str = "top-left") -> list[Tensor]:
    x, W_in, W_left, W_top, b = inputs
    h = grid_rnn(x, W_in, W_left, W_top, ACTIVATIONS[phi], b=b, impl=impl, start=start)
    return [h, *torch.autograd.grad(h, inputs, grad.to(h.dtype), materialize_grads=True)]


def compare(
    shape: tuple[int, int, int, int, int],
    phi: str = "tanh",
    dtype: torch.dtype = torch.float32,
    start: str = "top-left",
) -> None:
    B, rows, cols, c, h = shape
    generator = torch.Generator().manual_seed(sum(shape))
    sizes = [(B, rows, cols, c), (h, c), (h, h), (h, h), (h,), (B, rows, cols, h)]
    scales = [1.0, c**-0.5, 0.5 * h**-0.5, 0.5 * h**-0.5, 0.1, 1.0]
    *low, grad = (
        (scale * torch.randn(size, generator=generator)).to(dtype)
        for size, scale in zip(sizes, scales, strict=True)
    )
    low = [t.requires_grad_() for t in low]
    truth = all_of([t.detach().double().requires_grad_() for t in low], grad, phi, "reference", start)
    slow = all_of(low, grad, phi, "reference", start)
    fast = all_of(low, grad, phi, "triton", start)
    for name, t, s, f in zip(["h", "x", "W_in", "W_left", "W_top", "b"], truth, slow, fast, strict=True):
        # A few roundings of float32 are granted where the loop happens to make none.
        slack = 4 * torch.finfo(torch.float32).eps * t.norm()
        assert (f - t).norm() <= 2 * (s - t).norm() + slack, name


@inside
@pytest.mark.parametrize("phi", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(2, 3, 5, 3, 7), (1, 9, 4, 2, 20)])
def test_each_activation(shape: tuple[int, int, int, int, int], phi: str) -> None:
    compare(shape, phi)


@inside
@pytest.mark.parametrize("shape", [(2, 1, 6, 3, 5), (1, 6, 1, 2, 16), (1, 18, 17, 3, 33), (1, 2, 3, 2, 130)])
def test_borders_tiles_and_widths(shape: tuple[int, int, int, int, int]) -> None:
    compare(shape)  # one row, one column, more than one tile of cells, more than one block of weights


@inside
@pytest.mark.parametrize("start", ["top-right", "bottom-left", "bottom-right"])
def test_other_corners(start: str) -> None:
    compare((1, 3, 4, 2, 5), start=start)


@inside
def test_half_precision() -> None:
    compare((1, 4, 6, 3, 24), dtype=torch.float16)
