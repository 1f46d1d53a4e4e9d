"""The chunked form by itself: its one trilinear map, its cost, and the order that segments need."""

from math import exp

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard.attention.linear import chunked as linear_chunked
from regard.attention.linear.attend import linear_attend
from regard.attention.linear.chunked import SumRange, fold, mix, unfold
from regard.attention.linear.segments import gathering, take


def drawn(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator, requires_grad=True)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("segmented", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.4])
def test_mix_is_its_sum_and_differentiates_twice(
    reverse: bool, strict: bool, segmented: bool, decay: float
) -> None:
    chunk, chunks, D, E = 3, 4, 2, 1
    # Two heads share the sums, so that rows are twice a chunk.
    a, b, c = (
        drawn(1, chunks, 2 * chunk, D, seed=0),
        drawn(1, chunks, chunk, D, seed=1),
        drawn(1, chunks, chunk, E, seed=2),
    )
    start = drawn(1, D, E, seed=3)
    marks = torch.tensor([0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 5]) if segmented else torch.zeros(12)
    rate = torch.tensor([decay], dtype=torch.float64) if decay else None
    over = SumRange(chunk, reverse, strict, marks.view(1, chunks, chunk) if segmented else None, rate)
    if segmented:
        start = torch.zeros_like(start, requires_grad=True)  # a state belongs to no segment

    i, j = torch.arange(12)[:, None], torch.arange(12)[None, :]
    seen = (j >= i if reverse else j <= i) & (marks[:, None] == marks[None, :])
    seen = seen & (i != j) if strict else seen
    heads = unfold(a, (1, 2, 12), chunk)[0]
    left = torch.exp(-decay * (i - j).abs())
    # A start lies before the first position, or on the last one where the sum comes from behind.
    at = (11 - i if reverse else i + 1).double()
    want = ((heads @ b.flatten(1, 2).mT) * seen * left) @ c.flatten(1, 2)
    want = want + heads @ start * torch.exp(-decay * at)
    out, end = mix(a, b, c, start, over)
    torch.testing.assert_close(unfold(out, (1, 2, 12), chunk)[0], want)
    if not segmented:
        left = torch.exp(-decay * (i + 1 if reverse else 11 - i))
        keys = b.flatten(1, 2)[0] * left
        torch.testing.assert_close(end[0], start[0] * exp(-12 * decay) + keys.mT @ c.flatten(1, 2)[0])

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        out, end = mix(*tensors, over)
        return (out,) if segmented else (out, end)

    inputs = (a, b, c, start.detach() if segmented else start)
    assert torch.autograd.gradcheck(run, inputs)
    assert torch.autograd.gradgradcheck(run, inputs)


@pytest.mark.parametrize("N", [1, 6, 7])
def test_fold_and_unfold(N: int) -> None:
    x = torch.arange(2.0 * 4 * N * 3).view(2, 4, N, 3)
    folded = fold(x, 2, 3)
    assert folded.shape == (4, -(-N // 3), 6, 3)
    assert torch.equal(unfold(folded, x.shape, 3), x)
    assert torch.equal(folded[0, 0, 3], x[0, 1, 0])  # the second head follows the first within a chunk


class Written(TorchDispatchMode):
    """Counts the elements that operations write, and remembers the largest tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.total = self.largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple | list) else (result,):
            if isinstance(x, Tensor):
                self.total += x.numel()
                self.largest = max(self.largest, x.numel())
        return result


def written(N: int, impl: str, **options: object) -> Written:
    q, k, v = (
        torch.rand(1, 2, N, 16, generator=torch.Generator().manual_seed(s)).requires_grad_() for s in range(3)
    )
    with Written() as seen:
        out = linear_attend(q, k, v, impl=impl, **options)
        assert isinstance(out, Tensor)
        out.sum().backward()
    return seen


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("documents", [False, True])
def test_work_and_memory_grow_with_n(causal: bool, documents: bool) -> None:
    def grown(impl: str, n: int) -> tuple[float, float]:
        small, large = (
            written(N, impl, causal=causal, segments=torch.arange(N)[None] // 100 if documents else None)
            for N in (n, 4 * n)
        )
        return large.total / small.total, large.largest / small.largest

    work, memory = grown("chunked", 4096)
    assert work <= 4.05
    assert memory <= 4.05
    assert min(grown("reference", 256)) > 8  # the control: the definition grows with the square


@pytest.mark.parametrize("decay", [None, (0.3, 0.002)])
def test_stretches_join_without_a_seam(
    monkeypatch: pytest.MonkeyPatch, decay: tuple[float, ...] | None
) -> None:
    xs = [drawn(2, 2, 300, 10, seed=seed).detach().abs().requires_grad_() for seed in range(3)]
    results = []
    for stretch in (1 << 20, 1):  # in one piece; and the shortest, four chunks
        monkeypatch.setattr(linear_chunked, "STRETCH", stretch)
        out, state = linear_attend(*xs, causal=True, return_state=True, decay=decay)
        loss = out.square().sum() + sum(part.square().sum() for part in state)
        results.append((out, *state, *torch.autograd.grad(loss, xs)))
    assert linear_chunked.stretch_length(xs[0], xs[2]) == 256
    for whole, joined in zip(*results, strict=True):
        torch.testing.assert_close(joined, whole)


def test_gathering_keeps_the_order_within_a_segment() -> None:
    segments = torch.tensor([[3, 1, 3, 1, -1, 3], [0, 0, 0, 2, 2, 2]])
    order = gathering(segments)
    assert order is not None
    assert order.tolist() == [[4, 1, 3, 0, 2, 5], [0, 1, 2, 3, 4, 5]]
    x = torch.arange(12.0).view(2, 1, 6)
    assert torch.equal(take(take(x, order), order.argsort(1)), x)
    assert gathering(segments[1:]) is None
    assert gathering(torch.tensor([[7, 7, 2, 2, -1]])) is None  # adjacent is enough, sorted is not asked
