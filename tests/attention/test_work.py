"""Work and memory on a CPU follow the pairs: counted cells grow with n, and no n×n tensor is ever made."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard.attention import attend
from regard.attention.cpu.chunked import looks_back
from regard.pattern import Blocks, Dilated, Pattern, Strided, Windowed, parse
from tests.attention.matching import COMPOSITE, inputs


class Counter(TorchDispatchMode):
    """How many scores torch's kernels computed, and the largest tensor that any operation made."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ == "_scaled_dot_product_flash_attention_for_cpu":
            query, key = args[:2]
            self.cells += query.shape[0] * query.shape[1] * query.shape[2] * key.shape[2]
        for x in out if isinstance(out, tuple | list) else [out]:
            if isinstance(x, Tensor) and not any(x is y for y in args if isinstance(y, Tensor)):
                # An expanded or overlapping view takes no memory of its own.
                self.largest = max(
                    self.largest, min(x.numel(), x.untyped_storage().nbytes() // x.element_size())
                )
        return out


@contextmanager
def counted(pattern: Pattern, n: int, **options: Any) -> Iterator[Counter]:
    q, k, v = (x.requires_grad_() for x in inputs(n, H=1, G=1, D=8, E=8))
    with Counter() as counter:
        out = attend(q, k, v, pattern, **options)
        torch.autograd.grad(out.sum(), (q, k, v))
    yield counter


@pytest.mark.parametrize(
    ("pattern", "impl", "spare"),
    [
        (Strided(back=128), "chunked", 1.6),
        (Strided(back=1000), "chunked", 1.2),
        (Dilated(back=128, step=4), "folded", 1.6),
        (Blocks(size=128), "folded", 1.0),
        (Windowed(size=128), "folded", 2.0),
        (Strided(back=128), "gathered", 1.6),
        (COMPOSITE, "gathered", 2.0),
    ],
    ids=lambda x: str(x)[:24],
)
def test_cells_grow_with_n_and_stay_near_the_pairs(pattern: Pattern, impl: str, spare: float) -> None:
    cells = {}
    for n in (8192, 16384):
        with counted(pattern, n, impl=impl) as counter:
            cells[n] = counter.cells
    assert pattern.pairs(16384) <= cells[16384] <= spare * pattern.pairs(16384)
    assert cells[16384] <= 2.05 * cells[8192]


def test_the_counter_counts() -> None:
    with counted(Strided(back=128), 1000, impl="sdpa") as counter:
        assert counter.cells == 1000 * 1000
        assert counter.largest >= 1000 * 1000


@pytest.mark.parametrize("pattern", [Strided(back=128), COMPOSITE, Windowed(size=128)], ids=str)
def test_no_tensor_has_n_squared_numbers(pattern: Pattern) -> None:
    largest = {}
    for n in (4096, 16384):
        with counted(pattern, n) as counter:
            largest[n] = counter.largest
    assert largest[16384] <= 4.2 * largest[4096]
    assert largest[16384] < 16384 * (128 + 2 * 64) * 4


@pytest.mark.parametrize("back", [599, 600, 10**6, 2**31 - 1])
def test_a_band_longer_than_the_sequence_costs_no_more_than_all_pairs(back: int) -> None:
    with counted(Strided(back=back), 600) as counter:
        assert counter.cells <= 640 * (640 + 64)
    with counted(Dilated(back=back // 2, step=2), 600) as counter:
        assert counter.cells <= 2 * 320 * (320 + 64)


def test_what_a_band_is() -> None:
    patterns = {
        "strided(5)": 5, "causal & strided(5)": 5, "dilated(3, 4)": 12, "strided(5) | dilated(2, 4)": 8,
        "strided(9) & ~strided(2)": 9, "strided(5) & sparsestrided(2)": 5,
        "causal": None, "full": None, "~causal": None, "~strided(3)": None, "windowed(4)": None,
        "strided(5) & global(2)": None, "sparsestrided(4)": None,
    }  # fmt: skip
    assert {text: looks_back(parse(text)) for text in patterns} == patterns


# A process of its own, because the peak of this one is that of all tests so far; not getrusage, whose peak
# a process takes over from its parent.
PEAKS = f"""
import re, torch
from pathlib import Path
from regard.attention import attend
from regard.pattern import Causal, Global, Strided
torch.set_num_threads(1)

def run(n, pattern, impl):
    xs = [torch.randn(1, 1, n, 16, requires_grad=True) for _ in range(3)]
    torch.autograd.grad(attend(*xs, pattern, impl=impl).square().sum(), xs)
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024

start = run(1024, Strided(back=128), "chunked")
for n, pattern, impl in (
    (16384, Strided(back=128), "chunked"),
    (16384, Strided(back=128), "gathered"),
    (16384, {COMPOSITE!r}, "gathered"),
    (6000, Strided(back=128), "reference"),
):
    print(run(n, pattern, impl) - start)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the peak of a process")
def test_peak_memory() -> None:
    """MiB beyond n = 1,024; a mask of n×n floats would be 1,024, one of bytes 256."""
    done = subprocess.run([sys.executable, "-c", PEAKS], capture_output=True, text=True, check=True)
    *ours, control = [float(line) for line in done.stdout.split()]
    assert len(ours) == 3
    assert max(ours) < 160
    assert control > 250  # the definition at n = 6,000 holds two tensors of 137 MiB or more


def test_a_step_wider_than_the_sequence_pads_nothing() -> None:
    with counted(Dilated(back=3, step=10**6), 100) as counter:
        assert counter.largest < 1 << 16


@pytest.mark.parametrize("pattern", [Strided(back=128), Windowed(size=128)], ids=str)
def test_one_query_of_a_band_reads_its_own_keys(pattern: Pattern) -> None:
    """Whatever the length of the cache."""
    q, k, v = inputs((1, 65536), H=8, G=8)
    with Counter() as counter:
        attend(q, k, v, pattern)
    assert counter.largest <= 8 * 129 * 16
