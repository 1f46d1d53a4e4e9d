"""The kernels for short sequences on a CPU, under TRITON_INTERPRET=1; `test_short_qkv.py` runs this file."""

import pytest
import torch

from regard.attention import attend, operation  # noqa: F401 - defines the operation
from regard.attention.engine import attend_projection, projection_form
from regard.attention.triton.short import refuses
from regard.pattern import Blocks, Causal, Full, Pattern, Strided, Windowed
from tests.attention.matching import distance

CASES: list[tuple[int, int, int, int, Pattern]] = [  # N, H, G, D, pattern
    (1, 1, 1, 16, Full()),
    (7, 4, 2, 20, Full()),
    (50, 4, 4, 32, Full()),
    (65, 2, 2, 64, Full()),
    (65, 4, 1, 16, Causal()),
    (64, 2, 2, 8, Strided(back=5)),
    (33, 2, 1, 32, Windowed(size=9)),
    (90, 4, 2, 32, Causal()),
    (127, 2, 2, 16, Blocks(size=50)),
    (128, 1, 1, 128, Windowed(size=40) & Strided(back=7)),
]


@pytest.mark.parametrize(("n", "heads", "groups", "width", "pattern"), CASES, ids=str)
@pytest.mark.parametrize("strided", [False, True])
def test_a_projection_is_attended(n, heads, groups, width, pattern, strided):
    every = heads + 2 * groups
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(3, n, every, width, generator=generator).half()
    if strided:  # rows of a wider tensor, and batch and rows swapped in memory
        x = torch.cat([x, x], dim=2).transpose(0, 1).contiguous().transpose(0, 1)[:, :, :every]
    grad = torch.randn(3, n, heads, width, generator=generator).half()
    assert refused(x, heads, pattern) is None

    def definition(dtype):
        y = x.to(dtype).detach().requires_grad_()
        q, k, v = y.transpose(1, 2).split([heads, groups, groups], dim=1)
        out = attend(q, k, v, pattern, impl="reference").transpose(1, 2)
        return out.detach(), torch.autograd.grad(out, y, grad.to(dtype))[0]

    exact, usual = definition(torch.float64), definition(torch.float16)
    y = x.detach().requires_grad_()
    out = attend_projection(y, heads, pattern).transpose(1, 2)
    found = out.detach(), torch.autograd.grad(out, y, grad)[0]
    for got, plain, true in zip(found, usual, exact, strict=True):
        assert got.shape == true.shape
        assert distance(got, true) <= 2 * distance(plain, true) + 1e-6 * float(true.norm())


def test_it_is_an_operation():
    x = torch.randn(2, 9, 6, 16, dtype=torch.float16, requires_grad=True)
    torch.library.opcheck(
        torch.ops.regard.attend_qkv, (x, 2, 0.25, "causal"), test_utils=("test_schema", "test_faketensor")
    )


def refused(x, heads, pattern):
    B, N, every, D = x.shape
    return refuses(projection_form((B, heads, (every - heads) // 2, N, N, D, D), x.dtype, x.device, pattern))


def test_what_it_refuses():
    x = torch.zeros(1, 9, 6, 16, dtype=torch.float16)
    assert refused(x, 2, Full()) is None
    assert "float32" in refused(x.float(), 2, Full())
    assert "N=129" in refused(torch.zeros(1, 129, 6, 16, dtype=torch.float16), 2, Full())
    assert "bands" in refused(x, 2, ~Causal())
