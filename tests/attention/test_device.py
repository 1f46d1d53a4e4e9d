"""The kernels as a GPU runs them, at sizes where tiles, lists and pieces meet; skipped without one."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import DistanceBias, attend, flash
from regard.attention.triton import hopper
from regard.pattern import (
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Local,
    Pattern,
    Prefix,
    SparseStrided,
    Strided,
    Windowed,
)  # fmt: skip
from tests.attention.matching import COMPOSITE, assert_matches, inputs, patterns

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

SHAPES = [
    Strided(back=200),
    Windowed(size=300),
    COMPOSITE,
    Dilated(back=50, step=3),
    SparseStrided(stride=64),
]


def on_device(n: Any, **options: Any) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """Inputs and the gradient of the output."""
    xs = inputs(n, **options)
    grad = torch.randn(*xs[0].shape[:3], xs[2].shape[3], generator=torch.Generator().manual_seed(99))
    return (xs[0].cuda(), xs[1].cuda(), xs[2].cuda()), grad.to("cuda", xs[0].dtype)


def compare(n: Any, pattern: Pattern, sizes: dict[str, Any], **options: Any) -> None:
    xs, grad = on_device(n, **sizes)
    assert assert_matches(xs, pattern, ("triton", "auto"), grad=grad, **options) == ["triton", "auto"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("index", range(len(patterns(1))))
def test_every_pattern(index: int, dtype: torch.dtype) -> None:
    compare(1155, patterns(1155)[index], {"H": 4, "D": 64, "E": 64, "dtype": dtype})


@pytest.mark.parametrize("index", range(len(patterns(1))))
def test_fewer_queries_than_keys(index: int) -> None:
    pattern = patterns(1155, exact=False)[index]
    compare((300, 1155), pattern, {"B": 2, "H": 4, "G": 2, "D": 64, "E": 64, "dtype": torch.bfloat16})


@pytest.mark.parametrize("pattern", SHAPES, ids=str)
@pytest.mark.parametrize("width", [16, 128, 256])
def test_widths(pattern: Pattern, width: int) -> None:
    compare(1000, pattern, {"D": width, "E": width, "dtype": torch.bfloat16})


@pytest.mark.parametrize("pattern", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_segments_slopes_and_caps(pattern: Pattern, dtype: torch.dtype) -> None:
    sizes = {"B": 2, "H": 4, "G": 2, "D": 64, "E": 64, "dtype": dtype}
    ids = torch.arange(1100)
    segments = torch.stack([ids // 137 - (ids >= 1000) * 100, ids // 300 * (1 << 40)]).cuda()
    compare(1100, pattern, sizes, segments=segments)
    compare(1100, pattern, sizes, bias=DistanceBias((1.0, 0.5, 0.25, 0.01)))
    compare(1100, pattern, sizes, softcap=2.0, sinks=torch.tensor([0.3, -1.0, 2.0, 0.0], device="cuda"))


@pytest.mark.parametrize("pattern", SHAPES, ids=str)
def test_dropout_and_normalisers(pattern: Pattern) -> None:
    """The same pairs are dropped as in the definition, and gradients flow through the normalisers."""
    xs, _ = on_device(700, H=4, D=64, E=64)
    found = {}
    for impl, kind in (("triton", torch.float32), ("reference", torch.float64)):
        leaves = [x.to(kind).requires_grad_() for x in xs]
        generator = torch.Generator("cuda").manual_seed(4)
        out, lse = attend(*leaves, pattern, impl=impl, dropout=0.3, return_lse=True, generator=generator)
        total = out.square().sum() + lse[lse > -torch.inf].cos().sum()
        found[impl] = [out.detach(), lse.detach(), *torch.autograd.grad(total, leaves)]
    for got, true in zip(found["triton"], found["reference"], strict=True):
        most = float(true[true.isfinite()].abs().max())
        torch.testing.assert_close(got.double(), true, atol=1e-3 * most, rtol=1e-3)


@pytest.mark.parametrize("D", [32, 64])
@pytest.mark.parametrize(("B", "n"), [(64, 49), (16, 65), (8, 128), (4, 197)])
def test_short_rows(B: int, n: int, D: int) -> None:
    for pattern in (Causal(), Strided(back=20)):
        compare(n, pattern, {"B": B, "H": 4, "D": D, "E": D, "dtype": torch.bfloat16})


@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize(
    "pattern", [Windowed(size=256), Windowed(size=512), Blocks(size=100), Documents((300, 1, 854))], ids=str
)
def test_whole_problems(pattern: Pattern, width: int) -> None:
    """Folded windows and documents apart, whose gradients another kernel than torch's makes."""
    for sizes in ({"B": 1, "H": 4}, {"B": 2, "H": 4, "G": 2}):
        xs, grad = on_device(1155, **sizes, D=width, E=width, dtype=torch.bfloat16)
        assert assert_matches(xs, pattern, ("folded",), grad=grad) == ["folded"]


