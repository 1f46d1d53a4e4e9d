"""Attention over ranks on a GPU: a simulated mesh of CUDA tensors, and real processes that share one GPU.

For one GPU, under a minute: `pytest -n 0 tests/parallel/test_device.py -q -rs`; skipped without one.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from regard.attention import attend
from regard.models import GPT, GPTConfig
from regard.parallel import MeshRanks, SimulatedRanks, attend_sharded, gather_sequence, shard_sequence
from regard.pattern import Causal, Global, Pattern, Strided, parse
from tests.hunt.sharding import mesh_fault
from tests.parallel.trying import Case, drawn
from tests.train.forks import ended, group

DEVICE = "cuda"
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def there(case: Case) -> Case:
    """The same case on the GPU."""
    tensors = {
        name: None if (x := getattr(case, name)) is None else x.to(DEVICE)
        for name in ("query", "key", "value", "segments", "of_out", "of_lse")
    }
    return replace(case, **tensors)


@pytest.mark.parametrize("seed", range(24))
def test_any_pattern_any_dealing_any_option(seed):
    """Values, normalisers, gradients and the bytes that are sent are those of the definition on the GPU."""
    at = random.Random(f"device {seed}")
    torch.manual_seed(seed)
    case = there(drawn(at, at.choice([1, 2, 3, 4, 8])))
    assert mesh_fault(case) is None, str(case)


@pytest.mark.parametrize("text", [
    "causal", "strided(300)", "windowed(512)", "strided(200) | global(4) & causal", "dilated(20, 16)",
    "sparsefixed(64, 4)", "randomblocks(64, 2, 3)", "documents((1500, 2000, 597))", "~strided(100) & causal",
])  # fmt: skip
@pytest.mark.parametrize("ranks", [2, 4])
def test_lengths_at_which_kernels_meet_in_bfloat16(text, ranks):
    """4,097 positions, grouped heads of 64: parts are done by the kernels that whole sequences have."""
    torch.manual_seed(1)
    case = drawn(random.Random(text), ranks, parse(text), 4097, dtype=torch.bfloat16)
    case = replace(case, options={}, segments=None, of_lse=None)
    shapes = {"query": 4, "key": 2, "value": 2, "of_out": 4}
    tensors = {name: torch.randn(1, heads, 4097, 64).bfloat16() for name, heads in shapes.items()}
    assert mesh_fault(there(replace(case, **tensors))) is None


def test_decoding_of_one_rank():
    model = GPT(GPTConfig(vocab=11, context=64, depth=2, width=32, heads=4, pattern=Strided(9) | Global(2)))
    model = model.to(DEVICE).double().eval()
    tokens = torch.randint(11, (2, 20), device=DEVICE)
    (ranks,) = SimulatedRanks.world(1)
    one = model.generate(tokens, max_new_tokens=30, impl="plain")
    assert torch.equal(model.generate(tokens, max_new_tokens=30, mesh=ranks), one)


def attends(backend: str, texts: tuple[str, ...]) -> None:
    """What each process does: its part on the GPU that all share, forward and backward, and the whole."""
    torch.cuda.set_device(0)
    dist.init_process_group(backend)
    mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
    torch.manual_seed(0)
    whole = [torch.randn(1, heads, 301, 16, device="cuda", dtype=torch.float64) for heads in (4, 2, 2)]
    for text in texts:
        pattern: Pattern = parse(text)
        parts = [shard_sequence(x, pattern, mesh=mesh).requires_grad_() for x in whole]
        out = attend_sharded(*parts, pattern, mesh=mesh)
        out.square().sum().backward()
        leaves = [x.clone().requires_grad_() for x in whole]
        true = attend(*leaves, pattern, impl="reference")
        true.square().sum().backward()
        assert torch.allclose(gather_sequence(out, pattern, mesh=mesh), true, atol=1e-12)
        for part, leaf in zip(parts, leaves, strict=True):
            assert part.grad is not None
            assert leaf.grad is not None
            assert torch.allclose(part.grad, shard_sequence(leaf.grad, pattern, mesh=mesh), atol=1e-11)
    assert MeshRanks(mesh).size == mesh.size()
    print("attended")
    dist.destroy_process_group()


TEXTS = ("causal", "strided(40) | global(3) & causal", "dilated(5, 13)")
REFUSALS = ("Duplicate GPU", "unsupported device", "invalid usage", "No backend type", "not supported")


@pytest.mark.parametrize(("backend", "world"), [("nccl", 1), ("gloo", 2), ("nccl", 2)])
def test_processes_on_one_gpu(backend, world, tmp_path):
    """NCCL for one process; two on one GPU where the backend allows it, else skipped in its own words."""
    codes, text = ended(group(tmp_path / "log", world, attends, backend, TEXTS))
    told = next((line for line in text.splitlines() if any(one in line for one in REFUSALS)), None)
    if world > 1 and any(codes) and told is not None:
        pytest.skip(f"{backend} does not share one GPU among {world} processes: {told.strip()[:200]}")
    assert codes == [0] * world, text
    assert text.count("attended") == world


def test_a_mesh_of_the_simulated_kind_sends_what_the_plan_says():
    """Two calls in a row, so that a kept plan and a kept message cannot be mistaken for new ones."""
    for pattern in (Causal(), Strided(50)):
        for _ in range(2):
            case = there(drawn(random.Random(2), 3, pattern, 200, dtype=torch.float64))
            assert mesh_fault(case) is None
