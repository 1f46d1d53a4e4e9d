"""Every attention kernel compiled for Hopper, where there is none: `test_triton.py` runs this as a script.

A driver that only names its target lets Triton make the machine code of what `attend` would launch.
"""

import subprocess
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from regard.attention import DistanceBias, attend
from regard.attention.triton import hopper, launch, short, tile_lists, tiles
from regard.pattern import Blocks, Causal, Documents, Global, Pattern, SparseStrided, Strided, Windowed

COMPOSITE = Causal() & Strided(back=20) | Global(first=4) & Causal()
SEGMENTS = torch.arange(256)[None] // 50
MADE: dict[str, int] = {}


class Hopper:
    """What the compiler asks a driver."""

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int = 0) -> int:
        return 0


def assert_fits(found: Any) -> None:
    """No register goes to memory, the products are those of warpgroups, the tiles come by the copy engine."""
    tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    with NamedTemporaryFile(suffix=".cubin") as file:
        file.write(found.asm["cubin"])
        file.flush()
        command = [tools / "cuobjdump", "--dump-resource-usage", file.name]
        used = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert " STACK:0 " in used, used
    assert found.metadata.shared <= 232_448  # what a program can have there
    for word in ("wgmma.mma_async", "cp.async.bulk.tensor.4d", "setmaxnreg.inc"):
        assert word in found.asm["ptx"], word


def compiled(
    self: launch.Kernel, programs: int, arguments: tuple, options: dict[str, int], *_: object
) -> None:
    found = self.function.warmup(*arguments, grid=(programs,), **options)
    assert len(found.asm["cubin"]) > 1000
    if self.name == "hopper_forward":
        assert_fits(found)
    MADE[self.name] = MADE.get(self.name, 0) + 1


def run(
    pattern: Pattern,
    dtype: torch.dtype = torch.bfloat16,
    n: int = 256,
    D: int = 64,
    impl: str = "triton",
    **asked: Any,
) -> None:
    q, k, v = (torch.zeros(1, heads, n, D, dtype=dtype, requires_grad=True) for heads in (4, 2, 2))
    out = attend(q, k, v, pattern, impl=impl, **asked)
    (out.sum() if isinstance(out, torch.Tensor) else out[0].sum() + out[1].sum()).backward()


if __name__ == "__main__":
    driver.set_active(Hopper())
    tiles.interpreted = short.interpreted = lambda: True  # type: ignore[assignment]  # CPU tensors will do
    tile_lists.LONGEST = 1  # so that some columns have several pieces
    launch.Kernel.start = compiled  # type: ignore[method-assign]
    run(Strided(back=64))
    run(Causal(), torch.float32, n=77, D=40)
    run(COMPOSITE, torch.float16, D=128)
    run(SparseStrided(stride=16), dropout=0.1)
    run(Windowed(size=48), segments=SEGMENTS)
    run(COMPOSITE, segments=SEGMENTS.int())
    run(Documents((100, 156)) & Causal())
    slopes = DistanceBias(torch.ones(4, requires_grad=True))
    run(Strided(back=64), softcap=5.0, dropout=0.1, sinks=torch.zeros(4), bias=slopes, return_lse=True)
    x = torch.zeros(2, 65, 12, 64, dtype=torch.bfloat16, requires_grad=True)
    short.attend_packed(x, 4, 0.125, Causal()).sum().backward()
    if hopper.installed():
        hopper._machine, hopper._processors = lambda _: None, lambda _: 132  # type: ignore[assignment]
        for D, dtype in ((64, torch.bfloat16), (128, torch.float16)):
            for pattern in (Causal(), Strided(back=64), Documents((100, 156)) & Causal(), Blocks(size=48)):
                run(pattern, dtype, n=256, D=D, impl="hopper")
    print(" ".join(sorted(MADE)))
