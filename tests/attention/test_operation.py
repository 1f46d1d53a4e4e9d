"""`attend` inside torch.compile and torch.export: one graph, any pattern, no compilation for a new length."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounterWithBackend

from regard.attention import DistanceBias, attend, linear_attend
from regard.pattern import Causal, Global, Pattern, RandomBlocks, SparseFixed, Strided, Windowed
from tests.attention.matching import COMPOSITE, inputs

CASES: list[tuple[Any, dict[str, Any]]] = [
    (COMPOSITE, {}),
    (RandomBlocks(size=16, per_row=2, seed=3), {}),
    (Strided(back=5), {"softcap": 3.0}),
    (SparseFixed(stride=16, summary=2), {"bias": DistanceBias((1.0, 0.5))}),
    ("causal & strided(9) | global(2)", {}),
    (Windowed(size=16), {"is_causal": True}),
    ([Causal(), Global(first=2)], {}),
]


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize(("pattern", "options"), CASES, ids=lambda x: str(x)[:40])
def test_one_graph_for_all_lengths(pattern: Any, options: dict[str, Any]) -> None:
    counter, counts = CompileCounterWithBackend("aot_eager"), set()

    @torch.compile(fullgraph=True, dynamic=True, backend=counter)
    def fast(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attend(q, k, v, pattern, **options)

    for n in (40, 41, 130):
        xs = [x.requires_grad_() for x in inputs(n)]
        got, want = fast(*xs), attend(*xs, pattern, **options)
        counts.add(counter.frame_count)
        torch.testing.assert_close(got, want)
        for mine, theirs in zip(
            *(torch.autograd.grad(y.square().sum(), xs) for y in (got, want)), strict=True
        ):
            torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)
    assert len(counts) == 1  # as many compilations after the first length as after the last


def test_everything_that_lies_beside_is_traced() -> None:
    """Tensors beside the inputs keep their gradient, and no length is compiled in."""
    counter, counts = CompileCounterWithBackend("aot_eager"), set()

    def run(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, sinks: Tensor, segments: Tensor) -> Tensor:
        out, lse = attend(
            q, k, v, COMPOSITE, bias=DistanceBias(bias), sinks=sinks, segments=segments, return_lse=True
        )
        return out.square().sum() + lse.cos().sum()

    fast = torch.compile(run, fullgraph=True, dynamic=True, backend=counter)
    for n in (40, 77):
        leaves = [*inputs(n), torch.tensor([1.0, 0.5]), torch.tensor([0.1, -0.3])]
        leaves = [x.requires_grad_() for x in leaves]
        segments = torch.arange(n)[None] // 30
        got, want = fast(*leaves, segments), run(*leaves, segments)
        counts.add(counter.frame_count)
        torch.testing.assert_close(got, want)
        for mine, theirs in zip(*(torch.autograd.grad(y, leaves) for y in (got, want)), strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)
    assert len(counts) == 1  # as many compilations after the first length as after the last


def test_dropout_is_drawn_inside() -> None:
    x = torch.zeros(1, 1, 64, 4)
    value = torch.eye(64).view(1, 1, 64, 64)
    fast = torch.compile(
        lambda: attend(x, x, value, Causal(), dropout=0.5), fullgraph=True, backend="aot_eager"
    )
    torch.manual_seed(0)
    one, other = fast(), fast()
    assert not torch.equal(one, other)
    torch.manual_seed(0)
    assert torch.equal(fast(), one)


@pytest.mark.parametrize("pattern", [COMPOSITE, Causal(), Strided(back=7)], ids=str)
def test_export_with_a_length_that_varies(pattern: Pattern) -> None:
    class Module(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return attend(q, k, v, pattern)

    n = torch.export.Dim("n", min=2, max=4096)
    exported = torch.export.export(Module(), inputs(100), dynamic_shapes=({2: n},) * 3).module()
    for length in (57, 300):
        xs = inputs(length)
        torch.testing.assert_close(exported(*xs), attend(*xs, pattern))


def test_fewer_queries_than_keys() -> None:
    fast = torch.compile(
        lambda q, k, v: attend(q, k, v, Strided(back=9)), fullgraph=True, backend="aot_eager"
    )
    for n in ((1, 40), (3, 41), (3, 900)):
        xs = [x.requires_grad_() for x in inputs(n)]
        got, want = fast(*xs), attend(*xs, Strided(back=9), impl="reference")
        torch.testing.assert_close(got, want)
        for mine, theirs in zip(*(torch.autograd.grad(y.sum(), xs) for y in (got, want)), strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("causal", "decays"), [(True, False), (False, False), (True, True)])
@pytest.mark.parametrize("packed", [True, False])
def test_linear_attention_is_one_graph_too(causal: bool, decays: bool, packed: bool) -> None:
    counter, counts = CompileCounterWithBackend("aot_eager"), set()

    def run(q: Tensor, k: Tensor, v: Tensor, segments: Tensor | None) -> Tensor:
        decay = [0.1 / (g + 1) for g in range(k.shape[1])] if decays else None
        return linear_attend(q, k, v, causal=causal, feature="elu1", segments=segments, decay=decay)

    fast = torch.compile(run, fullgraph=True, dynamic=True, backend=counter)
    for n in (100, 101, 90, 33):
        xs = [x.requires_grad_() for x in inputs(n)]
        segments = torch.arange(n)[None] // 30 if packed else None
        got, want = fast(*xs, segments), run(*xs, segments)
        counts.add(counter.frame_count)
        torch.testing.assert_close(got, want)
        grads = (torch.autograd.grad(y.square().sum(), xs) for y in (got, want))
        for mine, theirs in zip(*grads, strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)
    assert len(counts) == 1


def test_linear_attention_is_exported_with_a_length_that_varies() -> None:
    class Module(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return linear_attend(q, k, v, causal=True, feature="elu1")

    n = torch.export.Dim("n", min=2, max=4096)
    exported = torch.export.export(Module(), inputs(100), dynamic_shapes=({2: n},) * 3).module()
    for length in (57, 300):
        torch.testing.assert_close(exported(*inputs(length)), Module()(*inputs(length)))