@pytest.mark.skipif(not flash.installed(), reason="needs flash-attn-4")
class TestFlash:
    """FlashAttention-4, alone and behind our forward pass, wherever it does not refuse."""

    LENGTHS = Documents((300, 1, 854))
    BY_WINDOW = (Full(), Causal(), Strided(back=200), Strided(back=5000), Local(reach=77))
    BY_DOCUMENTS = (LENGTHS, LENGTHS & Causal(), Windowed(size=300), Blocks(size=100))
    BY_LISTS = (COMPOSITE, Prefix(length=200), Dilated(back=50, step=3), Global(first=4) | Local(reach=9))

    @pytest.mark.parametrize("width", [64, 128, 80])
    @pytest.mark.parametrize("pattern", [*BY_WINDOW, *BY_DOCUMENTS, *BY_LISTS], ids=str)
    def test_values_and_gradients(self, pattern: Pattern, width: int) -> None:
        for sizes in ({"B": 1, "H": 4}, {"B": 2, "H": 4, "G": 2}):
            xs, grad = on_device(1155, **sizes, D=width, E=width, dtype=torch.bfloat16)
            found = assert_matches(xs, pattern, ("flash", "mixed"), grad=grad)
            assert found == ["flash", "mixed"]

    @pytest.mark.parametrize("pattern", [Full(), Causal(), Strided(back=200), COMPOSITE], ids=str)
    def test_fewer_queries_than_keys(self, pattern: Pattern) -> None:
        xs, grad = on_device((300, 1155), B=2, H=4, G=2, D=64, E=64, dtype=torch.float16)
        assert assert_matches(xs, pattern, ("flash", "mixed"), grad=grad) == ["flash", "mixed"]

    @pytest.mark.parametrize("pattern", [Strided(back=200), LENGTHS & Causal(), COMPOSITE], ids=str)
    def test_normalisers(self, pattern: Pattern) -> None:
        """They are the definition's, and gradients flow through them."""
        xs, _ = on_device(1155, H=4, D=64, E=64, dtype=torch.bfloat16)
        found = {}
        for impl, kind in (("flash", xs[0].dtype), ("mixed", xs[0].dtype), ("reference", torch.float64)):
            leaves = [x.to(kind).requires_grad_() for x in xs]
            out, lse = attend(*leaves, pattern, impl=impl, return_lse=True)
            total = out.double().square().sum() + lse.double().cos().sum()
            found[impl] = [out.detach(), lse.detach(), *torch.autograd.grad(total, leaves)]
        for impl in ("flash", "mixed"):
            for got, true in zip(found[impl], found["reference"], strict=True):
                assert float((got.double() - true).norm() / true.norm()) < 1e-2, impl

    def test_the_same_bits_where_they_are_asked_for(self) -> None:
        """Under torch's switch the gradients of two runs are equal."""
        xs, grad = on_device(1155, H=4, D=64, E=64, dtype=torch.bfloat16)
        torch.use_deterministic_algorithms(True)
        try:
            for pattern in (Causal(), Strided(back=300), COMPOSITE):
                runs = []
                for _ in range(3):
                    leaves = [x.detach().requires_grad_() for x in xs]
                    runs.append(torch.autograd.grad(attend(*leaves, pattern, impl="flash"), leaves, grad))
                assert all(
                    torch.equal(a, b) for other in runs[1:] for a, b in zip(runs[0], other, strict=True)
                )
        finally:
            torch.use_deterministic_algorithms(False)


