"""The GPU kernels in a process of their own: Triton reads TRITON_INTERPRET when a kernel is defined."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard.attention.linear.attend import linear_attend

pytest.importorskip("triton")
CASES = Path(__file__).with_name("linear_interpreted.py")


def test_kernels_in_the_interpreter() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(CASES)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]


def test_the_kernels_need_a_gpu() -> None:
    if os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("the interpreter lets the kernels run here")
    q = torch.ones(1, 1, 4, 16)
    with pytest.raises(ValueError, match=r"impl='triton' cannot run: it needs a GPU, got cpu"):
        linear_attend(q, q, q, causal=True, impl="triton")
    wide = torch.ones(1, 1, 4, 130)
    with pytest.raises(ValueError, match=r"at most 64 in torch.float32, got 130 and 130"):
        linear_attend(wide, wide, wide, causal=True, impl="triton")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("segmented", [False, True])
def test_a_gpu_gives_the_same_bits_again(segmented: bool) -> None:
    """No program adds to what another writes, forward or backward."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, heads, 3000, 64, device="cuda", dtype=torch.bfloat16) for heads in (8, 2, 2))
    segments = torch.arange(3000, device="cuda").div(700, rounding_mode="floor").expand(2, -1)

    def run() -> list[torch.Tensor]:
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        out = linear_attend(
            *leaves, causal=True, feature="elu1", segments=segments if segmented else None, impl="triton"
        )
        assert isinstance(out, torch.Tensor)
        return [out, *torch.autograd.grad(out.float().square().sum(), leaves)]

    first = run()
    for _ in range(3):
        assert all(torch.equal(a, b) for a, b in zip(run(), first, strict=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_decay_runs_by_torch_on_a_gpu() -> None:
    xs = [torch.randn(2, heads, 301, 16, dtype=torch.float64) for heads in (4, 2, 2)]
    options = {"causal": True, "feature": "elu1", "decay": (0.3, 0.01)}
    want = linear_attend(*xs, impl="reference", **options)
    got = linear_attend(*(x.float().cuda() for x in xs), **options)
    assert isinstance(got, torch.Tensor)
    torch.testing.assert_close(got.cpu().double(), want, atol=1e-5, rtol=1e-4)