class TestHopper:
    """The Gluon kernel forward with our backward pass, at sizes where tiles of 64 and 128 begin and end."""

    LENGTHS = Documents((300, 1, 854))
    PATTERNS = (
        *(Full(), Causal(), Strided(back=5), Strided(back=200), Strided(back=5000), Windowed(size=300)),
        *(Blocks(size=100), Windowed(size=500) & Strided(back=99), LENGTHS, LENGTHS & Causal()),
    )

    @pytest.fixture(autouse=True)
    def on_hopper(self) -> None:
        if torch.cuda.get_device_capability()[0] != 9 or not hopper.installed():
            pytest.skip("needs a Hopper GPU and Gluon")

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
    @pytest.mark.parametrize("width", [64, 128])
    @pytest.mark.parametrize("pattern", PATTERNS, ids=str)
    def test_values_and_gradients(self, pattern: Pattern, width: int, dtype: torch.dtype) -> None:
        for sizes in ({"B": 1, "H": 4}, {"B": 2, "H": 4, "G": 2}):
            xs, grad = on_device(1155, **sizes, D=width, E=width, dtype=dtype)
            assert assert_matches(xs, pattern, ("hopper",), grad=grad) == ["hopper"]

    @pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 129, 1024])
    @pytest.mark.parametrize("pattern", [Causal(), Strided(back=70)], ids=str)
    def test_lengths(self, pattern: Pattern, n: int) -> None:
        xs, grad = on_device(n, H=2, D=64, E=64, dtype=torch.bfloat16)
        assert assert_matches(xs, pattern, ("hopper",), grad=grad) == ["hopper"]

    @pytest.mark.parametrize("pattern", [Full(), Causal(), Strided(back=200), Windowed(size=300)], ids=str)
    def test_fewer_queries_than_keys(self, pattern: Pattern) -> None:
        xs, grad = on_device((300, 1155), B=2, H=4, G=2, D=128, E=128, dtype=torch.bfloat16)
        assert assert_matches(xs, pattern, ("hopper",), grad=grad) == ["hopper"]

    def test_rows_that_lie_anywhere(self) -> None:
        """Heads inside rows, a start that is not aligned, a stride that is not a multiple of 16 bytes."""
        xs, grad = on_device(200, H=2, D=64, E=64, dtype=torch.bfloat16)
        inside = tuple(x.transpose(1, 2).contiguous().transpose(1, 2) for x in xs)
        shifted = tuple(torch.cat([x.flatten()[:1], x.flatten()])[1:].view(x.shape) for x in xs)
        odd = tuple(torch.cat([x, x[..., :1]], -1)[..., :64] for x in xs)
        for given in (inside, shifted, odd):
            q, k, v = given
            assert assert_matches((q, k, v), Strided(back=70), ("hopper",), grad=grad) == ["hopper"]

    def test_more_work_than_programs_that_stay(self) -> None:
        """Every one of them goes through several tiles of queries, and each run gives the same bits."""
        xs, _ = on_device(4000, H=16, D=64, E=64, dtype=torch.bfloat16)
        for pattern in (Strided(back=300), Causal()):
            out = attend(*xs, pattern, impl="hopper")
            torch.testing.assert_close(out, attend(*xs, pattern, impl="triton"), atol=2e-2, rtol=2e-2)
            assert all(torch.equal(out, attend(*xs, pattern, impl="hopper")) for _ in range(5))

    def test_normalisers(self) -> None:
        """They are the definition's, also of rows that see nothing."""
        xs, _ = on_device(500, H=2, D=64, E=64, dtype=torch.bfloat16)
        for pattern in (Causal(), Strided(back=70)):
            _, lse = attend(*xs, pattern, impl="hopper", return_lse=True)
            _, true = attend(*(x.double() for x in xs), pattern, impl="reference", return_lse=True)
            torch.testing.assert_close(lse.double(), true, atol=1e-2, rtol=1e-3)
